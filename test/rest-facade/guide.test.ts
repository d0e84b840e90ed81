/** The HTML guide without a browser: the place that the extension's URI names, prices and errors as the code has them. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { REFUSALS } from '../../agent/operation/refusal.ts'
import { startTestService, type TestService } from '../support/service.ts'

describe('the HTML guide', () => {
  let service: TestService
  let response: Response
  let page: string

  before(async () => {
    service = await startTestService()
    response = await fetch(`${service.url}/docs`)
    page = await response.text()
  })
  after(() => service.stop())

  it('is a page with an ETag, and nothing in it is loaded from elsewhere', () => {
    expect(response.status).to.equal(200)
    expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(response.headers.get('etag')).to.match(/^"/)
    expect(page).to.not.match(/<(img|iframe|object|embed|form[^>]* action)/)
    expect(page).to.not.match(/\b(src|srcset)=|url\(|@import/)
    expect(page).to.not.contain('{{')
    expect(page.replace(/<script[^]*<\/script>/, '')).to.not.contain('`')
  })

  it('may run its own style and script, and nothing else', () => {
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).to.match(/^default-src 'none'; /)
    expect(policy).not.to.match(/unsafe|\*|https?:/)
    for (const [element, directive] of [
      ['style', 'style-src'],
      ['script', 'script-src'],
    ] as const) {
      const parts = [...page.matchAll(new RegExp(`<${element}\\b[^>]*>([^]*?)</${element}>`, 'g'))]
      expect(parts).to.have.lengthOf(1)
      const hash = createHash('sha256').update(String(parts[0]?.[1])).digest('base64')
      expect(policy).to.contain(`${directive} 'sha256-${hash}'`)
    }
    expect(page).not.to.match(/ (style|on[a-z]+)=/)
  })

  it('leaves every other answer with a policy that allows nothing', async () => {
    for (const path of ['/api/v1/meta', '/docs/api.md', '/openapi.json', '/nowhere']) {
      const { headers } = await fetch(service.url + path)
      expect(headers.get('content-security-policy'), path).to.equal("default-src 'none'")
    }
  })

  it('has the element that the payment extension’s URI names', async () => {
    const card = (await (await fetch(`${service.url}/.well-known/agent-card.json`)).json()) as {
      documentationUrl: string
      capabilities: { extensions: { uri: string }[] }
    }
    const uri = card.capabilities.extensions[0]?.uri ?? ''
    const [url, id] = uri.split('#')
    expect(url).to.equal(card.documentationUrl)
    expect(page).to.contain(`id="${id}"`)
    expect(page).to.contain(uri)
  })

  it('has every error with its status', () => {
    for (const [code, { status, charged }] of Object.entries(REFUSALS)) {
      expect(page).to.contain(`<td>${status}</td><td>${code}</td><td>${charged}</td>`)
    }
  })

  it('names what is sold, and links only to what is there', async () => {
    expect(page).to.contain('<td>GET /api/v1/company/{company_number}</td><td>1000</td><td>0.001</td>')
    expect(page).to.contain('<td>GET /api/v1/search</td><td>1000</td><td>0.001</td>')
    expect(page).to.contain('<td>POST /api/v1/resolve</td><td>2000</td><td>0.002</td>')
    const links = [...page.matchAll(/href="([^"]+)"/g)]
      .map(([, href]) => href ?? '')
      .filter((href) => href !== 'data:,')
    expect(links.length).to.be.greaterThan(3)
    for (const href of links) expect((await fetch(service.url + href)).status, href).to.equal(200)
  })
})
