/** Lists through the page in Chromium: bought once, opened again, deleted, and continued after a failure. */
import { expect } from 'chai'
import { SUPPLIERS, unknownNames, useListPage } from '../../support/list-page.ts'
import { Refusal, type Paused } from '../../support/page.ts'

const SYNTHETIC = '/?operation=lookup&company_number=00000000'

describe('a list in the page', () => {
  const used = useListPage()
  const { service, page, open, openBeside, pay, sold, seen, status, click, savedBy, holdRequests, addWallet } = used
  const { go, chosen, openList, choose, summary, buySuppliers } = used

  it('does not buy a row again while another tab buys its record', async () => {
    await open(SYNTHETIC)
    let isAsked = () => {}
    let sign = () => {}
    const asked = new Promise<void>((resolve) => (isAsked = resolve))
    await holdRequests((paused) => {
      if (!paused.url.includes('/signature') || paused.isAnswered) return void paused.continue()
      sign = () => void paused.continue()
      isAsked()
    })
    const other = await openBeside('/?operation=list')
    await other.page.fill('#lines', 'Number\n00000000\n12')
    await other.seen('#answer', /^[^]*2 rows: 2 to buy for 0.002 USDC\./)
    const paid = await service.transfersOf(async () => {
      await pay()
      await asked
      await other.pay()
      await other.status(/^Waiting for purchases of other tabs/)
      await other.click('#next button')
      await other.status(/^You did not wait/)
      await other.pay()
      sign()
      await sold()
      await other.seen('#answer', /1 to buy for 0.001 USDC, 1 paid before/)
    })
    expect(paid).to.equal(1)
  })

  it('shows columns, faults, price and signatures before it is bought, and keeps them after a reload', async () => {
    await openList()
    expect(await go()).to.equal(false)
    const names = Array.from({ length: 26 }, (_, at) => `Unknown Name Number ${at} Ltd\t`)
    const rows = ['Supplier\tCRO', '=1+1 Trading\t', '\t73,848', 'First Twin Ltd\t', 'x\t', ...names]
    await page.fill('#lines', rows.join('\n'))
    const shown = await seen('#answer', /signature/)
    expect(shown).to.contain('30 rows: 29 to buy for 0.057 USDC, 1 not read. The wallet asks for 3 signatures.')
    expect(shown).to.match(/Row 5: name must have 3 to \d+ characters\./)
    expect(await chosen()).to.deep.equal(['Row 1', 'Supplier', 'CRO', 'not read', 'not read'])
    expect(await go()).to.equal('Buy the list, 0.057 USDC')
    // With the keyboard, the select of the header keeps the focus.
    await page.focus('#answer select')
    await page.keyboard.press('ArrowUp')
    await seen('#answer', /31 rows/)
    await page.keyboard.press('ArrowDown')
    await seen('#answer', /30 rows/)
    await page.reload()
    await seen('#answer', /29 to buy/)
    expect(await service.transfersOf(() => pay().then(() => summary(/paid 0.057 USDC/)))).to.equal(3)
    const csv = await savedBy('#answer .actions button:last-of-type')
    expect(csv.split(/\r?\n/)[0]).to.match(/^\uFEFF?"?Supplier"?,"?CRO"?,decision/)
    expect(csv).to.contain('=1+1 Trading')
  })

  it('keeps its answers after a reload if no row has a record, and warns of numbers that are not read', async () => {
    await openList()
    await page.fill('#lines', 'Name\tNumber\nPlain Fixture Ltd\t73848\nFirst Twin Ltd\t335801')
    await seen('#answer', /The column Number is not read\. If it has company numbers, choose it\./)
    await page.fill('#lines', '00042\n999999')
    await seen('#answer', /2 rows: 2 to buy for 0.002 USDC/)
    expect(await service.transfersOf(() => pay().then(() => summary(/2 without a match, paid 0 USDC/)))).to.equal(0)
    await page.reload()
    await summary(/2 without a match, paid 0 USDC/)
    expect(await go()).to.equal(false)
  })

  it('is one purchase with the name of its file, which is opened again in a new tab with its columns and choices', async () => {
    await buySuppliers('suppliers of July.csv')
    await page.getByRole('button', { name: 'Decide 3 rows' }).press('Enter')
    await page.keyboard.press('2')
    await summary(/4 matched/)
    const other = await openBeside('/')
    await other.seen(
      '#bought',
      /^Company or query[^\n]*\nsuppliers of July.csv\s+0.01 USDC\s[^\n]*4 matched [^\n]*, 1 to decide, [^\n]*Delete\n+Receipt for the books/,
    )
    const paid = await service.transfersOf(async () => {
      await other.page.click('#bought a')
      await other.seen('.summary', /4 matched \(1 dissolved, 1 in liquidation\), 1 to decide, .*paid 0.01 USDC/)
      expect(await other.seen('#answer h1', /./)).to.equal('suppliers of July.csv')
      // Equal cells are the same list, whatever the file is called.
      await other.page.goto(`${service.url}/?operation=list`)
      await other.page.setInputFiles('#file', { name: 'x.csv', mimeType: 'text/csv', buffer: Buffer.from(SUPPLIERS) })
      await other.seen('.summary', /4 matched/)
      expect(await other.seen('#answer h1', /./)).to.equal('suppliers of July.csv')
      expect(await other.seen('.bought-list .quiet', /./)).to.match(/^7 rows\. Begun \d+ \w+ \d{4}, \d\d:\d\d/)
    })
    expect(paid).to.equal(0)
  })

  it('is one purchase also if the page is left while it is bought, and pays once', async () => {
    await openList()
    await choose('suppliers.csv', SUPPLIERS)
    await seen('#answer', /signature/)
    const paid = await service.transfersOf(async () => {
      let isSent = () => {}
      const sent = new Promise<void>((resolve) => (isSent = resolve))
      await holdRequests((paused) => (paused.isPaid ? isSent() : void paused.continue()))
      await pay()
      await sent
      const other = await openBeside('/')
      const bought = await other.seen('#bought', /suppliers/)
      expect(bought.split('\n')[1]).to.match(/^suppliers.csv\s+0 USDC\s.*begun\s+Delete$/)
      expect(bought).to.not.contain('7 rows')
      await page.close()
      await other.page.click('#bought a')
      await other.seen('.summary', /2 matched .*paid 0.01 USDC/)
    })
    expect(paid).to.equal(1)
  })

  it('has a receipt for the books with its payments', async () => {
    await buySuppliers()
    await page.getByRole('link', { name: 'Receipt for the books' }).click()
    const shown = await seen('#answer', /^Receipt, suppliers\.csv/)
    expect(shown).to.match(/Total\s+0\.01 USDC[^]*\s0\.01\s[^]*0x[0-9a-f]{64}/)
  })

  it('is deleted with its answers after a question', async () => {
    await buySuppliers()
    const url = page.url()
    await open()
    await seen('#bought', /suppliers/)
    page.once('dialog', (dialog) => void dialog.accept())
    await Promise.all([page.waitForEvent('load'), click('#bought button')])
    await seen('#bought', /bought nothing yet/)
    await page.goto(url)
    await status(/^This browser does not have this list/)
    expect(await go()).to.equal(false)
  })

  it('buys the list that is shown, although an earlier one is read later', async () => {
    await page.addInitScript(`const read = Blob.prototype.arrayBuffer
      Blob.prototype.arrayBuffer = async function () {
        if (this.name === 'slow.csv') await new Promise((resolve) => (globalThis.release = resolve))
        return read.call(this)
      }`)
    await openList()
    await choose('slow.csv', 'Name\nPlain Fixture Ltd\nFirst Twin Ltd\n')
    expect(await go()).to.equal('Reading the list')
    expect(await service.transfersOf(() => pay())).to.equal(0)
    await choose('list.csv', 'Number\n00000000\n')
    await seen('#answer', /1 row: 1 to buy for 0.001 USDC/)
    await page.evaluate('globalThis.release(); new Promise((resolve) => setTimeout(resolve, 500))')
    expect(await go()).to.equal('Buy the list, 0.001 USDC')
    // Another tab buys the row meanwhile.
    const other = await openBeside(SYNTHETIC)
    await other.pay()
    await other.sold()
    const paid = () => pay().then(() => seen('#answer', /1 row: 1 paid before\./))
    expect(await service.transfersOf(paid)).to.equal(0)
    expect(await go()).to.equal('Show 1 row')
    await pay()
    await summary(/^1 matched, paid 0.001 USDC$/)
  })

  it('stops after the first payment if a column has other numbers, and goes on so after a click', async () => {
    const rows = Array.from({ length: 30 }, (_, at) => `Foo ${at} Ltd,11`)
    await openList()
    await choose('wrong.csv', ['Supplier,CRO Number', ...rows].join('\n'))
    await seen('#answer', /30 to buy for at most 0.08 USDC[^]*Up to 10 rows whose number no company has/)
    expect(
      await service.transfersOf(() =>
        pay().then(() =>
          status(/^The column CRO Number has perhaps no company numbers, or the column Supplier no company names/),
        ),
      ),
    ).to.equal(1)
    await summary(/5 not bought, paid 0.05 USDC/)
    expect(await go()).to.match(/^Continue so, /)
    await page.getByRole('button', { name: 'Choose other columns' }).click()
    await seen('#answer', /Supplier[^]*CRO Number/)
    expect(await chosen()).to.include('CRO Number')
    await page.goBack()
    await summary(/5 not bought/)
    await seen('#go', /^Continue, /)
    await pay()
    await status(/^The column CRO Number/)
    await seen('#go', /^Continue so/)
    const paid = await service.transfersOf(() => pay().then(() => summary(/^30 to decide, paid 0.06 USDC/)))
    expect(paid).to.equal(1)
  })

  it('keeps what is paid if the wallet refuses, and waits with the rest for a click', async () => {
    let signatures = 0
    await addWallet({ eth_signTypedData_v4: () => ((signatures += 1) === 2 ? new Refusal(4001) : undefined) })
    await openList()
    await choose('two-payments.csv', unknownNames(26))
    await seen('#answer', /2 signatures/)
    expect(await service.transfersOf(() => pay('stub').then(() => summary(/1 not bought, paid 0.05 USDC/)))).to.equal(1)
    await status(/^You refused in the wallet. The rows that are paid are kept.$/)
    expect(await go()).to.equal('Continue, 0.002 USDC')
    expect(await service.transfersOf(() => pay('stub').then(() => summary(/paid 0.052 USDC/)))).to.equal(1)
    expect(await go()).to.equal(false)
  })

  describe('after a failure of the service', () => {
    const failing = JSON.stringify({ error: { code: 'payment_outcome_unknown', message: 'Unknown.' } })
    /** Waits of the page are short. */
    const HURRY = `const wait = setTimeout
      globalThis.setTimeout = (work, ms, ...rest) => wait(work, ms >= 1_000 ? ms / 50 : ms, ...rest)`

    /** The service answers no payment until `repair`. Returns how often payments were sent. */
    const breakService = async () => {
      const sent = { count: 0, isBroken: true }
      await holdRequests((paused: Paused) => {
        if (!paused.isPaid || !paused.isAnswered) return void paused.continue()
        sent.count += 1
        if (sent.isBroken) void paused.fulfill(503, { 'Content-Type': 'application/json' }, failing)
        else void paused.continue()
      })
      return sent
    }

    it('sends the stored payments again by itself, and shows what they bought', async () => {
      await page.addInitScript(HURRY)
      await openList()
      await choose('suppliers.csv', SUPPLIERS)
      await seen('#answer', /signature/)
      const sent = await breakService()
      const paid = await service.transfersOf(async () => {
        await pay()
        await status(
          /The stored payments are sent again by themselves when the service is back. Try 1 of 3. Nothing new is signed/,
        )
        expect(await summary(/without an answer yet/)).to.contain('6 without an answer yet')
        expect(await go()).to.equal(false)
        sent.isBroken = false
        await summary(/2 matched .*3 to decide/)
      })
      expect(paid).to.equal(1)
      await status(/^$/)
    })

    it('offers to ask by its name for a row whose number no company has', async () => {
      await page.addInitScript(HURRY)
      await openList()
      await choose('suppliers.csv', `${SUPPLIERS}\r\nThird Twin Ltd,335801,,Dan`)
      await seen('#answer', /signature/)
      const sent = await breakService()
      await pay()
      await status(/sent again by themselves/)
      sent.isBroken = false
      await summary(/2 matched .*1 not bought, paid 0.012 USDC/)
      expect(await seen('#go', /./)).to.equal('Continue, 0.002 USDC')
      await pay()
      await summary(/2 matched .*paid 0.014 USDC/)
      expect(await seen('#answer', /no company has the number 335801/)).to.not.contain('no company has this number')
      expect(await go()).to.equal(false)
    })

    it('asks for a click after three tries, and signs nothing before it', async () => {
      let signatures = 0
      await page.addInitScript(HURRY)
      await addWallet({ eth_signTypedData_v4: () => void (signatures += 1) })
      await openList()
      await choose('two-payments.csv', unknownNames(26))
      await seen('#answer', /2 signatures/)
      const sent = await breakService()
      await pay('stub')
      await status(/Try 3 of 3/)
      await seen('#go', /^Continue/)
      const before = signatures
      expect(await summary(/without an answer/)).to.match(/^26 without an answer yet, paid 0 USDC$/)
      sent.isBroken = false
      const paid = await service.transfersOf(() =>
        pay('stub').then(() => summary(/^26 without a match, paid 0.052 USDC/)),
      )
      // The chain has both transfers already: the service was asked, and its answers were lost.
      expect([paid, signatures]).to.deep.equal([0, before])
    })
  })
})
