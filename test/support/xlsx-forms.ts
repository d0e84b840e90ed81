/** The bytes of one small list as different programs write it in .xlsx, many of them in unusual forms. */
import { writeXlsx, XlsxStreamWriter } from 'hucre/xlsx'
import writeExcel from 'write-excel-file/universal'
import { buildZip, STORED, type ZipMember } from './zip.ts'

/** The rows that the reader returns for every form. */
export const FORM_ROWS = [
  ['Name', 'Number', 'Since', 'Active'],
  ['Alpha & Söhne <Ltd>', 335801, new Date('2020-01-31'), true],
  [null, 7.5],
  ['=1+1'],
]

type Parts = Record<string, string | Uint8Array>

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

interface Form {
  data?: string
  shared?: string
  styles?: string
  sheets?: string
  workbook?: string
  /** The namespaces of Strict Open XML. */
  isStrict?: boolean
  sheetPath?: string
  target?: string
  change?: (parts: Parts) => Parts
  /** How each part is written in the archive. */
  written?: Omit<ZipMember, 'name' | 'content'>
}

const SERIAL = 43861 // 2020-01-31
const DATE_STYLE = `<styleSheet xmlns="${MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`
const text = (value: string) => `<is><t>${value}</t></is>`
export const inline = (ref: string, value: string) => `<c${ref && ` r="${ref}"`} t="inlineStr">${text(value)}</c>`
const NAMES = ['Name', 'Number', 'Since', 'Active']
const header = NAMES.map((name, at) => inline(`${'ABCD'[at]}1`, name)).join('')
const ALPHA = 'Alpha &amp; Söhne &lt;Ltd&gt;'
const DATA =
  `<row r="1">${header}</row><row r="2">${inline('A2', ALPHA)}<c r="B2"><v>335801</v></c><c r="C2" s="1"><v>${SERIAL}</v></c>` +
  `<c r="D2" t="b"><v>1</v></c></row><row r="3"><c r="B3"><v>7.5</v></c></row><row r="4">${inline('A4', '=1+1')}</row>`

const strings = [...NAMES, ALPHA, '=1+1'].map((each) => `<si><t>${each}</t></si>`).join('')
export const SHARED = `<sst xmlns="${MAIN}" count="6" uniqueCount="6">${strings}</sst>`
const s = (ref: string, at: number) => `<c r="${ref}" t="s"><v>${at}</v></c>`
export const SHARED_DATA = DATA.replace(header, NAMES.map((_, at) => s(`${'ABCD'[at]}1`, at)).join(''))
  .replace(inline('A2', ALPHA), s('A2', 4))
  .replace(inline('A4', '=1+1'), s('A4', 5))

export function form({
  data = DATA,
  shared,
  styles = DATE_STYLE,
  sheets = '<sheet name="List" sheetId="1" r:id="rId1"/>',
  workbook = '',
  isStrict = false,
  sheetPath = 'xl/worksheets/sheet1.xml',
  target = 'worksheets/sheet1.xml',
  change = (parts) => parts,
  written = {},
}: Form = {}): Uint8Array {
  const relation = (id: string, type: string, to: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${to}"/>`
  const relations = (...each: string[]) =>
    `${DECLARATION}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${each.join('')}</Relationships>`
  const parts: Parts = {
    '[Content_Types].xml':
      `${DECLARATION}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ` +
      'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>' +
      '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    '_rels/.rels': relations(relation('rId1', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': `${DECLARATION}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}">${workbook}<sheets>${sheets}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(
      relation('rId1', 'worksheet', target),
      ...(shared === undefined ? [] : [relation('rId2', 'sharedStrings', 'sharedStrings.xml')]),
      relation('rId3', 'styles', 'styles.xml'),
    ),
    [sheetPath]: `${DECLARATION}<worksheet xmlns="${MAIN}"><sheetData>${data}</sheetData></worksheet>`,
    'xl/styles.xml': DECLARATION + styles,
    ...(shared !== undefined && { 'xl/sharedStrings.xml': DECLARATION + shared }),
  }
  const strict = (xml: string) =>
    xml
      .replaceAll(MAIN, 'http://purl.oclc.org/ooxml/spreadsheetml/main')
      .replaceAll(RELATIONS, 'http://purl.oclc.org/ooxml/officeDocument/relationships')
  const changed = change(isStrict ? mapParts(parts, strict) : parts)
  return buildZip(...Object.entries(changed).map(([name, content]) => Object.assign({ name, content }, written)))
}

const mapParts = (parts: Parts, change: (xml: string) => string | Uint8Array): Parts =>
  Object.fromEntries(Object.entries(parts).map(([name, content]) => [name, change(String(content))]))

/** Every element of the sheet and of the workbook with a prefix, as some libraries of Java and .NET write them. */
const withPrefix = (xml: string) =>
  xml.includes(`xmlns="${MAIN}"`)
    ? xml.replace(`xmlns="${MAIN}"`, `xmlns:x="${MAIN}"`).replaceAll(/<(\/?)(?=[a-z])(?!\?)/gi, '<$1x:')
    : xml

const rich = (value: string) =>
  `<r><rPr><b/></rPr><t>${value.slice(0, 5)}</t></r><r><t xml:space="preserve">${value.slice(5)}</t></r>`

const toUtf16 = (xml: string) => Buffer.from(`\uFEFF${xml.replace('encoding="UTF-8"', 'encoding="UTF-16"')}`, 'utf16le')

/** Adds the sheet with the id `rId9`. */
export function addSheet(
  parts: Parts,
  { data = '', type = 'worksheet', path = 'worksheets/other.xml' }: { data?: string; type?: string; path?: string },
): Parts {
  const relations = 'xl/_rels/workbook.xml.rels'
  const relation = `<Relationship Id="rId9" Type="${RELATIONS}/${type}" Target="${path}"/></Relationships>`
  return {
    ...parts,
    [relations]: String(parts[relations]).replace('</Relationships>', relation),
    [`xl/${path}`]: `${DECLARATION}<worksheet xmlns="${MAIN}"><sheetData>${data}</sheetData></worksheet>`,
  }
}

/** A sheet with a title and facts, before the list. */
export const COVER = {
  sheets: '<sheet name="Cover" sheetId="1" r:id="rId9"/><sheet name="List" sheetId="7" r:id="rId1"/>',
}
export const COVER_DATA = ['Suppliers 2026', 'Prepared by Ann', '']
  .map(
    (value, at) =>
      `<row r="${at + 2}">${inline(`B${at + 2}`, value)}${value && inline(`C${at + 2}`, 'Internal')}</row>`,
  )
  .join('')

/** By what makes the form a case. */
export const FORMS: Record<string, () => Uint8Array | Promise<Uint8Array>> = {
  'write-excel-file': async () => {
    const toCell = (value: unknown) =>
      value === null ? null : value instanceof Date ? { value, format: 'yyyy-mm-dd' } : { value }
    const blob = await writeExcel(FORM_ROWS.map((row) => row.map(toCell)) as never).toBlob()
    return new Uint8Array(await blob.arrayBuffer())
  },
  'hucre, at once': () => writeXlsx({ sheets: [{ name: 'List', rows: FORM_ROWS }] }),
  'hucre, as a stream': async () => {
    const writer = new XlsxStreamWriter({ name: 'List' })
    for (const row of FORM_ROWS) writer.addRow(row)
    return writer.finish()
  },
  'inline strings': () => form(),
  'shared strings': () => form({ data: SHARED_DATA, shared: SHARED }),
  'shared strings with formatted runs and phonetic text': () =>
    form({
      data: SHARED_DATA,
      shared: SHARED.replace(`<t>${ALPHA}</t>`, rich(ALPHA)).replace(
        '<t>Name</t>',
        '<t>Name</t><rPh sb="0" eb="1"><t>na</t></rPh>',
      ),
    }),
  'shared strings in a part whose name has another case': () =>
    form({
      data: SHARED_DATA,
      shared: SHARED,
      change: ({ 'xl/sharedStrings.xml': part = '', ...parts }) => ({ ...parts, 'xl/SharedStrings.xml': part }),
    }),
  'inline strings with formatted runs': () => form({ data: DATA.replace(text(ALPHA), `<is>${rich(ALPHA)}</is>`) }),
  'formulas with their last values': () =>
    form({
      data: DATA.replace(inline('A2', ALPHA), `<c r="A2" t="str"><f>B9</f><v>${ALPHA}</v></c>`).replace(
        '<c r="B2">',
        '<c r="B2"><f>SUM(A9:A10)</f>',
      ),
    }),
  'entries without compression': () => form({ written: { stated: { method: STORED } } }),
  'sizes behind the data': () => form({ written: { sizes: 'behind' } }),
  'numbers of eight bytes in the archive': () => form({ written: { sizes: 'wide' } }),
  'no references of cells': () => form({ data: DATA.replace('<c r="B3">', '<c/><c>').replaceAll(/ r="[A-D]\d"/g, '') }),
  'no references of cells and rows': () =>
    form({ data: DATA.replace('<c r="B3">', '<c/><c>').replaceAll(/ r="[A-D]?\d"/g, '') }),
  'Strict Open XML': () => form({ isStrict: true }),
  'prefixes of elements': () => form({ change: (parts) => mapParts(parts, withPrefix) }),
  'absolute targets and other names of parts': () =>
    form({ sheetPath: 'xl/data/Tabelle.xml', target: '/xl/data/Tabelle.xml' }),
  'dates from 1904': () =>
    form({ workbook: '<workbookPr date1904="1"/>', data: DATA.replace(String(SERIAL), String(SERIAL - 1462)) }),
  'dates as texts': () =>
    form({ data: DATA.replace(`<c r="C2" s="1"><v>${SERIAL}</v>`, '<c r="C2" t="d"><v>2020-01-31T00:00:00Z</v>') }),
  'a format of dates of its own': () =>
    form({
      styles: DATE_STYLE.replace(
        '<cellXfs',
        '<numFmts count="1"><numFmt numFmtId="164" formatCode="[$-409]d\\-mmm\\-yyyy;@"/></numFmts><cellXfs',
      ).replace('numFmtId="14"', 'numFmtId="164"'),
    }),
  'byte order marks, comments, CDATA and escaped characters': () =>
    form({
      data: `<!-- made by hand -->${DATA.replace(text(ALPHA), '<is><t><![CDATA[Alpha & S]]>&#246;hne _x003C_Ltd&#x3e;</t></is>')}`,
      change: (parts) => mapParts(parts, (xml) => `\uFEFF${xml}`),
    }),
  'hidden sheets before it': () => {
    const rows = [['Other']]
    const [hidden, veryHidden] = [
      { name: 'A', rows, hidden: true },
      { name: 'B', rows, veryHidden: true },
    ] as const
    return writeXlsx({ sheets: [hidden, veryHidden, { name: 'List', rows: FORM_ROWS }] })
  },
  'hidden sheets only': () => writeXlsx({ sheets: [{ name: 'List', rows: FORM_ROWS, hidden: true }] }),
  'a hidden sheet before it whose name has a ">"': () =>
    form({
      sheets:
        '<sheet name="a > b" sheetId="1" state="hidden" r:id="rId9"/><sheet name="List" sheetId="7" r:id="rId1"/>',
      change: (parts) => addSheet(parts, { data: `<row r="1">${inline('A1', 'Other')}</row>` }),
    }),
  'a sheet of a chart before it': () =>
    form({
      sheets: '<sheet name="Chart" sheetId="1" r:id="rId9"/><sheet name="List" sheetId="7" r:id="rId1"/>',
      change: (parts) => addSheet(parts, { type: 'chartsheet', path: 'chartsheets/sheet1.xml' }),
    }),
  'a cover before it': () => form({ ...COVER, change: (parts) => addSheet(parts, { data: COVER_DATA }) }),
  'backslashes in the names of parts': () =>
    form({
      change: (parts) =>
        Object.fromEntries(Object.entries(parts).map(([path, part]) => [path.replaceAll('/', '\\'), part])),
    }),
  'a sheet in a part whose name has another case': () => form({ sheetPath: 'xl/worksheets/Sheet1.xml' }),
  'a workbook that only the content types name': () =>
    form({ change: (parts) => ({ ...parts, '_rels/.rels': '<Relationships/>' }) }),
  'parts in UTF-16': () => form({ data: SHARED_DATA, shared: SHARED, change: (parts) => mapParts(parts, toUtf16) }),
  'parts in UTF-16 with the high byte first': () =>
    form({ change: (parts) => mapParts(parts, (xml) => Buffer.from(toUtf16(xml)).swap16()) }),
  'parts in UTF-16 without a mark': () =>
    form({ change: (parts) => mapParts(parts, (xml) => toUtf16(xml).subarray(2)) }),
  'a part in Windows-1252': () =>
    form({
      change: (parts) =>
        mapParts(parts, (xml) => Buffer.from(xml.replace('encoding="UTF-8"', 'encoding="windows-1252"'), 'latin1')),
    }),
  'a second sheet, apostrophes around attributes, and spaces in elements': () =>
    form({
      sheets:
        '<sheet name="List" sheetId="7" r:id="rId1"/><sheet name="Other" sheetId="1" state="hidden" r:id="rId1"/>',
      data: DATA.replaceAll(/="([^"]*)"/g, " = '$1' ").replaceAll('</c>', '</c >'),
    }),
}
