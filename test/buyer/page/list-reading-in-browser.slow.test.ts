/** How a list reads in Chromium: its rows, decisions by keyboard, the saved file, and the files that are read. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../../support/cli.ts'
import { SUPPLIERS, unknownNames, useListPage } from '../../support/list-page.ts'
import { numberedRows } from '../../support/register.ts'
import { addSheet, COVER, COVER_DATA, form, inline } from '../../support/xlsx-forms.ts'

/** Names of two companies each. */
const MANY = 40
const manyName = (at: number) => `ROW ${at.toString(36).toUpperCase()} FIXTURE LIMITED`
const OF_MANY = Array.from({ length: MANY }, (_, at) =>
  numberedRows(2, 101 + 2 * at, { comp_dissolved_date: '', company_name: manyName(at), eircode: '' }),
).flat()

/** Whether the storage has a list with this summary. */
const isStored = (summary: string) => `new Promise((resolve) => {
  const request = indexedDB.open('irish-company-purchases')
  request.onsuccess = () => {
    const lists = request.result.transaction('lists').objectStore('lists').getAll()
    lists.onsuccess = () => resolve(lists.result.some((each) => each.summary === '${summary}'))
  }
})`

describe('a reader of a list in the page', () => {
  const used = useListPage(OF_MANY)
  const { service, page, pay, seen, savedBy, go, chosen, openList, choose, summary, buySuppliers } = used
  const focused = () => page.evaluate(`document.activeElement.ariaLabel ?? document.activeElement.innerText`)
  const heading = () => page.evaluate(`document.querySelector('.decide h2').innerText`)

  it('shows its rows in a table, below a line of counts, filters and the sum paid', async () => {
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

  it('has no price and no button above a thousand rows, but the whole command, which reads the same columns', async () => {
    const file = `it's $(1) long.csv`
    await openList()
    await choose(file, unknownNames(1_001))
    const shown = await seen('#answer', /at most 1,000 rows, and the list has 1,001/)
    expect(shown).to.not.match(/USDC/)
    expect(await page.evaluate(`document.querySelector('#ask').innerText`)).to.not.match(/USDC|Buy/)
    await choose('most.csv', unknownNames(1_000))
    await seen('#answer', /1,000 rows: 1,?000 to buy for 2 USDC/)
    await choose(file, unknownNames(1_001))
    await seen('#answer', /1,001/)
    const command = String(await page.evaluate(`document.querySelector('#answer pre').innerText`))
    expect(command).to.contain(`reconcile 'it'\\''s $(1) long.csv' --header-row 1 --column 1 --number-column none`)
    await writeFile(join(service.directory, file), unknownNames(1_001))
    const words = command
      .slice(command.indexOf(' reconcile ') + 1)
      .replace(/'.*csv'/, 'FILE')
      .split(' ')
    const args = words.map((word) => (word === 'FILE' ? join(service.directory, file) : word))
    const key = join(service.directory, 'buyer.key')
    await writeFile(key, service.buyerKey, { mode: 0o600 })
    const { code, stderr, text } = await runCommand(['client', ...args, '--key-file', key, '--dry-run'])
    expect([code, stderr, text].join()).to.match(/^0,,Columns: name = Supplier\.\n1001 rows: 1001 /)
  })
})
