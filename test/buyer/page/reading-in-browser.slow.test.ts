/** What a clerk and an analyst read in the page, in Chromium: records, results, receipts, wallets, and free advice. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { DAY_MS } from '../../../base/day.ts'
import { Refusal, usePage } from '../../support/page.ts'
import { numberedRows, registerRow, toCsv } from '../../support/register.ts'
import { startTestService } from '../../support/service.ts'

const LIVE = { comp_dissolved_date: '', nard: '2099-01-01', last_accounts_date: '2098-01-01', eircode: '' }
const REGISTERED = [
  registerRow(),
  registerRow({ ...LIVE, company_num: '11', company_name: 'SOUND MILLS LIMITED', eircode: 'D02 X285' }),
  registerRow({ ...LIVE, company_num: '12', company_name: 'LATE MILLS LIMITED', nard: '2020-01-01', nace_v2_code: '' }),
  registerRow({ ...LIVE, company_num: '21', company_name: 'TWIN QUARRY LIMITED' }),
  registerRow({ ...LIVE, company_num: '22', company_name: 'TWIN QUARRY LIMITED' }),
  registerRow({ ...LIVE, company_num: '14', company_name: 'ONE OF TWO LIMITED' }),
  registerRow({ ...LIVE, company_num: '14', company_name: 'OTHER OF TWO LIMITED' }),
  ...numberedRows(11, 101, { ...LIVE, company_name: 'ORCHARD GATE LIMITED', company_address_3: 'FIXTURETOWN' }),
]
const SYNTHETIC = '/?operation=lookup&company_number=00000000'

describe('a reader of the page', () => {
  const used = usePage(() =>
    startTestService({
      prepare: (directory) => writeFile(join(directory, 'register.csv'), toCsv(...REGISTERED)),
      configure: (config) => ({
        ...config,
        dataset: join(config.dataDirectory, 'register.csv'),
        operator: { name: 'Seller & Sons', url: 'https://operator.example' },
      }),
    }),
  )
  const { service, page, open, openBeside, ask, pay, sold, seen, status, click, fill, addWallet } = used
  const textOf = (selector: string) => page.evaluate(`document.querySelector('${selector}')?.innerText`)
  const bought = async (query: string, shown: RegExp) => {
    await open(`/?operation=${query}`)
    await pay()
    return sold(shown)
  }

  it('is told free that a query cannot find a company, and can ask anyway', async () => {
    await open()
    expect(
      await service.transfersOf(async () => {
        for (const [text, shown] of [
          ['limited', /^Thousands of names have these words/],
          ['D02 X285', /^This is an Eircode alone/],
          ['1234567', /^A company number has at most six digits/],
        ] as const) {
          await ask(text)
          await status(shown)
          expect(await textOf('#status')).to.match(/Nothing was charged.$/)
        }
      }),
    ).to.equal(0)
    await ask('limited')
    await seen('#next', /Ask anyway, 0.001 USDC/)
    expect(await service.transfersOf(() => click('#next button').then(() => sold(/“limited”/)))).to.equal(1)
  })

  it('sees a return that is overdue before all else, and no green beside it', async () => {
    const shown = await bought('lookup&company_number=12', /LATE MILLS/)
    expect(shown).to.match(
      /LATE MILLS LIMITED\s+!.Annual return overdue: it was due by 26.Feb.2020, \d+ days before this file/,
    )
    expect(shown)
      .to.match(/Eircode\s+not recorded/)
      .and.match(/NACE code\)\s+not recorded/)
    expect(await page.evaluate(`document.querySelectorAll('#answer .normal').length`)).to.equal(0)
    await bought('lookup&company_number=11', /✓.Normal/)
    expect(await page.evaluate(`document.querySelectorAll('#answer .normal').length`)).to.equal(1)
  })

  it('is told that ten results are the first ten, and how to find the others', async () => {
    await open()
    await ask('orchard gate')
    await sold(/The first 10 results for “orchard gate”[^]*There can be more/)
    await page.setViewportSize({ width: 360, height: 780 })
    const [lines, line] = (await page.evaluate(
      `[document.querySelector('#answer tbody tr').clientHeight, parseFloat(getComputedStyle(document.body).lineHeight)]`,
    )) as [number, number]
    expect(lines / line).to.be.below(4.5)
    await page.locator('#answer a', { hasText: 'status' }).first().click()
    await page.waitForURL(/operation=search&q=orchard/)
    expect(await page.inputValue('#search-q')).to.equal('orchard gate')
  })

  it('finds names with only a common word below a line, without their points', async () => {
    await open()
    await ask('sound mills')
    const shown = await sold(/SOUND MILLS/)
    expect(shown)
      .to.contain('1 result for')
      .and.contain('1 other name with a common word')
      .and.not.match(/\b\d{3} points|Score/)
    expect(await page.evaluate(`document.querySelector('#answer details table')?.textContent`)).to.contain('LATE MILLS')
  })

  it('checks an Eircode in the record, and reads a contradiction first', async () => {
    await bought('lookup&company_number=11', /SOUND MILLS/)
    await page.evaluate(`document.querySelector('.evidence').closest('details').open = true`)
    await click('.evidence button')
    expect(await page.evaluate(`document.querySelector('.evidence input:invalid').validationMessage`)).to.match(
      /^Type an/,
    )
    await page.fill('#evidence-eircode', 'D02 X299')
    await click('.evidence button')
    const shown = await sold(/contradict/)
    expect(shown).to.match(/The details contradict each other\s+SOUND MILLS LIMITED: .*Eircode is another one/)
    await bought('resolve&company_number=11&eircode=D02+X285', /✓ This is the company: .*equal Eircode/)
    const doubt = await bought('resolve&company_number=11&address=Elsewhere+Road', /SOUND MILLS/)
    expect(doubt)
      .to.match(/! The registered address does not have this text/)
      .and.not.contain('This is the company')
    const dissolved = await bought('resolve&name=Plain+Fixture+Ltd', /PLAIN/)
    expect(dissolved)
      .to.match(/! This is the company, but note: Dissolved since/)
      .and.not.contain('✓')
  })

  it('gets a stored answer with its day and without a price, and after a day can look again', async () => {
    await bought('lookup&company_number=00000000', /SYNTHETIC/)
    expect(await textOf('#go')).to.equal('Look up')
    expect(await textOf('#answer')).to.match(/^Bought \d+ \w+ \d{4}, \d\d:\d\d/)
    expect(await service.transfersOf(() => click('#go').then(() => sold()))).to.equal(0)
    await fill({ text: '11' })
    expect(await textOf('#go')).to.equal('Look up, 0.001 USDC')
    await page.clock.setFixedTime(Date.now() + DAY_MS + 60_000)
    await page.reload()
    await sold(/SYNTHETIC/)
    expect(await textOf('#go')).to.equal('Look again, 0.001 USDC')
  })

  it('hears the result in title, heading and live region, and the focus is at its heading', async () => {
    await open()
    expect(await page.title()).to.equal('Irish company records, paid per answer')
    await ask('00000000')
    await sold(/SYNTHETIC/)
    expect(await page.title()).to.equal('SYNTHETIC TEST COMPANY LIMITED – Irish company records')
    expect(
      await page.evaluate(`[document.activeElement.tagName, document.querySelector('#announced').textContent]`),
    ).to.deep.equal(['H1', 'SYNTHETIC TEST COMPANY LIMITED'])
  })

  it('prints service, day, receipt number and payment, and no button', async () => {
    await bought('lookup&company_number=00000000', /SYNTHETIC/)
    await page.emulateMedia({ media: 'print' })
    const printed = (await textOf('.printed')) as string
    expect(printed)
      .to.contain(service.url)
      .and.match(/Bought \d+ \w+ \d{4}, \d\d:\d\d/)
    expect(printed).to.match(
      /Receipt number (?:[0-9A-F]{4}-){3}[0-9A-F]{4}\. Paid 0\.001 USDC on .*, transaction 0x[0-9a-f]{64}/,
    )
    expect(
      await page.evaluate(`[...document.querySelectorAll('button')].filter((each) => each.checkVisibility()).length`),
    ).to.equal(0)
  })

  it('gets a receipt for the books of a day, and sees what another tab buys', async () => {
    await open()
    const other = await openBeside(SYNTHETIC)
    await other.pay()
    await other.sold()
    await seen('#bought', /SYNTHETIC TEST COMPANY LIMITED · 00000000 · Company by number/)
    await ask('11')
    await sold(/SOUND MILLS/)
    await open()
    await seen('#bought', /Receipt for the books/)
    await click('#bought .actions a')
    await page.waitForURL(/operation=receipt/)
    const shown = await sold(/^Receipt, /)
    expect(shown)
      .to.contain('Seller & Sons')
      .and.contain(service.payTo)
      .and.contain('0.002 USDC (1 USDC is worth 1 US dollar)')
    expect(shown).to.match(/SOUND MILLS LIMITED[^]*0\.001[^]*0x[0-9a-f]{64}[^]*[0-9A-F]{4}-[0-9A-F]{4}/)
  })

  it('is told what a wallet is if the browser has none, and how much is needed', async () => {
    await open(SYNTHETIC)
    await page.selectOption('#wallet', '')
    await click('#go')
    await status(/^This browser has no wallet. A wallet is .*MetaMask.*Rabby.* put 0.001 USDC into it.* Not charged/)
  })

  it('has the network added to a wallet that does not know it', async () => {
    let chain = '0x1'
    const calls = await addWallet({
      eth_chainId: () => chain,
      wallet_switchEthereumChain: () => new Refusal(4902),
      wallet_addEthereumChain: ([added]) => {
        const { chainId, chainName, rpcUrls } = added as Record<string, unknown>
        expect([chainId, chainName, rpcUrls]).to.deep.equal([
          '0x14a34',
          'Base Sepolia (test)',
          ['https://sepolia.base.org'],
        ])
        chain = '0x14a34'
      },
    })
    await open(SYNTHETIC)
    expect(await service.transfersOf(() => pay('stub').then(() => sold()))).to.equal(1)
    expect(calls).to.include('wallet_addEthereumChain')
  })

  it('reads of a day without a file which days are covered', async () => {
    await open('/?operation=as_of&company_number=11&date=2020-01-01')
    expect(
      await service.transfersOf(() =>
        pay().then(() => status(/^There is no file recorded for this day. Covered: \d+.\w+.\d{4}. Not charged/)),
      ),
    ).to.equal(0)
    await seen('#next', /History of this number/)
  })

  it('reads of a number with several records what to do', async () => {
    await open('/?operation=lookup&company_number=14')
    await pay()
    await status(
      /^The register's file has several different records with the number 14, so none is shown. .* Not charged/,
    )
    await seen('#next', /Search by name\s*History of this number/)
  })

  it('reads a number as people type it, and every other text as a name', async () => {
    await open()
    for (const typed of ['73848', '73,848', '  73848 ', 'CRO 73848']) {
      await fill({ text: typed })
      expect(await page.evaluate(`document.querySelector('#go').innerText`), typed).to.equal('Look up, 0.001 USDC')
    }
    await fill({ text: 'Plain Fixture' })
    expect(await page.evaluate(`document.querySelector('#go').innerText`)).to.equal('Search, 0.001 USDC')
    await pay()
    await sold(/for “Plain Fixture”/)
    await click('#answer td a')
    await sold(/← All results/)
    await page.goBack()
    await sold(/for “Plain Fixture”/)
    await page.goBack()
    expect(await page.evaluate(`document.querySelector('#box').value`)).to.equal('')
    // After two steps back at once, the page between them must not appear, nor its receipt.
    await page.evaluate(`addEventListener('popstate', () => history.back(), { once: true }); history.go(1)`)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await page.evaluate(`document.querySelector('#answer').innerText`)).to.equal('')
  })

  it('is offered no wallet of an announcement with an empty or reserved identifier', async () => {
    await open(SYNTHETIC)
    const options = () => page.evaluate(`[...document.querySelector('#wallet')].map(({ value, text }) => value + text)`)
    const before = await options()
    const announce = (uuid: string) =>
      page.evaluate(`dispatchEvent(new CustomEvent('eip6963:announceProvider', {
        detail: { info: { uuid: '${uuid}', name: 'Wallet' }, provider: {} },
      }))`)
    for (const uuid of ['', 'sandbox']) await announce(uuid)
    expect(await options()).to.deep.equal(before)
    await announce('other')
    expect(await options()).to.deep.include('otherWallet')
  })

  it('sees the name of a wallet and the query of a URL without marks that change the direction of text', async () => {
    await open('/api/v1/search?q=abc%E2%80%AEdef&limit=3')
    expect(await page.evaluate(`document.querySelector('[name=q]').value`)).to.equal('abcdef')
    await page.evaluate(`dispatchEvent(new CustomEvent('eip6963:announceProvider', {
      detail: { info: { uuid: 'marked', name: 'A\\u202E B' }, provider: {} },
    }))`)
    expect(await page.evaluate(`document.querySelector('#wallet [value=marked]').text`)).to.equal('A B')
  })

  it('is told that no company is certain, and between which to decide, or that none has the name', async () => {
    await bought('resolve&name=Twin+Quarry+Ltd', /No company is certain[^]*\b21\b[^]*TWIN QUARRY[^]*\b22\b/)
    await bought('resolve&name=Nothing+Of+The+Kind', /No company of the register/)
  })
})

describe('a reader of the page of a sandbox', () => {
  const { service, page, open, pay, sold, seen } = usePage(() =>
    startTestService({ configure: (config) => ({ ...config, dataset: undefined }) }),
  )
  const bought = async (query: string, shown: RegExp) => {
    await open(`/?operation=${query}`)
    await pay()
    return sold(shown)
  }

  it('is told that its companies are made up', async () => {
    await open()
    await seen('#intro', /The companies here are made up/)
  })

  it('sees the name of a removed company above its history, old and new values, and a way back', async () => {
    const removed = await bought('history&company_number=100035', /PI SAMPLE FAREWELL LIMITED, history/)
    expect(removed)
      .to.match(/not in the register/)
      .and.match(/Files of the register are recorded since/)
    expect(removed).to.not.match(/\babsent\b|\bpresent\b/)
    await bought(
      'history&company_number=100001',
      /name: ALPHA SAMPLE ENTERPRISES LIMITED → ALPHA SAMPLE TRADING LIMITED/,
    )
    await page.locator('#answer a', { hasText: 'record' }).first().click()
    await page.waitForURL(/operation=lookup&company_number=100001/)
    const since = new Date(Date.now() - 10 * DAY_MS).toISOString().slice(0, 10)
    await bought(
      `changes&since=${since}&company_numbers=100001`,
      /ALPHA SAMPLE TRADING LIMITED, changes[^]*ENTERPRISES LIMITED →/,
    )
    await seen('#answer', /← The record/)
    expect(page.url()).to.contain(service.url)
  })
})
