/** The HTML guide in headless Chromium, on phones and desktops, in light and dark mode. */
import { expect } from 'chai'
import { findBrowser, openBrowser, type Browser, type BrowserPage } from '../support/browser.ts'
import { askForQuote, findLowContrastTexts, VIEWS } from '../support/guide-page.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Includes the start of the browser on a busy machine. */
const BROWSER_TIMEOUT_MS = 60_000

describe('the HTML guide in a browser', function () {
  this.timeout(BROWSER_TIMEOUT_MS)
  let service: TestService
  let browser: Browser | undefined

  before(async function () {
    const program = findBrowser()
    if (program === undefined) {
      if (process.env['CI'] !== undefined) throw new Error('chromium is not on the PATH; .ci/run installs it')
      console.warn('\nSKIPPED: the browser tests of the guide, because chromium is not on the PATH\n')
      return this.skip()
    }
    service = await startTestService()
    browser = await openBrowser(program)
  })
  after(async () => {
    await browser?.close()
    await (service as TestService | undefined)?.stop()
  })

  async function openGuide(view = VIEWS['a light desktop']): Promise<BrowserPage> {
    if (!view || !browser) throw new Error('Unknown view')
    const page = await browser.open(view)
    await page.goTo(`${service.url}/docs`)
    return page
  }

  for (const [name, view] of Object.entries(VIEWS)) {
    describe(`on ${name}`, () => {
      let page: BrowserPage
      before(async () => {
        page = await openGuide(view)
      })

      it('uses its own style and fits the width', async () => {
        const { title, heading, edges, font } = (await page.run(`({
          title: document.title,
          heading: document.querySelector('h1').getBoundingClientRect().height,
          edges: [document.documentElement.scrollWidth, innerWidth],
          font: parseFloat(getComputedStyle(document.body).fontSize),
        })`)) as { title: string; heading: number; edges: [number, number]; font: number }
        expect(title).to.equal('Irish company records for agents')
        expect(heading).to.be.greaterThan(20)
        expect(edges).to.deep.equal([view.width, view.width])
        expect(font).to.be.at.least(16)
        const paper = await page.run('getComputedStyle(document.body).backgroundColor')
        expect(paper).to.equal(view.scheme === 'dark' ? 'rgb(20, 23, 26)' : 'rgb(255, 255, 255)')
      })

      it('has labelled controls of at least 44 pixels', async () => {
        const controls = (await page.run(`
          [...document.querySelectorAll('button, input:enabled, select')].map((each) => ({
            height: each.getBoundingClientRect().height,
            name: each.labels?.[0]?.textContent.trim() || each.textContent.trim(),
          }))`)) as { height: number; name: string }[]
        expect(controls.length).to.be.at.least(3)
        for (const { height, name: label } of controls) {
          expect(height, label).to.be.at.least(44)
          expect(label).to.not.equal('')
        }
      })

      it('has enough contrast everywhere, also in a shown quote', async () => {
        const { status } = await askForQuote(page, 'lookup')
        expect(status).to.match(/^Status 402/)
        const { checked, lowContrast } = await findLowContrastTexts(page)
        expect(checked).to.be.greaterThan(100)
        expect(lowContrast).to.deep.equal([])
        const edges = await page.run('[document.documentElement.scrollWidth, innerWidth]')
        expect(edges).to.deep.equal([view.width, view.width])
      })

      it('logs no error except the expected 402, and requests no other origin', () => {
        // Chromium logs every response that is not 2xx.
        expect(page.errors.filter((text) => !/status of 402 \(/.test(text))).to.deep.equal([])
        const hosts = page.requests.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin)
        expect(hosts.length).to.be.at.least(2)
        expect([...new Set(hosts)]).to.deep.equal([service.url])
      })
    })
  }

  describe('requests a quote', () => {
    let page: BrowserPage
    before(async () => {
      page = await openGuide()
    })

    const QUOTES: [operation: string, fields: Record<string, string>, path: string, price: string][] = [
      ['lookup', { number: '73848' }, '/api/v1/company/73848', '0.001 USDC'],
      ['search', { q: 'fáilte & co' }, '/api/v1/search?q=f%C3%A1ilte+%26+co', '0.001 USDC'],
      ['resolve', { name: 'Example', eircode: '' }, '/api/v1/resolve', '0.002 USDC'],
    ]
    for (const [operation, fields, path, price] of QUOTES) {
      it(`for ${operation} ${JSON.stringify(fields)} and explains it`, async () => {
        const before = await service.paid()
        const { status, rows, raw } = await askForQuote(page, operation, fields)
        expect(status).to.equal('Status 402: a quote. Nothing was charged.')
        expect(rows['Resource']).to.contain(`${service.url}${path} `)
        expect(rows['Price']).to.contain(price)
        expect(rows['Receiver']).to.contain(service.payTo)
        expect(rows['Valid for']).to.equal('300 seconds')
        expect(raw).to.have.nested.property('accepts[0].payTo', service.payTo)
        expect(await service.paid()).to.deep.equal(before)
      })
    }

    it('and shows the code of a refusal', async () => {
      const REFUSED: [operation: string, fields: Record<string, string>, code: string][] = [
        ['lookup', { number: '<img src=x onerror=alert(1)>' }, 'invalid_company_number'],
        ['search', { q: 'a' }, 'invalid_query'],
        ['resolve', { name: '' }, 'invalid_body'],
      ]
      for (const [operation, fields, code] of REFUSED) {
        const { status, rows } = await askForQuote(page, operation, fields)
        expect(status).to.match(/^Status 400: /)
        expect(rows).to.deep.equal({ Code: code })
      }
    })

    it('with a legend for each group of fields', async () => {
      const legends = await page.run(
        "[...document.querySelectorAll('fieldset')].map((each) => each.querySelector(':scope > legend')?.textContent ?? '')",
      )
      expect(legends).to.have.length(3)
      for (const legend of legends as string[]) expect(legend).to.match(/\w/)
    })
  })

  it('blocks foreign scripts and requests to other origins', async () => {
    const page = await openGuide()
    const ran = await page.run(`(async () => {
      const script = document.createElement('script')
      script.textContent = 'globalThis.foreign = true'
      document.body.append(script)
      const reached = await fetch('http://127.0.0.1:9/').then(() => true, () => false)
      return { foreign: globalThis.foreign === true, reached }
    })()`)
    expect(ran).to.deep.equal({ foreign: false, reached: false })
    expect(page.errors.join('\n'))
      .to.match(/script-src/)
      .and.match(/connect-src/)
  })
})
