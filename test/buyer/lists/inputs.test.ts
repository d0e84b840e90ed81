/** What lists of many forms ask for, read as the command and the page read them, and what their outputs keep. */
import { expect } from 'chai'
import { proposeHeader } from '../../../buyer/lists/header.ts'
import { readList, type List } from '../../../buyer/lists/list.ts'
import { proposeColumns } from '../../../buyer/lists/propose-columns.ts'
import { toText } from '../../../buyer/table/cell.ts'
import { parseTable, type ReadOptions, type Table } from '../../../buyer/table/read-table.ts'
import { encodeTable } from '../../../buyer/table/write-table.ts'
import { addSheet, COVER, COVER_DATA, form, inline } from '../../support/xlsx-forms.ts'

type Bytes = Uint8Array | string

async function read(bytes: Bytes, options: Partial<ReadOptions> = {}): Promise<{ table: Table; list: List }> {
  const table = await parseTable(Buffer.from(bytes), { name: 'FILE', ...options })
  const { row: headerRow } = proposeHeader(table.rows)
  const columns = proposeColumns(table.rows, headerRow)
  return { table, list: readList(table, { columns, headerRow }) }
}

/** For each row what it asks for, or its notes. */
const asked = ({ rows }: List): string[] =>
  rows.map(({ operation, notes }) => (operation ? Object.values(operation.input).filter(Boolean) : notes).join('; '))

const sheet = (...rows: string[][]) =>
  rows
    .map(
      (cells, at) =>
        `<row r="${at + 1}">${cells.map((cell, column) => cellOf(cell, 'ABCDE'[column]! + (at + 1))).join('')}</row>`,
    )
    .join('')
/** A text, or the element of a cell without its reference. */
const cellOf = (cell: string, reference: string) =>
  cell.startsWith('<c') ? cell.replace('<c', `<c r="${reference}"`) : inline(reference, cell)
const number = (value: number, style = 0) => `<c s="${style}"><v>${value}</v></c>`
const error = (text: string) => `<c t="e"><v>${text}</v></c>`
const HEAD = ['Company', 'CRO Number', 'Eircode']
const ALPHA = 'Alpha Sample Trading Ltd'
const BETA = 'Beta Sample Holdings Ltd'

const ASKED: Record<string, { bytes: Bytes; options?: Partial<ReadOptions>; rows: string[] }> = {
  'errors of a spreadsheet': {
    bytes: form({
      data: sheet(
        HEAD,
        [error('#N/A'), error('#REF!'), error('#VALUE!')],
        [error('#NAME?'), number(100_001)],
        [ALPHA, error('#DIV/0!'), error('#NULL!')],
        [BETA, number(100_002), 'T07 X2H5'],
      ),
    }),
    rows: [
      'name not read: #N/A; company_number not read: #REF!; eircode not read: #VALUE!',
      '100001',
      ALPHA,
      `${BETA}; 100002; T07X2H5`,
    ],
  },
  'what databases write for nothing': {
    bytes: `Company,CRO Number,Eircode\nNULL,n/a,-\n${ALPHA},NULL,N/A\n-,100001,\n${BETA},100002,T07 X2H5\n`,
    rows: [
      'name not read: NULL; company_number not read: n/a; eircode not read: -',
      ALPHA,
      '100001',
      `${BETA}; 100002; T07X2H5`,
    ],
  },
  'backslashes before quotes': {
    bytes: 'Company,Town\n"THE \\"BEST, FIRST\\" CO LTD","Dublin"\n"C\\\\D, LTD","He said ""x"""\n',
    rows: ['THE "BEST, FIRST" CO LTD', 'C\\D, LTD'],
  },
  'a value that ends with a backslash': {
    bytes: `Company,Folder\n"${ALPHA}","C:\\"\n"${BETA}","D:\\"\n`,
    rows: [ALPHA, BETA],
  },
  'CR CR LF and a last 0x1A': { bytes: `Company\r\r\n${ALPHA}\r\r\n${BETA}\r\r\n\u001A`, rows: [ALPHA, BETA] },
  'a cover before the list': {
    bytes: form({
      ...COVER,
      data: sheet(['Company'], [ALPHA]),
      change: (parts) => addSheet(parts, { data: COVER_DATA }),
    }),
    rows: [ALPHA],
  },
  'two lists': {
    bytes: form({
      sheets: '<sheet name="List" sheetId="1" r:id="rId1"/><sheet name="Other" sheetId="2" r:id="rId9"/>',
      data: sheet(['Company'], [ALPHA]),
      change: (parts) => addSheet(parts, { data: sheet(['Company'], [BETA], [ALPHA]) }),
    }),
    rows: [ALPHA],
  },
  'a sheet that is named': {
    bytes: form({
      sheets:
        '<sheet name="List" sheetId="1" r:id="rId1"/><sheet name="R &amp; D" sheetId="2" r:id="rId9" state="hidden"/>',
      data: sheet(['Company'], [ALPHA]),
      change: (parts) => addSheet(parts, { data: sheet(['Company'], [BETA]) }),
    }),
    options: { sheet: ' r & d' },
    rows: [BETA],
  },
  'rows that a filter hides': {
    bytes: form({ data: sheet(['Company'], [ALPHA], [BETA], ['']).replace('<row r="2">', '<row r="2" hidden="1">') }),
    rows: ['hidden in the sheet', BETA],
  },
  'hidden rows that are asked for': {
    bytes: form({ data: sheet(['Company'], [ALPHA], [BETA]).replace('<row r="2">', '<row r="2" hidden="true">') }),
    options: { hasHiddenRows: true },
    rows: [ALPHA, BETA],
  },
}

/** 2023-03-15 14:30, 2023-03-15, 06:00, 30:15, 14:30:05, and a number, by their styles. */
const STYLES =
  '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[h]:mm"/><numFmt numFmtId="171" formatCode="hh:mm:ss\\ AM/PM"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="20"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="44"/></cellXfs></styleSheet>'
const DAY = 45_000 // 2023-03-15
const OWN: [cell: string, csv: string, json: unknown][] = [
  [number(DAY + 14.5 / 24, 2), '2023-03-15 14:30', '2023-03-15 14:30'],
  [number(DAY, 2), '2023-03-15', '2023-03-15'],
  [number(DAY + 0.25, 1), '2023-03-15 06:00', '2023-03-15 06:00'],
  [number(0.25, 3), '06:00', '06:00'],
  [number(0.25, 2), '06:00', '06:00'],
  [number(0, 3), '00:00', '00:00'],
  [number(30.25 / 24, 4), '30:15', '30:15'],
  [number(54.5 / 24, 4), '54:30', '54:30'],
  [number(52_205 / 86_400, 5), '14:30:05', '14:30:05'],
  [number(31, 1), '1900-01-31', '1900-01-31'],
  [number(61, 1), '1900-03-01', '1900-03-01'],
  [number(-12.5), '-12.5', -12.5],
  [number(-12.5, 6), '-12.5', -12.5],
  [number(1e21), '1e+21', 1e21],
  ['-12.5', "'-12.5", '-12.5'],
  ['<c t="b"><v>1</v></c>', 'true', true],
  ['<c t="d"><v>2023-03-15T14:30:00</v></c>', '2023-03-15 14:30', '2023-03-15 14:30'],
]

describe('[15.14] what a list asks for', () => {
  for (const [name, { bytes, options, rows }] of Object.entries(ASKED))
    it(`is right with ${name}`, async () => {
      const { list } = await read(bytes, options)
      expect(asked(list)).to.deep.equal(rows)
    })

  it('counts hidden rows with a cell, and keeps them', async () => {
    const { list, table } = await read(ASKED['rows that a filter hides']!.bytes)
    expect([list.hidden, list.rows.length, table.sheets]).to.deep.equal([1, 2, ['List']])
    expect(list.rows.map(({ row }) => toText(row[0]))).to.deep.equal([ALPHA, BETA])
  })

  it('names the sheet that is read, and those that a wrong name can be', async () => {
    const { table } = await read(ASKED['a cover before the list']!.bytes)
    expect([table.sheet, table.sheets]).to.deep.equal(['List', ['Cover', 'List']])
    const faultOf = (bytes: Bytes) => read(bytes, { sheet: 'X' }).catch((cause: unknown) => cause)
    expect(await faultOf(ASKED['two lists']!.bytes)).to.include({
      message: 'FILE has no sheet X. Its sheets are: List | Other',
      argument: 'sheet',
    })
    expect(await faultOf('Company\nx\n')).to.include({
      message: 'FILE is a CSV, which has no sheets',
      argument: 'sheet',
    })
  })
})

describe('[15.16] an output keeps the own columns', () => {
  const bytes = form({ styles: STYLES, data: sheet(['Name', 'Value'], ...OWN.map(([cell]) => [ALPHA, cell])) })
  const outputs = (table: Table, name: string) => encodeTable(table.rows, { name, format: table.format, addedFrom: 2 })

  it('with times, dates and numbers, in a CSV, in JSON and in a sheet', async () => {
    const { table } = await read(bytes)
    const unquoted = (text: Uint8Array) =>
      Buffer.from(text)
        .toString()
        .replaceAll(/"|\uFEFF/g, '')
        .trimEnd()
        .split('\n')
    const csv = unquoted(await outputs(table, 'x.csv')).slice(1)
    expect(csv.map((line) => line.split(',')[1])).to.deep.equal(OWN.map(([, text]) => text))
    const json = JSON.parse(Buffer.from(await outputs(table, 'x.json')).toString()) as { Value: unknown }[]
    expect(json.map(({ Value }) => Value)).to.deep.equal(OWN.map(([, , value]) => value))
    const again = await read(await outputs(table, 'x.xlsx'))
    expect(again.table.rows).to.deep.equal(table.rows)
  })

  it('with the dates of a workbook that counts from 1904', async () => {
    const data = sheet(['Name', 'Value'], [ALPHA, number(DAY - 1462, 1)], [ALPHA, number(0.25, 3)])
    const { table } = await read(form({ styles: STYLES, data, workbook: '<workbookPr date1904="true"/>' }))
    expect(table.rows.slice(1).map((row) => toText(row[1]))).to.deep.equal(['2023-03-15', '06:00'])
  })

  it('with the numbers of a CSV in a sheet, but not with leading zeros or many digits', async () => {
    const texts = ['-12.5', '12.50', '0', '335801', '007', '1.', '+1', '1e5', '353861234567', '1,5', '']
    const table = await parseTable(Buffer.from(`Name;Value\n${texts.map((text) => `x;${text}\n`).join('')}`), {
      name: 'x',
    })
    const { rows } = await parseTable(await outputs(table, 'x.xlsx'), { name: 'x' })
    expect(rows.slice(1).map((row) => row[1] ?? '')).to.deep.equal([
      -12.5,
      12.5,
      0,
      335_801,
      '007',
      '1.',
      '+1',
      '1e5',
      '353861234567',
      '1,5',
      '',
    ])
  })
})
