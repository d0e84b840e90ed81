/** Cells that stand for nothing: errors of a spreadsheet, and texts of databases and people. */
import { expect } from 'chai'
import { lookup } from '../../../agent/operation/lookup.ts'
import { parseOperation } from '../../../agent/operation/operation.ts'
import { readList } from '../../../buyer/lists/list.ts'
import { parseTable } from '../../../buyer/table/read-table.ts'
import { readTypedInput } from '../../../buyer/typed-input.ts'
import { form } from '../../support/xlsx-forms.ts'

const HEADER = ['name', 'company_number', 'eircode', 'address'] as const
const NAME = 'Alpha Sample Trading Ltd'
const ERRORS = ['#N/A', '#REF!', '#VALUE!', '#DIV/0!', '#NAME?', '#NULL!', '#NUM!', '#SPILL!', '#GETTING_DATA']

/** A sheet in which `<c t="e">` has each error. */
function encodeSheet(rows: readonly (readonly string[])[]): Uint8Array {
  const toCell = (text: string) =>
    ERRORS.includes(text) ? `<c t="e"><v>${text}</v></c>` : `<c t="inlineStr"><is><t>${text}</t></is></c>`
  return form({ data: rows.map((row) => `<row>${row.map(toCell).join('')}</row>`).join('') })
}

const encodeCsv = (rows: readonly (readonly string[])[]) => Buffer.from(rows.map((row) => row.join('\t')).join('\n'))

describe('[15.11] a cell that stands for nothing', () => {
  const read = async (bytes: Uint8Array) => {
    const table = await parseTable(bytes, { name: 'x', separator: '\t' })
    const columns = Object.fromEntries(HEADER.map((name) => [name, name]))
    return readList(table, { columns, headerRow: 1 }).rows
  }
  for (const [end, encode, texts] of [
    ['.xlsx', encodeSheet, ERRORS],
    ['CSV', encodeCsv, [...ERRORS, 'NULL', 'null', 'n/a', 'N/A', '-', ' - ', '–']],
  ] as const)
    for (const text of texts)
      it(`is absent: ${JSON.stringify(text)} in ${end}`, async () => {
        const rows = await read(
          encode([
            HEADER,
            [text, '', 'D02 X285', '1 SAMPLE STREET'],
            ['', text],
            [text, '100001'],
            [NAME, text, text, text],
          ]),
        )
        const shown = text.trim()
        expect(rows.map(({ kind, operation, notes }) => [kind, operation?.input, notes])).to.deep.equal([
          ['empty', undefined, [`name not read: ${shown}`]],
          ['empty', undefined, [`company_number not read: ${shown}`]],
          ['valid', { company_number: '100001' }, [`name not read: ${shown}`]],
          ['valid', { name: NAME }, HEADER.slice(1).map((field) => `${field} not read: ${shown}`)],
        ])
      })

  it('is another cell than a name that has such a text in it', async () => {
    const names = ['Null Sample Ltd', 'N/A Sample', 'A-B', '#Sample']
    const rows = await read(encodeCsv([HEADER, ...names.map((name) => [name])]))
    expect(rows.map(({ operation }) => operation?.input)).to.deep.equal(names.map((name) => ({ name })))
  })
})

describe('[15.11] a number with a sign', () => {
  const read = async (rows: readonly (readonly string[])[]) => {
    const table = await parseTable(encodeCsv([HEADER, ...rows]), { name: 'x', separator: '\t' })
    return readList(table, { columns: { name: 'name', company_number: 'company_number' }, headerRow: 1 }).rows
  }

  for (const text of ['-100001', '\u2212100001', '–100001', '-CRO 100001', "'-100001", '(-100001)'])
    it(`is not read, as in a lookup: ${text}`, async () => {
      const rows = await read([
        ['', text],
        [NAME, text],
        [text, ''],
        ['', '100002'],
      ])
      expect(rows.map(({ kind, operation, notes }) => [kind, operation?.input, notes])).to.deep.equal([
        ['empty', undefined, [`company_number not read: ${text}`]],
        ['valid', { name: NAME }, [`company_number not read: ${text}`]],
        ['empty', undefined, [`name not read: ${text}`]],
        ['valid', { company_number: '100002' }, []],
      ])
      expect(parseOperation(lookup, readTypedInput({ company_number: text })).kind).to.equal('invalid')
    })

  it('is another cell than one of a list in which most lines begin with a mark', async () => {
    const rows = await read(['- 100001', '- 100002', '100003'].map((text) => ['', text]))
    expect(rows.map(({ operation }) => operation?.input)).to.deep.equal(
      ['100001', '100002', '100003'].map((company_number) => ({ company_number })),
    )
  })
})
