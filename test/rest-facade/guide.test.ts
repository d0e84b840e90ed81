/** The HTML guide: the place that the payment extension's URI names, and the table of errors as the code has it. */
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
    expect(page).to.not.match(/<(script|img|link|iframe)/)
    expect(page).to.not.contain('{{')
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
    for (const [code, { status }] of Object.entries(REFUSALS)) {
      expect(page).to.contain(`<td>${status}</td><td>${code}</td>`)
    }
  })

  it('names what is sold, and links only to what is there', async () => {
    expect(page).to.contain('GET /api/v1/company/{company_number}   1000 micro-USDC')
    expect(page).to.contain('GET /api/v1/search   1000 micro-USDC')
    expect(page).to.contain('POST /api/v1/resolve   2000 micro-USDC')
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, href]) => href ?? '')
    expect(links.length).to.be.greaterThan(3)
    for (const href of links) expect((await fetch(service.url + href)).status, href).to.equal(200)
  })
})
