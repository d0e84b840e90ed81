/** A made-up register with every kind of bad value that the rules of docs/data.md name, as bytes. */
import fc from 'fast-check'
import { COLUMNS } from '../../store/dataset/company.ts'
import type { RegisterRow } from '../../store/import/rows.ts'
import { HEADER, registerRow } from './register.ts'

/** One row in this many is rejected, because a file with more than 1 % is refused. */
const ROWS_PER_REJECTED = 125

/** Stands for bytes that are not UTF-8: cut, overlong, surrogate, too large, and bytes that never occur. */
const INVALID = '\ue000'
const INVALID_BYTES = ['e282', 'c0af', 'eda080', 'f09f98', 'ff', '80', 'f4908080', 'e28241']

const SPACES = [' ', '  ', '\t', '\u00a0', '\u1680', '\u2003', '\u2028', '\u3000', '\ufeff', '\u0085', '\u001c', '\r']
const HIDDEN = ['\u0000', '\u00ad', '\u200b', '\u202e', '\u3164', '\ufe0f', '\ufffe', '\u{e0041}', '\u{1fffe}']
const LETTERS = ['ACME', 'É', 'E\u0301', '\u1e9b\u0323', '\u212b', '\ufb01', '😀', '\u1112\u1161', '\ufffd', INVALID]
const SIGNS = ['"', '""', '\\', ',', "'", '&', '*', '/', '\n', '\r\n', '-', '\u007f']
const PLACEHOLDERS = [
  '********NO ADDRESS DETAILS*******',
  'A*NO ADDRESS DETAILS*B',
  '*NO ADDRESS DETAILS**NO ADDRESS DETAILS*',
  '**NO ADDRESS DETAILS',
  '*NO ADDRE\u017fS DETAILS*',
  ' , ,',
]
// prettier-ignore
const DATES = [
  '', ' ', '2020-02-29', '2019-02-29', '2020-02-30', '0000-01-01', '0000-02-29', '1900-02-29', '2000-02-29',
  '1901-01-01', '0001-01-01', '1901-01-01T00:00:00', '2020-01-01T00:00:00', '2020-01-01T00:00:00.000Z',
  '2020-01-01T00:00:00Z', '2020-01-01T00:00:00.', '2020-01-01T00:00:01', ' 2020-01-01', '2020-01-01\u00a0', '2020-1-1',
  '\ufeff2020-01-01', '9999-12-31', '10000-01-01', '+20200-01-01', '2020-13-01', '2020-00-10', '2020-01-00', '2020-01-32',
  '2020-04-31', '２０２０-01-01', '01/02/2020', '2020-01-01\u200b',
]
// prettier-ignore
const CODES = [
  '', ' ', '1151', ' 1151 ', '12345678', '123456789', '24.41', '24.', '.41', '1.2345', '1.23456', '-1', '1e3', '١٢', '0',
  '150.0', '150', '6420.0', '64200', '1.0', '1.00', '0150.0', '\ufeff1', '1\ufeff', '1\u200b', 'A1',
]
// prettier-ignore
const EIRCODES = [
  '', ' ', 'D02 X285', 'd02x285', 'D6W AB12', 'd6wab12', 'D6X AB12', 'D02-X285', '-D-0-2-X-2-8-5-', 'D02\u00a0X285',
  'D02\u2028X285', '\ufeffD02X285', 'D02\u200bX285', 'DO2X285', 'D02X28', 'D02X2855', '\u017f02X285', '\u013102X285',
  'D02 X\u00df5', 'D02–X285', '00000', ',',
]

const dirtyText = fc
  .array(fc.constantFrom(...SPACES, ...HIDDEN, ...LETTERS, ...LETTERS, ...SIGNS), { maxLength: 6 })
  .map((pieces) => pieces.join(''))
const address = fc
  .array(fc.oneof(dirtyText, fc.constantFrom(...PLACEHOLDERS)), { maxLength: 3 })
  .map((all) => all.join(''))

function valueOf(column: keyof RegisterRow): fc.Arbitrary<string> {
  if (column === 'company_num') {
    // Few numbers, so that many rows repeat or contradict others.
    return fc.integer({ min: 1, max: 1_500 }).map((number) => (number % 7 === 0 ? ` 0${number}\u00a0` : String(number)))
  }
  if (column === 'company_name') return dirtyText.map((name) => `N${name}`)
  if (column.startsWith('company_address')) return address
  if (column === 'company_status' || column === 'company_type') return dirtyText
  if (column === 'eircode') return fc.constantFrom(...EIRCODES)
  return fc.constantFrom(...(column.endsWith('code') ? CODES : DATES))
}

const dirtyRow = fc.record(
  Object.fromEntries(COLUMNS.map((column) => [column, valueOf(column)])) as Record<
    keyof RegisterRow,
    fc.Arbitrary<string>
  >,
)
/**
 * Rows of numbers that repeat often: equal ones, ones that are equal once they are normalised, and contradicting ones.
 */
const repeatedRow = fc
  .record({ number: fc.integer({ min: 2_000, max: 2_200 }), name: fc.constantFrom('SAME', ' SAME ', 'SAME', 'OTHER') })
  .map(({ number, name }) => registerRow({ company_num: String(number), company_name: name }))

const plain = Object.values(registerRow())
const REJECTED_LINES = [
  'x',
  [...plain, 'one more'].join(','),
  ['"3000" ', ...plain.slice(1)].join(','),
  ['30"00', ...plain.slice(1)].join(','),
  ['30"",00"', ...plain.slice(1)].join(','),
  ['3001', '"STRAY"\nQUOTE "OVER" LINES"', ...plain.slice(2)].join(','),
  ['', ...plain.slice(1)].join(','),
  ['123456789012345678901', ...plain.slice(1)].join(','),
  ['1 2', ...plain.slice(1)].join(','),
  ['3002', ' \u200b ', ...plain.slice(2)].join(','),
]

/** Quotes where necessary, and on request also where not. */
function toLine(row: RegisterRow, isQuoted: boolean): string {
  const quote = (value: string) => (isQuoted || /[",\n]|\r$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)
  return COLUMNS.map((column) => quote(row[column])).join(',')
}

const line = fc.record({
  row: fc.oneof(dirtyRow, repeatedRow),
  isQuoted: fc.boolean(),
  end: fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\r\n'),
})

/** The same bytes for the same seed. */
export function dirtyRegister(seed: number, rows: number): Buffer {
  const lines = fc.sample(line, { seed, numRuns: rows })
  const rejected = Array.from(
    { length: Math.floor(rows / ROWS_PER_REJECTED) },
    (_, index) => `${REJECTED_LINES[index % REJECTED_LINES.length]}\n`,
  )
  const texts = [
    `\ufeff${HEADER.replace('eircode', ' eircode\u00a0')}\r\n`,
    ...lines.map(({ row, isQuoted, end }, index) => {
      const before = index % ROWS_PER_REJECTED === 0 ? (rejected[index / ROWS_PER_REJECTED] ?? '') : ''
      return before + toLine(row, isQuoted) + end
    }),
  ]
  return withInvalidBytes(texts.join(''))
}

function withInvalidBytes(text: string): Buffer {
  const [first = '', ...others] = text.split(INVALID)
  const parts = others.flatMap((part, index) => [
    Buffer.from(INVALID_BYTES[index % INVALID_BYTES.length] ?? '', 'hex'),
    Buffer.from(part),
  ])
  return Buffer.concat([Buffer.from(first), ...parts])
}
