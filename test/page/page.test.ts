/** The page, its other forms, and quotes as HTML, without a browser. test/spec/documents.test.ts has the headers. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { SINGLE_OPERATIONS } from '../../agent/operation/operations.ts'
import { expectRefusal, send } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const SCRIPT_GZIP_BYTES_MAX = 60_000
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
const LOOKUP = '/api/v1/company/00000000'
const authorizationTo = (to: string, from: string) => ({
  from,
  to,
  value: '1000',
  validAfter: '0',
  validBefore: String(Math.floor(Date.now() / 1000) + 300),
  nonce: `0x${'1'.repeat(64)}`,
})

describe('the page', () => {
  const { service } = useService(() => startTestService())
  let page: string
  let policy: string
  const get = (path: string, headers: Record<string, string> = {}) => send({ url: service.url, path, headers })

  before(async () => {
    const reply = await get('/', { Accept: BROWSER })
    page = reply.text
    policy = String(reply.headers['content-security-policy'])
  })

  it('[4.4.2] is what a browser gets from / and /docs, and an index of links what a program gets', async () => {
    expect((await get('/docs', { Accept: BROWSER })).text).to.equal(page)
    expect((await get('/', { Accept: 'text/html' })).text).to.equal(page)
    const etags = new Set<unknown>()
    for (const accept of ['*/*', 'application/json', 'text/html;q=0.4, */*;q=0.5', 'text/plain, */*']) {
      const { headers, json } = await get('/', { Accept: accept })
      expect(headers['content-type'], accept).to.match(/^application\/json/)
      expect(headers['vary']).to.match(/\bAccept\b/)
      etags.add(headers['etag'])
      const links = Object.values(json['links'] as Record<string, string>)
      expect(links.length).to.be.greaterThan(5)
      for (const link of links) expect((await get(link.replace(service.url, ''))).status, link).to.equal(200)
    }
    expect(etags.size).to.equal(1)
    expect((await get('/', { Accept: BROWSER })).headers['etag']).to.not.equal([...etags][0])
  })

  it('allows only its own styles and its own script, and loads nothing', () => {
    expect(policy).to.match(/^default-src 'none'; /)
    expect(policy.replaceAll(/'sha256-[^']+'/g, '')).not.to.match(/unsafe|\*|https?:/)
    for (const element of ['style', 'script']) {
      const found = [...page.matchAll(new RegExp(`<${element}\\b[^>]*>([^]*?)</${element}>`, 'g'))]
      expect(found.length).to.be.within(1, 2)
      for (const [, text = ''] of found)
        expect(policy).to.contain(`'sha256-${createHash('sha256').update(text).digest('base64')}'`)
    }
    const markup = page.replace(/<script[^]*<\/script>/, '')
    expect(markup).not.to.match(/ (style|src|srcset|on[a-z]+)=|url\((?!#)|@import/)
  })

  it('has a form for each operation with its members, labels and ranges, and the price of each', () => {
    for (const { name, inputSchema, prices } of SINGLE_OPERATIONS) {
      const [, form = ''] = new RegExp(`<fieldset name="${name}"[^]*?>([^]*?)</fieldset>`).exec(page) ?? []
      for (const member of Object.keys(inputSchema.shape))
        expect(form).to.contain(`name="${member}"`).and.contain(`<label for="${name}-${member}">`)
      expect(page).to.contain(`<td>${prices.testnet / 1e6}</td>`)
    }
    expect(page)
      .to.contain('type="number" min="1" max="100"')
      .and.contain('type="date"')
      .and.contain('value="00000000"')
  })

  it('has the element that the URI of the payment extension identifies', async () => {
    const { json } = await get('/.well-known/agent-card.json')
    const { uri = '' } = (json['capabilities'] as { extensions: { uri: string }[] }).extensions[0] ?? {}
    expect(uri).to.match(/\/docs#/)
    expect(page)
      .to.contain(`id="${uri.split('#')[1]}"`)
      .and.contain(uri)
  })

  it('links only to what exists', async () => {
    const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, href = '']) => href)
    expect(links.length).to.be.greaterThan(8)
    for (const href of new Set(links)) expect((await get(href)).status, href).to.equal(200)
    for (const [, id = ''] of page.matchAll(/href="#([^"]+)"/g)) expect(page).to.contain(`id="${id}"`)
  })

  it('has a script of at most 60 KB, compressed', async () => {
    for (const name of ['main', 'sandbox']) {
      const file = fileURLToPath(new URL(import.meta.resolve(`#root/dist/page/${name}.js`)))
      expect(gzipSync(await readFile(file), { level: 9 }).length, name).to.be.below(SCRIPT_GZIP_BYTES_MAX)
    }
  })

  it('[4.4.3] has guides as HTML with contents, in which HTML of a guide is text', async () => {
    for (const guide of ['api', 'a2a', 'mcp']) {
      const { text, headers } = await get(`/docs/${guide}`)
      expect(headers['content-type']).to.equal('text/html; charset=utf-8')
      expect(headers['content-security-policy']).to.match(/^default-src 'none'; style-src 'sha256-[^']+'; img-src/)
      const markdown = (await get(`/docs/${guide}.md`)).text
      const titles = [...markdown.matchAll(/^## (.*)$/gm)].map(([, title = '']) => title)
      expect(titles.length).to.be.greaterThan(2)
      expect([...text.matchAll(/<li><a href="#([^"]+)">/g)].map(([, id = '']) => text.includes(`<h2 id="${id}">`)))
        .to.have.length(titles.length)
        .and.not.include(false)
    }
  })

  describe('[5.1.1] the quote of a GET', () => {
    it('is HTML for a client that ranks HTML above JSON, with the same header', async () => {
      const program = await get(LOOKUP)
      expect(program.headers['content-type']).to.match(/json/)
      for (const accept of [BROWSER, 'text/html', 'application/json;q=0.5, text/html;q=0.6']) {
        const { status, headers, text } = await get(LOOKUP, { Accept: accept })
        expect(status).to.equal(402)
        expect(headers['content-type']).to.equal('text/html; charset=utf-8')
        expect(headers['vary']).to.match(/\bAccept\b/)
        expect(headers['cache-control']).to.equal('private, no-store')
        expect(decodePaymentRequiredHeader(String(headers['payment-required']))).to.deep.equal(
          decodePaymentRequiredHeader(String(program.headers['payment-required'])),
        )
        expect(text).to.contain('0.001 USDC').and.contain('href="/?operation=lookup&#38;company_number=00000000"')
      }
    })

    it('is JSON for every other client, and for a refusal', async () => {
      const others = [
        '',
        '*/*',
        'application/json',
        'text/html;q=0.5, */*',
        'text/html;q=0',
        'application/json, text/html',
      ]
      for (const accept of others) {
        const { status, headers } = await get(LOOKUP, accept === '' ? {} : { Accept: accept })
        expect([status, headers['content-type']], accept).to.deep.equal([402, 'application/json; charset=utf-8'])
        expect(headers['vary']).to.match(/\bAccept\b/)
      }
      expectRefusal(await get('/api/v1/company/abc', { Accept: BROWSER }), 'invalid_company_number')
    })

    it('shows the query as text', async () => {
      const query = encodeURIComponent(`<script>alert("1")</script> & 'name'`)
      const { text } = await get(`/api/v1/search?q=${query}`, { Accept: BROWSER })
      expect(text).not.to.contain('<script')
      expect(text).to.contain('&#60;script&#62;alert(&#34;1&#34;)')
    })
  })

  describe('[4.4.2] the account of the sandbox', () => {
    const sign = (body: unknown, headers: { Origin?: string }, url = service.url) =>
      send({
        url,
        path: '/sandbox/signature',
        isDescribed: false,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })

    it('signs payments to the service for its own page only', async () => {
      const payment = authorizationTo(service.payTo, service.buyer.address)
      expect((await sign(payment, { Origin: service.url })).json['signature']).to.match(/^0x[0-9a-f]{130}$/)
      for (const headers of [
        {},
        { Origin: 'https://evil.example' },
        { Origin: 'null' },
        { Origin: `${service.url}.evil.example` },
      ])
        expectRefusal(await sign(payment, headers), 'origin_not_allowed')
      const ofBuyer = authorizationTo(service.buyer.address, service.buyer.address)
      const tooMuch = { ...payment, value: '100001' }
      const tooLong = { ...payment, validBefore: String(Number(payment.validBefore) + 120) }
      const others = [ofBuyer, authorizationTo(service.payTo, service.payTo), { ...payment, value: 1 }, [], null]
      for (const wrong of [tooMuch, tooLong, ...others])
        expectRefusal(await sign(wrong, { Origin: service.url }), 'invalid_body')
    })

    it('has no route and no script in another service', async () => {
      const other = await startTestService({
        replaceExternals({ sandboxAccount, ...externals }) {
          expect(sandboxAccount).to.be.an('object')
          return externals
        },
      })
      try {
        const payment = authorizationTo(other.payTo, other.buyer.address)
        expectRefusal(await sign(payment, { Origin: other.url }, other.url), 'not_found')
        const { text } = await send({ url: other.url, path: '/', headers: { Accept: BROWSER } })
        expect(text).not.to.match(/sandbox.s account|sandbox\/signature|"sandbox"/)
        expect(page).to.contain('/sandbox/signature')
      } finally {
        await other.stop()
      }
    })
  })
})
