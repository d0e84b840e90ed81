/**
 * The HTML guide without a browser: security policy, prices, errors and links. test/spec/documents.test.ts checks its
 * headers.
 */
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

  it('loads nothing from other origins', () => {
    expect(page).to.not.match(/<(img|iframe|object|embed|form[^>]* action)/)
    expect(page).to.not.match(/\b(src|srcset)=|url\(|@import/)
    expect(page.replace(/<script[^]*<\/script>/, '')).to.not.contain('`')
  })

  it('allows only its own style and script', () => {
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).to.match(/^default-src 'none'; /)
    expect(policy).not.to.match(/unsafe|\*|https?:/)
    for (const element of ['style', 'script']) {
      const [[, text = ''] = [], ...more] = page.matchAll(new RegExp(`<${element}\\b[^>]*>([^]*?)</${element}>`, 'g'))
      expect(more).to.deep.equal([])
      expect(policy).to.contain(`${element}-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`)
    }
    expect(page).not.to.match(/ (style|on[a-z]+)=/)
  })

  it('is the only response with a policy that allows anything', async () => {
    for (const path of ['/api/v1/meta', '/docs/api.md', '/openapi.json', '/nowhere']) {
      const { headers } = await fetch(service.url + path)
      expect(headers.get('content-security-policy'), path).to.equal("default-src 'none'; frame-ancestors 'none'")
    }
  })

  it('has the element that the URI of the payment extension identifies', async () => {
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

  it('has the paid routes with prices, and links only to existing routes', async () => {
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
