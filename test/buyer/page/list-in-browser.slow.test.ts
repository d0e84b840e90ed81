/** Lists through the page in Chromium: bought, decided by keyboard, reopened, saved, and continued after a failure. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../../support/cli.ts'
import { Refusal, usePage, type Paused } from '../../support/page.ts'
import { numberedRows, registerRow, toCsv } from '../../support/register.ts'
import { addSheet, COVER, COVER_DATA, form, inline } from '../../support/xlsx-forms.ts'
import { startTestService } from '../../support/service.ts'

const SYNTHETIC = '/?operation=lookup&company_number=00000000'
const LIVE = { comp_dissolved_date: '' }
const twin = (company_num: string, company_name: string, eircode = '') =>
  registerRow({ ...LIVE, company_num, company_name, eircode, company_address_1: `${company_num} FIXTURE STREET` })
/** Names of two companies each. */
const MANY = 40
const manyName = (at: number) => `ROW ${at.toString(36).toUpperCase()} FIXTURE LIMITED`
const REGISTERED = [
  registerRow(),
  registerRow({ ...LIVE, company_num: '10', company_name: 'STOPPED FIXTURE LIMITED', company_status: 'Liquidation' }),
  twin('11', 'FIRST TWIN LIMITED'),
  twin('12', 'FIRST TWIN LIMITED'),
  twin('21', 'SECOND TWIN LIMITED', 'D02 X285'),
  twin('22', 'SECOND TWIN LIMITED', 'D02 X285'),
  ...Array.from({ length: MANY }, (_, at) =>
    numberedRows(2, 101 + 2 * at, { ...LIVE, company_name: manyName(at), eircode: '' }),
  ).flat(),
]
const SUPPLIERS = [
  'Supplier,CRO,Eircode,Owner',
  'Plain Fixture Ltd,,,Ann',
  'First Twin Ltd,,,Ben',
  'Second Twin Ltd,,D02 X285,Ann',
  'Stopped Fixture Ltd,10,,Ben',
  ',,,Ann',
  'Nothing Of The Kind,,,Ben',
  'First Twin Ltd,,,Cat',
].join('\r\n')

/** Whether the storage has a list with this summary. */
const isStored = (summary: string) => `new Promise((resolve) => {
  const request = indexedDB.open('irish-company-purchases')
  request.onsuccess = () => {
    const lists = request.result.transaction('lists').objectStore('lists').getAll()
    lists.onsuccess = () => resolve(lists.result.some((each) => each.summary === '${summary}'))
  }
})`

describe('a list in the page', () => {
  const used = usePage(() =>
    startTestService({
      prepare: (directory) => writeFile(join(directory, 'register.csv'), toCsv(...REGISTERED)),
      configure: (config) => ({ ...config, dataset: join(config.dataDirectory, 'register.csv') }),
    }),
  )
  const { service, page, open, openBeside, pay, sold, seen, status, click, savedBy, holdRequests, addWallet } = used

  const go = () =>
    page.evaluate(`document.querySelector('#go').checkVisibility() && document.querySelector('#go').innerText`)
  /** The header and the columns that will be read. */
  const chosen = () =>
    page.evaluate(`[...document.querySelectorAll('#answer select')].map((each) => each.selectedOptions[0].text)`)
  const openList = async () => {
    await open('/?operation=list')
    await page.waitForFunction('globalThis.document.querySelector("link[href*=lists]")')
  }
  const choose = (name: string, text: string | Buffer) =>
    page.setInputFiles('#file', { name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) })
  const summary = (pattern: RegExp) => seen('.summary', pattern)
  const focused = () => page.evaluate(`document.activeElement.ariaLabel ?? document.activeElement.innerText`)
  const heading = () => page.evaluate(`document.querySelector('.decide h2').innerText`)
  const buySuppliers = async (name = 'suppliers.csv') => {
    await openList()
    await choose(name, SUPPLIERS)
    await seen('#answer', /signature/)
    await pay()
    await summary(/matched/)
  }

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
    expect(csv.split(/\r?\n/)[0]).to.match(/^Supplier\tCRO\tdecision/)
    expect(csv).to.contain('=1+1 Trading')
  })

  it('is a table of rows with one line above it, which counts, filters and says what was paid', async () => {
    await buySuppliers()
    expect(await summary(/paid/)).to.equal(
      '2 matched (1 dissolved, 1 in liquidation), 3 to decide, 1 without a match, 1 not read, paid 0.01 USDC',
    )
    const cells = (await page.evaluate(`[...document.querySelectorAll('.list tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.innerText.replaceAll('\\u00a0', ' ')))`)) as string[][]
    const twins = 'another company has the same name'
    expect(cells).to.deep.equal([
      [
        '2',
        'Plain Fixture Ltd',
        'matched',
        '73848',
        'PLAIN FIXTURE LIMITED',
        '✕ Dissolved',
        'FIXTURETOWN',
        'equal name without its legal form',
      ],
      ['3', 'First Twin Ltd', 'to decide', '', '', '', '', twins],
      ['4', 'Second Twin Ltd, D02 X285', 'to decide', '', '', '', '', `the Eircode fits, and ${twins}`],
      [
        '5',
        'Stopped Fixture Ltd, 10',
        'matched',
        '10',
        'STOPPED FIXTURE LIMITED',
        '✕ Liquidation',
        'FIXTURETOWN',
        'equal number; equal name without its legal form',
      ],
      ['6', '', 'not read', '', '', '', '', 'no name and no number'],
      ['7', 'Nothing Of The Kind', 'no match', '', '', '', '', 'no company has this name'],
      ['8', 'First Twin Ltd', 'to decide', '', '', '', '', twins],
    ])
    const shown = () =>
      page.evaluate(`[...document.querySelectorAll('.list td:first-child')].map((cell) => cell.innerText).join()`)
    for (const [filter, rows] of [
      ['1 in liquidation', '5'],
      ['3 to decide', '3,4,8'],
      ['1 not read', '6'],
      ['1 not read', '2,3,4,5,6,7,8'],
    ] as const) {
      await page.getByRole('button', { name: filter, exact: true }).click()
      expect(await shown(), filter).to.equal(rows)
    }
    // The input is folded away, and nothing is for sale.
    expect(await go()).to.equal(false)
    expect(await page.evaluate(`document.querySelector('#lines').checkVisibility()`)).to.equal(false)
    await page.getByRole('link', { name: 'New list' }).click()
    await page.waitForURL(/operation=list$/)
    await page.fill('#lines', 'Foo Ltd')
    await seen('#answer', /1 row: 1 to buy/)
  })

  it('opens a record that is paid, and shows the list again, without asking for money', async () => {
    await buySuppliers()
    await page.getByRole('button', { name: '1 dissolved' }).click()
    const paid = await service.transfersOf(async () => {
      await page.getByRole('link', { name: 'PLAIN FIXTURE LIMITED' }).click()
      await seen('#answer', /All rows[^]*PLAIN FIXTURE LIMITED[^]*receipt valid/)
      expect(await go()).to.equal(false)
      await page.reload()
      await seen('#answer', /All rows[^]*PLAIN FIXTURE LIMITED[^]*receipt valid/)
      await page.getByRole('link', { name: '← All rows' }).click()
      await summary(/2 matched/)
    })
    expect(paid).to.equal(0)
  })

  it('decides rows one after the other by keyboard, marks what differs, and keeps the focus', async () => {
    await buySuppliers()
    await page.getByRole('button', { name: 'Decide 3 rows' }).press('Enter')
    expect(await heading()).to.equal('Row 3, 3 to decide')
    expect(await focused()).to.equal('Choose 11 FIRST TWIN LIMITED')
    const marked = () =>
      page.evaluate(`[...document.querySelectorAll('.candidates tr:last-child mark')].map((each) => each.innerText)`)
    expect(await marked()).to.deep.equal(['12 FIXTURE STREET, FIXTURETOWN, CORK, Ireland'])
    await page.keyboard.press('ArrowDown')
    expect(await focused()).to.equal('Choose 12 FIRST TWIN LIMITED')
    await page.keyboard.press('ArrowDown')
    expect(await focused()).to.equal('Choose 11 FIRST TWIN LIMITED')
    await page.keyboard.press('n')
    // A digit in a note chooses nothing.
    await page.keyboard.type('asked 2 people')
    await page.keyboard.press('Enter')
    expect(await heading()).to.equal('Row 3, 3 to decide')
    await page.keyboard.press('2')
    // The equal row is decided with it.
    expect(await heading()).to.equal('Row 4, 1 to decide')
    expect(await focused()).to.equal('Choose 21 SECOND TWIN LIMITED')
    expect(await seen('.decide [role=status]', /./)).to.equal('Row 3: chosen 12.')
    await page.keyboard.press('u')
    expect(await heading()).to.equal('Row 3, 3 to decide')
    await page.keyboard.press('2')
    await page.keyboard.press('0')
    expect(await seen('.decide h2', /./)).to.equal('All rows are decided')
    expect(await seen('.decide [role=status]', /./)).to.equal('Row 4: none of these.')
    expect(await summary(/./)).to.equal(
      '4 matched (1 dissolved, 1 in liquidation), 2 without a match, 1 not read, paid 0.01 USDC',
    )
    expect(await seen(`.list tr:nth-child(2)`, /./)).to.match(
      /chosen\s+12\s+FIRST TWIN LIMITED[^]*Note: asked 2 people/,
    )
    expect(await seen(`.list tr:nth-child(3)`, /./)).to.match(/none of these/)
    // A decision can be changed.
    await page.getByRole('button', { name: 'none of these' }).press('Enter')
    expect(await heading()).to.equal('Row 4: none of these')
    await page.keyboard.press('1')
    await summary(/^5 matched/)
  })

  it('keeps each of many decisions by keyboard, and the focus, the table and its other rows while they are made', async () => {
    await openList()
    await choose('many.csv', ['Supplier', ...Array.from({ length: MANY }, (_, at) => manyName(at))].join('\n'))
    await seen('#answer', /signature/)
    await pay()
    await summary(new RegExp(`^${MANY} to decide`))
    await page.evaluate(`globalThis.shown = [...document.querySelectorAll('.decide, .list, .list tr')]`)
    await page.getByRole('button', { name: `Decide ${MANY} rows` }).press('Enter')
    for (let at = 0; at < MANY; at += 1) {
      expect(await heading()).to.equal(`Row ${at + 2}, ${MANY - at} to decide`)
      expect(await focused()).to.equal(`Choose ${101 + 2 * at} ${manyName(at)}`)
      await page.keyboard.press(at % 4 === 0 ? '0' : at % 4 === 1 ? '2' : '1')
      // All rows but those that are decided are the elements of before.
      expect(
        await page.evaluate(`[shown.filter((each) => each.isConnected).length, shown.length,
          document.querySelectorAll('.list tr').length, document.querySelector('.decide').checkVisibility()]`),
      ).to.deep.equal([MANY + 3 - (at + 1), MANY + 3, MANY + 1, true])
    }
    const decided = `${(MANY * 3) / 4} matched, ${MANY / 4} without a match`
    await page.waitForFunction(isStored(decided))
    await page.reload()
    expect(await summary(/matched/)).to.equal(`${decided}, paid ${(MANY * 0.002).toFixed(2)} USDC`)
    const numbers = await page.evaluate(
      `[...document.querySelectorAll('.list td:nth-child(4)')].map((each) => each.innerText)`,
    )
    expect(numbers).to.deep.equal(
      Array.from({ length: MANY }, (_, at) => (at % 4 === 0 ? '' : String(101 + 2 * at + (at % 4 === 1 ? 1 : 0)))),
    )
  })

  it('is saved with every row of the file and the trail of each choice', async () => {
    await buySuppliers()
    await page.getByRole('button', { name: '1 not read' }).click()
    await page.getByRole('button', { name: 'Decide 3 rows' }).press('Enter')
    for (const key of ['n', 'x', 'Enter', '1', 'u', '2', '0']) await page.keyboard.press(key)
    const csv = await savedBy('#answer .actions button:last-of-type')
    const lines = csv.split(/\r?\n/).filter(Boolean)
    expect(lines[0]).to.match(/^\uFEFF?Supplier,CRO,Eircode,Owner,.*choices/)
    expect(lines.slice(1).map((line) => line.split(',').slice(0, 4).join())).to.deep.equal(
      SUPPLIERS.split('\r\n').slice(1),
    )
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d UTC`
    expect(lines[2]).to.match(new RegExp(`"${time} chosen 11: x; ${time} taken back; ${time} chosen 12: x"$`))
    expect(lines[3]).to.match(new RegExp(`"${time} none of these"$`))
    expect(lines[3])
      .to.contain('none')
      .and.not.match(/,21,SECOND|,22,SECOND[^"]*,matched/)
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

  it('reads a file in any usual form, and asks in doubt', async () => {
    const { default: writeSheet } = await import('write-excel-file/universal')
    const cells = [['List of July'], [], ['Id', 'Company'], ['1', 'Plain Fixture Ltd'], ['2', '73848']]
    const sheet = await writeSheet(cells.map((row) => row.map((value) => ({ value })))).toBlob()
    await openList()
    const text = 'Id;Supplier name\r\n1;"Smith; ""Sons"" Ltd"\r\n2;Caf\u00e9 Ltd\r\n'
    await choose('list.csv', Buffer.from(text.replace('\u00e9', '\u0082'), 'latin1'))
    await seen('#answer', /is perhaps not in Windows-1252/)
    await page.selectOption('#answer select', 'cp850')
    await seen('#answer', /Café Ltd/)
    await page.selectOption('#answer select', 'not known')
    await seen('#answer', /is perhaps not in Windows-1252/)
    await choose('names.csv', 'Gamma Sample Company\nAlpha Sample Ltd\nBeta Sample DAC\n')
    await seen('#answer', /Row 1 is perhaps a header: Gamma Sample Company/)
    expect(await go()).to.equal(false)
    await page.selectOption('#answer select', 'none')
    await seen('#answer', /3 rows/)
    await choose('names.csv', 'Gamma Sample Designated Activity Company\nAlpha Sample Ltd\n')
    await seen('#answer', /2 rows/)
    await choose('list.csv', Buffer.from(text, 'latin1'))
    await seen('#answer', /2 rows: 2 to buy for 0\.004 USDC[^]*Café Ltd/)
    await choose('list.xlsx', Buffer.from(await sheet.arrayBuffer()))
    await seen('#answer', /2 to buy for 0.003 USDC/)
    expect(await chosen()).to.deep.equal(['Row 3', 'Company', 'not read', 'not read', 'not read'])
    const rowOf = (at: number, name: string, hidden = '') => `<row r="${at}"${hidden}>${inline(`A${at}`, name)}</row>`
    const data = rowOf(1, 'Company') + rowOf(2, 'First Twin Ltd', ' hidden="1"') + rowOf(3, 'Plain Fixture Ltd')
    const covered = form({ ...COVER, data, change: (parts) => addSheet(parts, { data: COVER_DATA }) })
    await choose('covered.xlsx', Buffer.from(covered))
    const said = /The sheet List is read, of Cover, List\.\s+1 row is hidden in the sheet and not bought\./
    await seen('#answer', said)
    await seen('#answer', /1 to buy for 0\.002 USDC/)
    await page.selectOption('#answer label:has-text("Hidden rows") select', 'read')
    await seen('#answer', /2 to buy for 0\.004 USDC/)
    await page.selectOption('#answer label:has-text("Sheet") select', 'Cover')
    await seen('#answer', /Suppliers 2026/)
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

  const names = (count: number) => `Supplier\n${Array.from({ length: count }, (_, at) => `Foo ${at} Ltd\n`).join('')}`

  it('keeps what is paid if the wallet refuses, and waits with the rest for a click', async () => {
    let signatures = 0
    await addWallet({ eth_signTypedData_v4: () => ((signatures += 1) === 2 ? new Refusal(4001) : undefined) })
    await openList()
    await choose('two-payments.csv', names(26))
    await seen('#answer', /2 signatures/)
    expect(await service.transfersOf(() => pay('stub').then(() => summary(/1 not bought, paid 0.05 USDC/)))).to.equal(1)
    await status(/^You refused in the wallet. The rows that are paid are kept.$/)
    expect(await go()).to.equal('Continue, 0.002 USDC')
    expect(await service.transfersOf(() => pay('stub').then(() => summary(/paid 0.052 USDC/)))).to.equal(1)
    expect(await go()).to.equal(false)
  })

  it('has no price and no button above a thousand rows, but the whole command, which reads the same columns', async () => {
    const file = `it's $(1) long.csv`
    await openList()
    await choose(file, names(1_001))
    const shown = await seen('#answer', /at most 1,000 rows, and the list has 1,001/)
    expect(shown).to.not.match(/USDC/)
    expect(await page.evaluate(`document.querySelector('#ask').innerText`)).to.not.match(/USDC|Buy/)
    await choose('most.csv', names(1_000))
    await seen('#answer', /1,000 rows: 1,?000 to buy for 2 USDC/)
    await choose(file, names(1_001))
    await seen('#answer', /1,001/)
    const command = String(await page.evaluate(`document.querySelector('#answer pre').innerText`))
    expect(command).to.contain(`reconcile 'it'\\''s $(1) long.csv' --header-row 1 --column 1 --number-column none`)
    await writeFile(join(service.directory, file), names(1_001))
    const words = command
      .slice(command.indexOf(' reconcile ') + 1)
      .replace(/'.*csv'/, 'FILE')
      .split(' ')
    const args = words.map((word) => (word === 'FILE' ? join(service.directory, file) : word))
    const key = join(service.directory, 'buyer.key')
    await writeFile(key, service.buyerKey, { mode: 0o600 })
    const { code, stderr, text } = await runCommand(['client', ...args, '--key-file', key, '--dry-run'])
    expect([code, stderr, text].join()).to.match(/^0,,Columns: name = Supplier\.\n1001 rows, 1001 /)
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

    it('asks for a click after three tries, and signs nothing before it', async () => {
      let signatures = 0
      await page.addInitScript(HURRY)
      await addWallet({ eth_signTypedData_v4: () => void (signatures += 1) })
      await openList()
      await choose('two-payments.csv', names(26))
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
