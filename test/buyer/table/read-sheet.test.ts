/** Sheets of different programs, more than twenty of them, and sheets that are larger than they look. */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { build } from 'esbuild'
import { toText } from '../../../buyer/table/cell.ts'
import { parseTable, type Table } from '../../../buyer/table/read-table.ts'
import { form, FORM_ROWS, FORMS, SHARED, SHARED_DATA } from '../../support/xlsx-forms.ts'
import { buildZip } from '../../support/zip.ts'

type Parse = typeof parseTable

const withoutStrings = (parts: Record<string, string | Uint8Array>) =>
  Object.fromEntries(Object.entries(parts).filter(([path]) => path !== 'xl/sharedStrings.xml'))

describe('a sheet', () => {
  /** The reader as the page has it. */
  let parseInPage: Parse
  before(async () => {
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(import.meta.resolve('#root/dist/buyer/table/read-table.js'))],
      bundle: true,
      platform: 'browser',
      format: 'esm',
      write: false,
    })
    const [{ text } = expect.fail('no bundle')] = outputFiles
    expect(text).not.to.match(/["']node:/)
    const url = `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`
    ;({ parseTable: parseInPage } = (await import(url)) as { parseTable: Parse })
  })

  for (const [name, make] of Object.entries(FORMS))
    it(`is read, with ${name}`, async () => {
      // A date that is written as a text stays one.
      const shown = ({ rows }: Table) => rows.map((row) => row.map((cell) => toText(cell).replace('T00:00:00Z', '')))
      const wanted = FORM_ROWS.map((row) => row.map((cell) => toText(cell)))
      const bytes = await make()
      for (const parse of [parseTable, parseInPage])
        expect(shown(await parse(bytes, { name: 'x' }))).to.deep.equal(wanted)
    })

  for (const [name, cell, bytes] of [
    ['an index that is too high', 'A4', form({ data: SHARED_DATA.replace('<v>5</v>', '<v>6</v>'), shared: SHARED })],
    ['no index', 'A4', form({ data: SHARED_DATA.replace('<v>5</v>', '<v></v>'), shared: SHARED })],
    ['a negative index', 'A4', form({ data: SHARED_DATA.replace('<v>5</v>', '<v>-1</v>'), shared: SHARED })],
    ['no part of shared strings', 'A1', form({ data: SHARED_DATA, shared: SHARED, change: withoutStrings })],
    ['no relationship to the shared strings', 'A1', form({ data: SHARED_DATA })],
    [
      'an index behind many cells',
      'A4',
      form({
        data: SHARED_DATA.replace(
          '<row r="4">',
          `${Array.from({ length: 9_000 }, (_, at) => `<row r="${at + 9}"><c r="A${at + 9}" t="s"><v>${at % 6}</v></c></row>`).join('')}<row r="4">`,
        ).replace('r="A4" t="s"><v>5</v>', 'r="A4" t="s"><v>6</v>'),
        shared: SHARED,
      }),
    ],
  ] as const)
    it(`is refused with its cell, and not read without its texts: ${name}`, async () => {
      for (const parse of [parseTable, parseInPage])
        expect(await parse(bytes, { name: 'FILE' }).catch(({ message }: Error) => message)).to.equal(
          `FILE has no text for the cell ${cell} of xl/worksheets/sheet1.xml`,
        )
    })

  it('ends with one line if it is no sheet, has a far cell, or is large without compression', async () => {
    const far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    // A thirtieth is random, so that no part inflates to a hundred times its size.
    const rows = Array.from(
      { length: 1200 },
      () => `<row/><!--${randomBytes(1_000).toString('hex')}-->${' '.repeat(58_000)}`,
    )
    // `length` is what the archive states for the sheet.
    const stating = (length: number, data: string) => {
      const bytes = Buffer.from(form({ data }))
      bytes.writeUInt32LE(length, bytes.lastIndexOf('xl/worksheets/sheet1.xml') - 46 + 24)
      return bytes
    }
    const large = 'inflates to more than 64 MiB, or 100 times its size'
    for (const [bytes, fault] of [
      [form({ data: far }), 'FILE has a sheet with more than 5000000 cells'],
      [form({ data: rows.join('') }), `FILE ${large}`],
      [form({ workbook: '<!DOCTYPE x>' }), 'FILE is not an .xlsx file that can be read'],
      [form({ data: `<!--${'-'.repeat(2 * 1024 * 1024)}`, written: { sizes: 'wide' } }), `FILE ${large}`],
      [stating(1000, '<row/>'.repeat(1e6)), `FILE ${large}`],
      [stating(0, '<row/>'.repeat(1e6)), `FILE ${large}`],
      [buildZip({ name: 'a.txt', content: 'x' }), 'FILE is not an .xlsx file that can be read'],
      [Buffer.from('PK\u0003\u0004nothing'), 'FILE is not an .xlsx file that can be read'],
      [Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'FILE is an .xls file or has a password. Save it as .xlsx without one'],
    ] as const)
      expect(await parseTable(bytes, { name: 'FILE' }).catch(({ message }: Error) => message)).to.equal(fault)
  })
})
