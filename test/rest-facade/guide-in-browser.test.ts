/** The HTML guide as people see it: real headless Chromium, from a phone to a desktop, by day and by night. */
import { expect } from 'chai'
import { findBrowser, openBrowser, type Browser, type BrowserPage } from '../support/browser.ts'
import { askForQuote, faintTexts, VIEWS } from '../support/guide-page.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** A browser's start on a busy machine. */
const BROWSER_TIMEOUT_MS = 60_000

describe('the HTML guide in a browser', function () {
  this.timeout(BROWSER_TIMEOUT_MS)
  let service: TestService
  let browser: Browser | undefined

  before(async function () {
    const program = findBrowser()
    if (program === undefined) {
      if (process.env['CI'] !== undefined) throw new Error('There is no chromium on the PATH; .ci/run installs it')
      console.warn('\n*** SKIPPED: there is no chromium on the PATH, so nothing here looks at the guide ***\n')
      return this.skip()
    }
    service = await startTestService()
    browser = await openBrowser(program)
  })
  after(async () => {
    await browser?.close()
    await (service as TestService | undefined)?.stop()
  })

  async function opened(view = VIEWS['a desktop by day']): Promise<BrowserPage> {
    if (!view || !browser) throw new Error('There is no such view')
    const page = await browser.open(view)
    await page.goTo(`${service.url}/docs`)
    return page
  }

  for (const [name, view] of Object.entries(VIEWS)) {
    describe(`on ${name}`, () => {
      let page: BrowserPage
      before(async () => {
        page = await opened(view)
      })

      it('renders in its own style, and nothing sticks out sideways', async () => {
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

      it('has controls large enough for a thumb, each with a name', async () => {
        const controls =
          (await page.run(`[...document.querySelectorAll('button, input:enabled, select')].map((each) => ({
          height: each.getBoundingClientRect().height,
          name: each.labels?.[0]?.textContent.trim() || each.textContent.trim(),
        }))`)) as { height: number; name: string }[]
        expect(controls.length).to.be.at.least(3)
        for (const control of controls) {
          expect(control.height, control.name).to.be.at.least(44)
          expect(control.name).to.not.equal('')
        }
      })

      it('has no text too faint to read, with the quote shown too', async () => {
        const { status } = await askForQuote(page, 'lookup')
        expect(status).to.match(/^Status 402/)
        const { looked, faint } = await faintTexts(page)
        expect(looked).to.be.greaterThan(100)
        expect(faint).to.deep.equal([])
        const edges = await page.run('[document.documentElement.scrollWidth, innerWidth]')
        expect(edges).to.deep.equal([view.width, view.width])
      })

      it('has tables that need no pushing to the side', async () => {
        const hidden = await page.run(
          "[...document.querySelectorAll('.wide')].map((each) => each.scrollWidth - each.clientWidth)",
        )
        expect(hidden).to.deep.equal([0, 0, 0])
      })

      it('complains of nothing but the 402 that was asked for, and asks nobody else', () => {
        // Chromium itself notes every answer that is not 2xx.
        expect(page.complaints.filter((text) => !/status of 402 \(/.test(text))).to.deep.equal([])
        const hosts = page.requests.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin)
        expect(hosts.length).to.be.at.least(2)
        expect([...new Set(hosts)]).to.deep.equal([service.url])
      })
    })
  }

  describe('asks for a quote', () => {
    let page: BrowserPage
    before(async () => {
      page = await opened()
    })

    const QUOTES: [operation: string, fields: Record<string, string>, path: string, price: string][] = [
      ['lookup', {}, '/api/v1/company/00000000', '0.001 USDC'],
      ['lookup', { number: '73848' }, '/api/v1/company/73848', '0.001 USDC'],
      ['search', { q: 'fáilte & co' }, '/api/v1/search?q=f%C3%A1ilte+%26+co', '0.001 USDC'],
      ['resolve', {}, '/api/v1/resolve', '0.002 USDC'],
      ['resolve', { name: 'Example', eircode: '' }, '/api/v1/resolve', '0.002 USDC'],
    ]
    for (const [operation, fields, path, price] of QUOTES) {
      it(`of ${operation} ${JSON.stringify(fields)}, and explains it`, async () => {
        const before = await service.paid()
        const { status, rows, raw } = await askForQuote(page, operation, fields)
        expect(status).to.equal('Status 402: a quote. Nothing was charged.')
        expect(rows['Resource']).to.contain(`${service.url}${path} `)
        expect(rows['Price']).to.contain(price)
        expect(rows['Receiver']).to.contain(service.payTo)
        expect(rows['Stands for']).to.equal('300 seconds')
        expect(raw).to.have.nested.property('accepts[0].payTo', service.payTo)
        expect(await service.paid()).to.deep.equal(before)
      })
    }

    const REFUSED: [operation: string, fields: Record<string, string>, code: string][] = [
      ['lookup', { number: 'abc' }, 'invalid_company_number'],
      ['lookup', { number: '<img src=x onerror=alert(1)>' }, 'invalid_company_number'],
      ['search', { q: 'a' }, 'invalid_query'],
      ['resolve', { name: '' }, 'invalid_body'],
    ]
    for (const [operation, fields, code] of REFUSED) {
      it(`of ${operation} ${JSON.stringify(fields)}, and says why there is none: ${code}`, async () => {
        const { status, rows } = await askForQuote(page, operation, fields)
        expect(status).to.match(/^Status 400: /)
        expect(rows).to.deep.equal({ Code: code })
      })
    }

    it('with only the fields of the operation shown', async () => {
      for (const operation of ['lookup', 'search', 'resolve']) {
        await askForQuote(page, operation)
        const shown = await page.run(
          "[...document.querySelectorAll('fieldset')].filter((each) => each.checkVisibility()).map((each) => each.name)",
        )
        expect(shown).to.deep.equal([operation])
      }
    })
  })

  it('runs nothing that is not its own, and reaches nobody else', async () => {
    const page = await opened()
    const ran = await page.run(`(async () => {
      const script = document.createElement('script')
      script.textContent = 'globalThis.stranger = true'
      document.body.append(script)
      const reached = await fetch('http://127.0.0.1:9/').then(() => true, () => false)
      return { stranger: globalThis.stranger === true, reached }
    })()`)
    expect(ran).to.deep.equal({ stranger: false, reached: false })
    expect(page.complaints.join('\n'))
      .to.match(/script-src/)
      .and.match(/connect-src/)
  })

  it('would be seen to have a faint text or a script error', async () => {
    const page = await opened()
    await page.run(`(() => {
      const faint = document.createElement('p')
      faint.textContent = 'faint'
      faint.className = 'quiet'
      faint.style.color = '#aaaaaa'
      document.body.append(faint)
      console.error('seen')
      setTimeout(() => { throw new Error('thrown') })
      return new Promise((resolve) => setTimeout(resolve, 50))
    })()`)
    const { faint } = await faintTexts(page)
    expect(faint).to.deep.equal(['P 2.32 faint'])
    expect(page.complaints.join('\n'))
      .to.match(/seen/)
      .and.match(/thrown/)
  })
})
