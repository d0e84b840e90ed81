/** The page, its other forms, and quotes as HTML, without a browser. test/spec/documents.test.ts has the headers. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { x402Client } from '@x402/core/client'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { expect } from 'chai'
import { SINGLE_OPERATIONS } from '../../../agent/operation/operations.ts'
import { expectRefusal, send } from '../../support/raw-http.ts'
import { startTestService } from '../../support/service.ts'
import { useService } from '../../support/use-service.ts'

const FIRST_VIEW_BYTES_MAX = 90_000
const QUOTE_BYTES_MAX = 16_384
/** Without the status line and the empty line. */
const HEADER_BYTES_MAX = 4_000 - 50
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
const LOOKUP = '/api/v1/company/00000000'
const authorizationTo = (to: string, from: string) => {
  const validBefore = String(Math.floor(Date.now() / 1000) + 300)
  return { from, to, value: '1000', validAfter: '0', validBefore, nonce: `0x${'1'.repeat(64)}` }
}

describe('the page', () => {
  const { service } = useService(() =>
    startTestService({
      configure: (config) => ({ ...config, operator: { name: 'A <b> & Co', url: 'https://operator.example/?a&b' } }),
    }),
  )
  let page: string
  const get = (path: string, headers: Record<string, string> = {}, isDescribed = true) =>
    send({ url: service.url, path, headers, isDescribed })
  const getAsset = (url: string) => get(url.replace(service.url, ''), {}, false)

  before(async () => {
    page = (await get('/', { Accept: BROWSER })).text
  })

  /** Of a protocol, which is called with POST. */
  const isEndpoint = (name: string) => name === 'mcp' || name === 'a2a'

  it('[4.4.2] is what a browser gets from /, and an index of links what a program gets', async () => {
    expect((await get('/', { Accept: 'text/html' })).text).to.equal(page)
    const etags = new Set<unknown>()
    for (const accept of ['*/*', 'application/json', 'text/html;q=0.4, */*;q=0.5', 'text/plain, */*']) {
      const { headers, json } = await get('/', { Accept: accept })
      expect(headers['content-type'], accept).to.match(/^application\/json/)
      expect(headers['vary']).to.match(/\bAccept\b/)
      etags.add(headers['etag'])
      const links = Object.entries(json['links'] as Record<string, string>)
      expect(links.length).to.be.greaterThan(5)
      for (const [name, link] of links)
        expect((await get(link.replace(service.url, ''))).status, link).to.equal(isEndpoint(name) ? 405 : 200)
    }
    expect(etags.size).to.equal(1)
    expect((await get('/', { Accept: BROWSER })).headers['etag']).to.not.equal([...etags][0])
  })

  for (const path of ['/', '/docs', '/docs/mcp', LOOKUP, '/nothing']) {
    it(`[4.4.14] ${path} loads only its own files, by their hashes, and names the operator as text`, async () => {
      const { text, headers } = await get(path, { Accept: BROWSER }, path !== '/nothing')
      const policy = String(headers['content-security-policy'])
      expect(policy).to.match(/^default-src 'none'; style-src http/)
      const allowed = [...policy.matchAll(/(?<=src .*)http\S+?(?=[ ;])/g)].map(([url]) => url)
      expect([...new Set(allowed)]).to.deep.equal([`${service.url}/assets/`])
      expect(policy.replaceAll(/http\S+?(?=[ ;])/g, '')).not.to.match(/unsafe|\*|https?:|sha256/)
      const files = [
        ...text.matchAll(/<(?:link|script)[^>]* (?:href|src)="([^"]*\/assets\/[^"]*)" integrity="([^"]*)"/g),
      ]
      expect(files.length).to.be.greaterThan(0)
      const [, exact = ''] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text) ?? []
      const named = [...exact.matchAll(/http[^ ;]+/g)].map(([url]) => url)
      expect(named).to.have.all.members([...new Set(files.map(([, url = '']) => url))])
      expect(exact.replaceAll(/http[^ ;]+/g, '')).to.match(/^style-src +; script-src (?: *|'none')$/)
      for (const [, url = '', integrity] of files) {
        expect(url).to.match(/-[A-Z0-9]{8}\.(?:js|css)$/)
        const asset = await getAsset(url)
        expect(integrity).to.equal(`sha384-${createHash('sha384').update(asset.text).digest('base64')}`)
        expect(asset.headers['cache-control']).to.equal('public, max-age=31536000, immutable')
      }
      expect(text.replaceAll(/<script [^>]*><\/script>/g, '')).not.to.match(/<script|<style| (style|srcset|on[a-z]+)=/)
      expect(text).to.contain(
        '<a href="https://operator.example/?a&#38;b" rel="noreferrer">A &#60;b&#62; &#38; Co</a> operates',
      )
    })
  }

  it('[4.4.3] names the operator as the contact in security.txt too, for less than a year', async () => {
    const { headers, text } = await get('/.well-known/security.txt')
    expect(headers['content-type']).to.equal('text/plain; charset=utf-8')
    const fields = text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(': '))
    const { Contact, Expires, Canonical } = Object.fromEntries(fields) as Record<string, string>
    expect(Contact).to.equal('https://operator.example/?a&b')
    expect(Canonical).to.equal(`${service.url}/.well-known/security.txt`)
    const days = (Date.parse(String(Expires)) - Date.now()) / 86_400_000
    expect(days).to.be.within(80, 365)
  })

  it('has the fields of each operation with labels, and the price of each', () => {
    for (const { name, inputSchema, prices } of SINGLE_OPERATIONS) {
      const [, form = ''] = new RegExp(`<fieldset name="${name}"[^]*?>([^]*?)</fieldset>`).exec(page) ?? []
      for (const member of Object.keys(inputSchema.shape))
        expect(form)
          .to.contain(`name="${member}"`)
          .and.match(new RegExp(`<label for="${name}-${member}">[A-Z][a-z ]+`))
      expect(page).to.contain(`<td>${prices.testnet / 1e6}</td>`)
    }
    expect(page).to.contain('min="1" max="100"').and.contain('type="date"')
    expect(page).not.to.match(/ASCII|NFKC/)
  })

  it('[4.4.13] has names with numbers of the loaded register as examples', async () => {
    const [, examples = ''] = /<div id="examples">([^]*?)<\/div>/.exec(page) ?? []
    const numbers = [...examples.matchAll(/company_number=(\d+)"/g)].map(([, number = '']) => number)
    expect(numbers).to.have.length(3)
    expect(examples).to.match(/<a [^>]*>[A-Z][A-Z &#0-9;]+<\/a> [0-9]+<\/li>/)
    const client = new x402Client().register('eip155:84532', new ExactEvmScheme(service.buyer))
    const pay = wrapFetchWithPayment(fetch, client)
    for (const number of numbers) expect((await pay(`${service.url}/api/v1/company/${number}`)).status).to.equal(200)
  })

  it('links only to what exists', async () => {
    const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
    expect(links.length).to.be.greaterThan(8)
    for (const href of new Set(links)) expect((await get(href)).status, href).to.equal(200)
    for (const [, id = ''] of page.matchAll(/href="\/?#([^"]+)"/g)) expect(page).to.contain(`id="${id}"`)
  })

  it('has a first view of at most 90 KB, compressed', async () => {
    const [loaded = ''] = page.split('<template')
    const urls = [...loaded.matchAll(/(?:href|src)="([^"]*\/assets\/[^"]*)"/g)].map(([, url = '']) => url)
    const texts = [page, ...(await Promise.all(urls.map(getAsset))).map(({ text }) => text)]
    expect(urls.length).to.be.greaterThan(2)
    const bytes = texts.reduce((sum, text) => sum + gzipSync(text).length, 0)
    expect(bytes).to.be.below(FIRST_VIEW_BYTES_MAX)
  })

  it('[4.4.3] has guides as HTML with contents and marked code, in which HTML of a guide is text', async () => {
    for (const guide of ['api', 'a2a', 'mcp']) {
      const { text, headers } = await get(`/docs/${guide}`)
      expect(headers['content-type']).to.equal('text/html; charset=utf-8')
      const markdown = (await get(`/docs/${guide}.md`)).text
      const titles = [...markdown.matchAll(/^## (.*)$/gm)].map(([, title = '']) => title)
      expect(titles.length).to.be.greaterThan(2)
      expect([...text.matchAll(/<li><a href="#([^"]+)">/g)].map(([, id = '']) => text.includes(`<h2 id="${id}">`)))
        .to.have.length(titles.length)
        .and.not.include(false)
      expect(text).to.contain('<span class="string">&#34;')
    }
    expect((await get('/docs', { Accept: BROWSER })).text)
      .to.equal((await get('/docs/api')).text)
      .and.contain('id="http-x402-v1"')
  })

  it('[7.1] leads on from an unknown path, and answers a program with an error', async () => {
    const { status, headers, text } = await get('/nothing', { Accept: BROWSER }, false)
    expect([status, headers['content-type']]).to.deep.equal([404, 'text/html; charset=utf-8'])
    expect(headers['vary']).to.match(/\bAccept\b/)
    expect(text).to.contain('<a href="/">Find a company</a>')
    const refused = await get('/nothing')
    expectRefusal(refused, 'not_found')
    const { message } = refused.json['error'] as { message: string }
    const [document = ''] = /\/[a-z.]+(?=\.$)/.exec(message) ?? []
    expect((await get(document)).status, message).to.equal(200)
  })

  describe('[5.1.5] the quote of a GET', () => {
    const ROUTES: [path: string, fields: RegExp][] = [
      [LOOKUP, /name="company_number" [^>]*value="00000000"/],
      [
        "/api/v1/search?q=a%22%3Cb%3E%26'$(id)&limit=3",
        /name="q" [^>]*value="a&#34;&#60;b&#62;&#38;&#39;\$\(id\)"[^]*name="limit" [^>]*value="3"[^]*curl -i '[^']*%27\$\(id\)&#38;limit=3'/,
      ],
      [`/api/v1/company/7/as-of/2026-01-02`, /value="7"[^]*name="date" [^>]*value="2026-01-02"/],
      ['/api/v1/changes?since=2026-01-02&kind=added', /value="2026-01-02"[^]*<option value="added" selected>/],
    ]
    for (const [path, fields] of ROUTES) {
      it(`of ${path} is the form as requested, of at most 16 KiB, with the same header`, async () => {
        const program = await get(path)
        for (const accept of [BROWSER, 'text/html', 'application/json;q=0.5, text/html;q=0.6']) {
          const { status, headers, text } = await get(path, { Accept: accept })
          expect([status, headers['content-type']]).to.deep.equal([402, 'text/html; charset=utf-8'])
          expect(headers['vary']).to.match(/\bAccept\b/)
          expect(headers['cache-control']).to.equal('private, no-store')
          expect(decodePaymentRequiredHeader(String(headers['payment-required']))).to.deep.equal(
            decodePaymentRequiredHeader(String(program.headers['payment-required'])),
          )
          expect(text).to.match(fields).and.contain(', 0.001 USDC</button>').and.not.contain('examples')
          expect(Buffer.byteLength(text)).to.be.below(QUOTE_BYTES_MAX)
        }
      })
    }

    it('shows a query without marks that change the direction of text', async () => {
      for (const mark of ['\u061C', '\u200E', '\u200F', '\u202A', '\u202E', '\u2066', '\u2069']) {
        const { status, text } = await get(`/api/v1/search?q=${encodeURIComponent(`abc${mark}def`)}`, {
          Accept: BROWSER,
        })
        expect(status).to.equal(402)
        expect(text)
          .to.match(/name="q" [^>]*value="abcdef"/)
          .and.not.contain(mark)
      }
    })

    it('[5.1.3] has at most 4,000 bytes of headers with the longest BASE_URL and queries', async () => {
      const baseUrl = 'https://'.padEnd(77, 'host.') + '.ie'
      const long = await startTestService({ environment: { BASE_URL: baseUrl } })
      try {
        expect(baseUrl).to.have.length(80)
        for (const unit of ['a', '%C3%A9', '%E4%B8%AD', '%F0%90%8D%88'])
          for (const length of [100, 560, 600, 640, 900, 1_280]) {
            const path = `/api/v1/search?q=abc${unit.repeat(Math.min(length / unit.length, 157))}&status=`
            const padded = path + unit.repeat(Math.max(1, Math.min((length - path.length) / unit.length, 80)))
            const headers = { Accept: BROWSER, 'X-Request-Id': 'r'.repeat(128) }
            const reply = await send({ url: long.localUrl, path: padded, headers, isDescribed: false })
            expect([reply.status, reply.headers['content-type']]).to.deep.equal([402, 'text/html; charset=utf-8'])
            const lines = Object.entries(reply.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`)
            expect(lines.join('').length, `${unit} ${length}`).to.be.at.most(HEADER_BYTES_MAX)
          }
      } finally {
        await long.stop()
      }
    })

    it('does not tell whether the register has the company', async () => {
      const [one, other] = await Promise.all(
        ['73848', '73849'].map(async (number) => {
          const { text } = await get(`/api/v1/company/${number}`, { Accept: BROWSER })
          return text.replaceAll(number, 'N')
        }),
      )
      expect(one).to.equal(other)
    })

    it('is JSON for every other client, and for a refusal', async () => {
      for (const accept of ['', '*/*', 'application/json', 'text/html;q=0.5, */*', 'text/html;q=0']) {
        const { status, headers } = await get(LOOKUP, accept === '' ? {} : { Accept: accept })
        expect([status, headers['content-type']], accept).to.deep.equal([402, 'application/json; charset=utf-8'])
        expect(headers['vary']).to.match(/\bAccept\b/)
      }
      expectRefusal(await get('/api/v1/company/abc', { Accept: BROWSER }), 'invalid_company_number')
    })
  })

  describe('[4.4.16] the account of the sandbox', () => {
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
      expectRefusal(await sign(payment, {}), 'origin_not_allowed')
      for (const Origin of ['https://evil.example', 'null', `${service.url}.evil.example`])
        expectRefusal(await sign(payment, { Origin }), 'origin_not_allowed')
      const ofBuyer = authorizationTo(service.buyer.address, service.buyer.address)
      const tooMuch = { ...payment, value: '100001' }
      const tooLong = { ...payment, validBefore: String(Number(payment.validBefore) + 120) }
      const others = [ofBuyer, authorizationTo(service.payTo, service.payTo), { ...payment, value: 1 }, [], null]
      for (const wrong of [tooMuch, tooLong, ...others])
        expectRefusal(await sign(wrong, { Origin: service.url }), 'invalid_body')
    })

    it('has no route and no address in another service', async () => {
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
        expect(text).not.to.contain('data-account="0x')
        expect(page).to.contain('data-account="0x')
      } finally {
        await other.stop()
      }
    })
  })
})
