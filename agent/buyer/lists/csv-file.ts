/** Reads and writes the CSV of a list as streams. Separator, line end and encoding are found in the file. */
import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { pipeline as finished } from 'node:stream/promises'
import { parse, type Options } from 'csv-parse'
import { parse as parseText } from 'csv-parse/sync'
import { stringify } from 'csv-stringify'
import { replaceWithFile, UNFINISHED_SUFFIX } from '../../../store/files/atomic-file.ts'

/** Bounds the memory of a row, for example after a quote that is never closed. */
const ROW_CHARACTERS_MAX = 1024 * 1024
/** Enough for the rows that show the separator. */
const SAMPLE_BYTES = 64 * 1024
const SAMPLE_ROWS = 20
const SEPARATORS = [',', ';', '\t', '|']

type Encoding = 'utf-8' | 'windows-1252'

interface CsvFormat {
  separator: string
  lineEnd: '\n' | '\r\n'
  /** Of the input. The output is UTF-8. */
  encoding: Encoding
  hasByteOrderMark: boolean
}

/** @throws an error that names the file, if it is not text in UTF-8 or Windows-1252 */
export async function findFormat(path: string, separator?: string): Promise<CsvFormat> {
  const sample = await readSample(path)
  if (sample.includes(0) || sample.subarray(0, 2).equals(Buffer.of(0xff, 0xfe)))
    throw new Error(`${path} is not text in UTF-8 or Windows-1252. Save it as CSV in UTF-8`)
  const encoding = (await isUtf8(path)) ? 'utf-8' : 'windows-1252'
  const decoder = createDecoder(encoding)
  const text = decoder(sample)
  return {
    separator: separator ?? findSeparator(text, sample.length === SAMPLE_BYTES),
    lineEnd: text.includes('\r\n') ? '\r\n' : '\n',
    encoding,
    hasByteOrderMark: sample.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf)),
  }
}

async function readSample(path: string): Promise<Buffer> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0)
  return buffer.subarray(0, bytesRead)
}

async function isUtf8(path: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const bytes = createReadStream(path) as AsyncIterable<Buffer>
  try {
    for await (const chunk of bytes) decoder.decode(chunk, { stream: true })
    decoder.decode()
    return true
  } catch (cause) {
    if (cause instanceof TypeError) return false
    throw cause
  }
}

/** The characters of the bytes 0x80 to 0x9F. Some versions of Node.js decode them as ISO-8859-1. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/** Decodes the chunks of a file in order. A byte order mark is left out. */
function createDecoder(encoding: Encoding): (chunk: Buffer) => string {
  const decoder = new TextDecoder('utf-8')
  if (encoding === 'utf-8') return (chunk) => decoder.decode(chunk, { stream: true })
  return (chunk) =>
    chunk
      .toString('latin1')
      .replace(/[\u0080-\u009f]/g, (character) => WINDOWS_1252.charAt(character.charCodeAt(0) - 0x80))
}

const parserOptions = (separator: string): Options => ({
  delimiter: separator,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  // A quote inside of a field without quotes, such as 5" pipe, is a character like others.
  relax_quotes: true,
  max_record_size: ROW_CHARACTERS_MAX,
})

/** The separator with which no row of the sample has more fields than the first one, which has most of them. */
function findSeparator(text: string, isCut: boolean): string {
  const sample = isCut ? text.slice(0, Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1) : text
  const [best] = SEPARATORS.map((separator) => {
    const counts = countFields(sample, separator)
    const [fields = 0] = counts
    return { separator, fields, isPossible: counts.every((count) => count <= fields) }
  }).toSorted((one, other) => Number(other.isPossible) - Number(one.isPossible) || other.fields - one.fields)
  return best?.separator ?? ','
}

/** Empty lines do not count. */
function countFields(text: string, separator: string): number[] {
  try {
    const rows = parseText(text, { ...parserOptions(separator), to: SAMPLE_ROWS, skip_empty_lines: true })
    return rows.map(({ length }) => length)
  } catch {
    return []
  }
}

/**
 * Yields the rows. An empty line is a row of one empty field.
 * @throws an error that names the file and the line of the fault
 */
export async function* readCsv(path: string, { separator, encoding }: CsvFormat): AsyncGenerator<string[], void, void> {
  const parser = parse(parserOptions(separator))
  const decode = createDecoder(encoding)
  async function* decodeChunks(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) yield decode(chunk)
  }
  // Errors reach the reader of the parser.
  pipeline(createReadStream(path), decodeChunks, parser, () => undefined)
  try {
    for await (const row of parser as AsyncIterable<string[]>) yield row
  } catch (cause) {
    const isSyntax = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('CSV_')
    if (!isSyntax) throw cause
    throw new Error(`${path} is not valid CSV in line ${parser.info.lines}`, { cause })
  }
}

/**
 * Writes the rows in the format of the input, in UTF-8. Spreadsheets read UTF-8 only with a byte order mark, so an
 * input in Windows-1252 gets one. The file appears when it is complete, and replaces a link instead of its target.
 * @param format.addedFrom the index of the first added field. Added texts are quoted
 */
export async function writeCsv(
  path: string,
  rows: AsyncIterable<readonly string[]>,
  { separator, lineEnd, encoding, hasByteOrderMark, addedFrom }: CsvFormat & { addedFrom: number },
): Promise<void> {
  const stringifier = stringify({
    delimiter: separator,
    record_delimiter: lineEnd,
    bom: hasByteOrderMark || encoding !== 'utf-8',
    // By default only the line end of the file is quoted.
    quoted_match: /[\r\n]/,
    cast: {
      string: (value, { index }) => ({ value, quoted: index >= addedFrom && !/^\w*$/.test(value) }),
    },
  })
  const unfinished = `${path}.${randomUUID()}${UNFINISHED_SUFFIX}`
  try {
    await finished(rows, stringifier, createWriteStream(unfinished, { flags: 'wx' }))
    await replaceWithFile(path, unfinished)
  } finally {
    await rm(unfinished, { force: true })
  }
}
