/** How the page looks and is used in Chromium: sizes, dark mode, keyboard, print, lists, and the rules of axe. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { BrowserPage, View } from '../support/browser.ts'
import { click, DESKTOP, fill, pay, useBrowser, seen, status } from '../support/page.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

/** Includes the start of the browser on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

const VIEWS: Record<string, View> = {
  'a small phone': { width: 360, height: 780, isMobile: true, scheme: 'light' },
  'a dark phone': { width: 360, height: 780, isMobile: true, scheme: 'dark' },
  'a dark desktop': { ...DESKTOP, scheme: 'dark' },
}

/** Rules that need the whole document of an application, or that axe cannot decide here. */
const AXE = `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`
const SHIFTS = `globalThis.shift = 0; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value
}).observe({ type: 'layout-shift', buffered: true })`

describe('the page in a browser', function () {
  this.timeout(BROWSER_TIMEOUT_MS)
  const browser = useBrowser()
  const { service } = useService(() => startTestService())
  let axe: string

  before(async () => {
    axe = await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
  })

  async function open(view: View, path = '/'): Promise<BrowserPage> {
    const page = await browser().open(view)
    await page.addInitScript(SHIFTS)
    await page.goto(service.url + path)
    return page
  }

  for (const [name, view] of Object.entries(VIEWS)) {
    it(`fits ${name}, keeps the rules of axe, shifts nothing and logs no error, also with an answer`, async () => {
      const page = await open(view)
      await seen(page, '#state', /companies/)
      await page.evaluate(axe)
      expect(await page.evaluate(AXE)).to.deep.equal([])
      expect(await page.evaluate('globalThis.shift')).to.equal(0)
      await fill(page, 'search', { q: 'limited' })
      await pay(page)
      await status(page, /^Bought/)
      await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
      expect(await page.evaluate(AXE)).to.deep.equal([])
      expect(await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')).to.deep.equal([
        view.width,
        view.width,
      ])
      // Chromium logs every response that is not 2xx.
      expect(page.errors.filter((text) => !/status of 402 \(/.test(text))).to.deep.equal([])
      const origins = page.requests.filter((url) => !/^(data|blob):/.test(url)).map((url) => new URL(url).origin)
      expect([...new Set(origins)]).to.deep.equal([service.url])
    })
  }

  for (const path of ['/docs/api', '/docs/mcp', '/api/v1/company/00000000']) {
    it(`keeps the rules of axe on ${path}, at 360 pixels`, async () => {
      const page = await open(VIEWS['a small phone']!, path)
      await page.evaluate(axe)
      expect(await page.evaluate(AXE)).to.deep.equal([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360)
    })
  }

  it('is bought from with the keyboard alone', async () => {
    const page = await open(DESKTOP)
    let tabs = 0
    while ((await page.evaluate(`document.activeElement.matches('#pay button')`)) !== true) {
      expect((tabs += 1)).to.be.below(20)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await status(page, /^Bought/)
  })

  it('is a 402 that leads to the purchase', async () => {
    const page = await open(DESKTOP, '/api/v1/search?q=sample%20trading')
    await page.goto((await page.evaluate(`document.querySelector('a').href`)) as string)
    await seen(page, '#state', /companies/)
    expect(await page.evaluate(`document.querySelector('#search-q').value`)).to.equal('sample trading')
  })

  it('prints answers without forms', async () => {
    const page = await open(DESKTOP)
    await page.emulateMedia({ media: 'print' })
    const shown = await page.evaluate(
      `['form', 'nav', '#result'].map((each) => document.querySelector(each).checkVisibility())`,
    )
    expect(shown).to.deep.equal([false, false, true])
  })

  it('shows the price of a list as it is typed, buys it as batches, and shows and saves a table', async () => {
    const page = await open(DESKTOP)
    const names = Array.from({ length: 28 }, (_, at) => `Unknown Name Number ${at} Ltd`)
    const lines = ['73848', '=1+1 TRADING', 'x', ...names]
    await fill(page, 'list')
    expect(await page.evaluate(`document.querySelector('#ask').checkValidity()`)).to.equal(false)
    await fill(page, 'list', { lines: lines.join('\n') })
    expect(await seen(page, '#total', /2/)).to.equal('0.06 USDC in 2 payments')
    expect(await seen(page, '#list-faults', /./)).to.contain('"x" is no valid query')
    expect(await service.transfersOf(() => pay(page).then(() => status(page, /^2 of 2 payments/)))).to.equal(2)
    const rows = `[...document.querySelectorAll('#answer tbody tr:not([hidden])')].map((row) => row.innerText.split('\\t'))`
    const shown = (await page.evaluate(rows)) as string[][]
    expect(shown).to.have.length(30)
    expect(shown.at(-1)).to.include.members(['73848', 'matched'])
    await page.evaluate(`(() => {
      const filter = document.querySelector('#answer input')
      filter.value = 'number 1'
      filter.dispatchEvent(new Event('input'))
    })()`)
    expect(await page.evaluate(`${rows}.length`)).to.equal(11)
    await click(page, '#answer th:nth-child(1) button')
    expect((await page.evaluate<string[][]>(rows))[2]?.[0]).to.equal('Unknown Name Number 11 Ltd')
    await page.evaluate(
      `URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.saved = text }); return '#' }`,
    )
    await click(page, '#answer > div > button')
    const csv = (await page.evaluate(
      'new Promise((resolve) => setTimeout(() => resolve(globalThis.saved), 300))',
    )) as string
    expect(csv)
      .to.match(/"asked","status","number","name","result"\r\n/)
      .and.contain(`"'=1+1 TRADING"`)
  })

  it('reads the names of a CSV file in any usual form', async () => {
    const page = await open(DESKTOP)
    await fill(page, 'list')
    const csv = 'Id;Supplier name\r\n1;"Smith; ""Sons"" Ltd"\r\n2;Caf\u00e9 Ltd\r\n'
    const bytes = [...Buffer.from(csv, 'latin1')]
    await page.evaluate(`(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([new Uint8Array(${JSON.stringify(bytes)})], 'list.csv'))
      const field = document.querySelector('[type=file]')
      field.files = transfer.files
      field.dispatchEvent(new Event('change'))
    })()`)
    expect(await seen(page, '#total', /0.004/)).to.equal('0.004 USDC in 1 payment')
    expect(await page.evaluate(`document.querySelector('[name=lines]').value`)).to.equal(
      'Smith; "Sons" Ltd\nCaf\u00e9 Ltd',
    )
  })
})
