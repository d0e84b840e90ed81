/**
 * How the page looks in each of its states in Chromium: the rules of axe, sizes, whole words, keyboard and print.
 * SCREENSHOTS=FOLDER also writes a picture of each state and width.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { usePage, type Paused } from '../../support/page.ts'
import { startTestService } from '../../support/service.ts'

const WIDTHS = [320, 360, 820, 1440]
const SCREENSHOTS = process.env['SCREENSHOTS']

/** With the rules of axe, of which the colours depend on the scheme. */
const axeRun = (options: string) =>
  `axe.run(document, ${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`
/** Words that are on two lines. Code, JSON, URLs and paths may be. */
const BROKEN_WORDS = `(() => {
  const range = document.createRange()
  const broken = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const node = texts.currentNode
    if (node.parentElement.closest('code, pre, template, option, textarea') || /[/]\\w/.test(node.data)) continue
    for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      const lines = [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top))
      if (new Set(lines).size > 1) broken.push(word)
    }
  }
  return broken
})()`

/** Words of protocols and programs, which no view of a purchase has. */
const TECHNICAL =
  /eip155|(?<![\w.])402(?![\w.])|status 200|as published|current snapshot|company resolution|check with evidence|\b(?:present|absent|quarantined)\b|not sold|certain from|\b1 rows\b|different ones|\b0 open\b|invalid body|ASCII|normalisation|\bundefined\b|_/i
/** What is shown, without code and the names that a person typed. */
const SHOWN_TEXT = `(() => {
  const hidden = [...document.querySelectorAll('pre, code, textarea, .guide')]
  for (const each of hidden) each.hidden = true
  const text = document.body.innerText
  for (const each of hidden) each.hidden = false
  return text
})()`

describe('the page in a browser', () => {
  const { service, page, open, ask, pay, sold, seen, status, fill, holdRequests, addWallet } = usePage(() =>
    startTestService(),
  )
  let axe: string

  before(async () => {
    axe = await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
    if (SCREENSHOTS !== undefined) await mkdir(SCREENSHOTS, { recursive: true })
  })

  const openAll = () => page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
  const asked = (text: string, wallet?: 'stub') => open().then(() => ask(text, wallet))
  const buyNumber = () => asked('00000000')
  const bought = async (query: string, shown: RegExp) => {
    await open(`/?operation=${query}`)
    await pay()
    await sold(shown)
  }
  const openList = async () => {
    await open('/?operation=list')
    await seen('#intro', /list/)
    await page.waitForFunction('globalThis.document.querySelector("link[href*=lists]")')
  }
  const typeList = async (more = '') => {
    await openList()
    await page.fill('#lines', `Supplier\tCRO\nPlain Fixture Ltd\t\n\t00000000\nx\t\nNothing Of The Kind\t${more}`)
    await seen('#answer', /signature/)
  }
  const decide = async () => {
    await typeList('\nTwin Fixture Ltd\t')
    await pay()
    await seen('.summary', /1 to decide/)
    await page.getByRole('button', { name: 'Decide 1 row' }).click()
  }
  const withoutWallet = async (method: string, shown: RegExp) => {
    await addWallet({ [method]: () => new Promise(() => undefined) })
    await asked('00000000', 'stub')
    await status(shown)
  }
  const refused = async (answered: number, code: string, seconds: string, shown: RegExp) => {
    const body = JSON.stringify({ error: { code, message: 'No.' } })
    const refuse = ({ fulfill }: Paused) => fulfill(answered, { 'Retry-After': seconds }, body)
    await holdRequests((paused) => void (paused.isPaid ? refuse(paused) : paused.continue()))
    await buyNumber()
    await status(shown)
  }

  /** Brings the page into a state. */
  const STATES: Record<string, () => Promise<unknown>> = {
    home: () => open(),
    'a record': () => buyNumber().then(() => sold(/SYNTHETIC/)),
    'a record with its details': async () => {
      await buyNumber()
      await seen('.payment', /receipt valid/)
      await openAll()
    },
    results: () => asked('fixture').then(() => sold(/\d results for [^]*NUMBERED FIXTURE 2/)),
    'no results': () => asked('zzqqxx').then(() => sold(/No company/)),
    'the fields of a resolution': () => open('/?operation=resolve&name=Plain+Fixture').then(openAll),
    'a resolution': () => bought('resolve&name=Plain+Fixture', /company/),
    'a history': () => bought('history&company_number=00000000', /today/),
    changes: () => bought('changes&since=2026-01-01', /No change is recorded/),
    'asking the wallet': () => withoutWallet('eth_requestAccounts', /^Asking/),
    signing: () => withoutWallet('eth_signTypedData_v4', /^Sign/),
    'waiting for the chain': async () => {
      await holdRequests((paused) => void (paused.isPaid || paused.continue()))
      await buyNumber()
      await status(/Waiting/)
    },
    'repeating after a fault': () => refused(503, 'payment_outcome_unknown', '60', /again at/),
    'not sold': () => asked('999').then(() => status(/Not charged/)),
    'refused by the service': () => refused(402, 'payment_rejected', '1', /Not charged/),
    unknown: () => refused(503, 'payment_outcome_unknown', '1', /Not known/),
    purchases: async () => {
      await buyNumber()
      await sold()
      await open()
      await seen('#bought', /Paid/)
    },
    'a list': () => typeList(),
    'a bought list': () =>
      typeList()
        .then(() => pay())
        .then(() => seen('.summary', /matched/)),
    'the receipt of a list': async () => {
      await typeList()
      await pay()
      await page.getByRole('link', { name: 'Receipt for the books' }).click()
      await seen('#answer', /Receipt, [^]*Total/)
    },
    'a decision of a list': decide,
    'a decided list': () => decide().then(() => page.keyboard.press('0')),
    'a list that is too long': async () => {
      await openList()
      await page.fill('#lines', `Supplier\n${'Foo Ltd\n'.repeat(1_001)}`)
      await seen('#answer', /1,001/)
    },
    'a quote': () => open('/api/v1/search?q=sample%20trading'),
    'an unknown path': () => open('/nothing'),
    'the guide': () => open('/docs'),
    'the guide to MCP': () => open('/docs/mcp'),
  }

  for (const [state, bring] of Object.entries(STATES)) {
    it(`${state}: keeps the rules of axe, fits 320 to 1440 pixels with whole words, and logs no error`, async () => {
      await bring()
      await page.evaluate(axe)
      for (const [at, width] of WIDTHS.entries()) {
        const colorScheme = at % 2 === 0 ? 'dark' : 'light'
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 780 })
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${width}`).to.equal(width)
        expect(await page.evaluate(BROKEN_WORDS), `${width}`).to.deep.equal([])
        if (at === 0) expect(await page.evaluate(axeRun(`{ runOnly: ['color-contrast'] }`))).to.deep.equal([])
        const path = join(SCREENSHOTS ?? '', `${state}-${width}-${colorScheme}.png`)
        if (SCREENSHOTS !== undefined) await page.screenshot({ path, fullPage: true })
        if (at === 1) expect(await page.evaluate(axeRun('{}'))).to.deep.equal([])
      }
      if (!state.includes('guide')) expect(await page.evaluate(SHOWN_TEXT)).to.not.match(TECHNICAL)
      // Chromium logs every response that is not 2xx.
      expect(page.errors.filter((text) => !/status of (?:402|404|503) \(/.test(text))).to.deep.equal([])
      const origins = page.requests.filter((url) => !/^(data|blob):/.test(url)).map((url) => new URL(url).origin)
      expect([...new Set(origins)]).to.deep.equal([service.url])
    })
  }

  it('is bought from, and opened, with the keyboard alone', async () => {
    await open()
    const tabTo = async (selector: string) => {
      let tabs = 0
      while ((await page.evaluate(`document.activeElement.matches('${selector}')`)) !== true) {
        expect((tabs += 1), selector).to.be.below(30)
        await page.keyboard.press('Tab')
      }
    }
    await tabTo('#box')
    await page.keyboard.type('00000000')
    await tabTo('#go')
    await page.keyboard.press('Enter')
    await sold()
    await tabTo('.payment summary')
    await page.keyboard.press('Enter')
    await seen('.payment', /✓ signature/)
  })

  it('prints one record on one page, without controls', async () => {
    await buyNumber()
    await sold()
    const pages = String(await page.pdf({ format: 'A4' })).match(/\/Type\s*\/Page\b(?!s)/g)
    expect(pages).to.have.length(1)
    await page.emulateMedia({ media: 'print' })
    const shown = ['form', 'header', '.tools', '.payment', '#answer dl'].map((each) =>
      page.evaluate(`document.querySelector('${each}').checkVisibility()`),
    )
    expect(await Promise.all(shown)).to.deep.equal([false, false, false, false, true])
  })

  it('keeps text that is typed before the script has loaded', async () => {
    let arrive = () => {}
    const arrived = new Promise<void>((resolve) => (arrive = resolve))
    await page.route('**/main-*.js', (route) => arrived.then(() => route.continue()))
    await page.goto(service.url, { waitUntil: 'commit' })
    await page.type('#box', '00000000\n')
    arrive()
    await seen('#go', /^Look up/)
  })

  it('says where it can be used if it is opened at another address', async () => {
    await page.goto(service.url.replace('127.0.0.1', 'localhost'))
    await status(/^Open http:\/\/127\.0\.0\.1:\d+ to buy/)
    await fill({ text: '00000000' })
  })
})
