/**
 * Reads a CSV as records with two parsers that give the same result. A fast scanner reads records in RFC 4180 form. From
 * the first other record on, csv-parse reads the rest; it is strict about quotes. Import speed depends on the scanner
 * (benchmark row `import time`).
 */
import { parse, type Parser } from 'csv-parse'
import type { Readable } from 'node:stream'
import { ImportError } from './errors.ts'

/** Thirty times a row of the register. Bounds the memory that an unclosed quote can use. */
export const ROW_BYTES_MAX = 8 * 1024
/** Five times the columns of the register. Bounds the memory that a line of commas can use. */
const ROW_FIELDS_MAX = 100
/** UTF-8 has at most three bytes per UTF-16 code unit, so a record of this length is within the limit. */
const SCANNED_LENGTH_MAX = Math.floor(ROW_BYTES_MAX / 3)

/** csv-parse gets text in parts of this length, so that it cannot collect an unlimited record before the next check. */
const PARSED_LENGTH = ROW_BYTES_MAX
/** A record within the limits ends within this length: its quotes may be doubled, and it begins and ends within parts. */
const UNFINISHED_LENGTH_MAX = 4 * PARSED_LENGTH

/** Errors that consume an unknown number of rows, so that they cannot be counted as one malformed row. */
const FATAL_CODES: ReadonlySet<string> = new Set(['CSV_MAX_RECORD_SIZE', 'CSV_QUOTE_NOT_CLOSED'])

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const QUOTE = 34
const COMMA = 44

/** The fields of a record, or null if it is malformed. */
export type CsvRecord = string[] | null

/** Yields the records of the file in batches. Empty lines are skipped. */
export async function* readRecords(csv: Readable): AsyncGenerator<CsvRecord[], void, void> {
  let parser: StrictParser | undefined
  let rest: string | undefined
  let isAtStart = true
  try {
    // Node decodes a character that two chunks share.
    for await (const chunk of csv.setEncoding('utf8') as AsyncIterable<string>) {
      if (parser) yield await parser.write(chunk)
      else {
        const text = rest === undefined ? chunk.replace(/^\uFEFF/, '') : rest + chunk
        const { records, end, needsParser } = scanRecords(text)
        isAtStart &&= records.length === 0
        yield records
        rest = text.slice(end)
        if (!needsParser) continue
        parser = new StrictParser({ isAtStart })
        yield await parser.write(rest)
      }
    }
    // The parser also reads a last line without a line end.
    yield parser ? await parser.end('') : await new StrictParser({ isAtStart }).end(rest ?? '')
  } catch (cause) {
    if (cause instanceof ImportError) throw cause
    throw new ImportError('csv_malformed', 'the file cannot be parsed as CSV', cause)
  }
}

interface ScanResult {
  records: string[][]
  /** The start of the first record that was not read: it is incomplete or needs the parser. */
  end: number
  needsParser: boolean
}

function scanRecords(text: string): ScanResult {
  const records: string[][] = []
  const scan = { text, nextQuote: -1, nextLineFeed: -1 }
  let end = skipEmptyLines(text, 0)
  while (end < text.length) {
    const fields: string[] = []
    const next = scanRecord(scan, end, fields)
    if (next === TOO_MANY_FIELDS) throw tooManyFields()
    if (next === NEEDS_PARSER || (next === INCOMPLETE ? text.length : next) - end > SCANNED_LENGTH_MAX) {
      return { records, end, needsParser: true }
    }
    if (next === INCOMPLETE) break
    records.push(fields)
    end = skipEmptyLines(text, next)
  }
  return { records, end, needsParser: false }
}

/** Results of the scan functions in place of an index. */
const INCOMPLETE = -1
const NEEDS_PARSER = -2
const TOO_MANY_FIELDS = -3

interface Scan {
  text: string
  /** The next quote and line feed. They are searched again only once the scan has passed them. */
  nextQuote: number
  nextLineFeed: number
}

/** Adds the fields of the record that starts at an index. Returns the start of the next record. */
function scanRecord(scan: Scan, start: number, fields: string[]): number {
  const { text } = scan
  for (let at = start; ;) {
    const end = text.charCodeAt(at) === QUOTE ? scanQuotedField(text, at, fields) : scanField(scan, at, fields)
    if (end < 0) return end
    if (fields.length > ROW_FIELDS_MAX) return TOO_MANY_FIELDS
    const code = text.charCodeAt(end)
    if (code === LINE_FEED) return end + 1
    if (code === CARRIAGE_RETURN && text.charCodeAt(end + 1) === LINE_FEED) return end + 2
    // The text may end between the carriage return and the line feed of a line end.
    if (end >= text.length || (code === CARRIAGE_RETURN && end + 1 === text.length)) return INCOMPLETE
    if (code !== COMMA) return NEEDS_PARSER
    at = end + 1
  }
}

/** Adds a field without quotes. Returns its end. */
function scanField(scan: Scan, at: number, fields: string[]): number {
  const { text } = scan
  if (scan.nextLineFeed < at) scan.nextLineFeed = text.indexOf('\n', at)
  if (scan.nextLineFeed === -1) return INCOMPLETE
  const comma = text.indexOf(',', at)
  const isLast = comma === -1 || comma > scan.nextLineFeed
  const hasReturn = isLast && scan.nextLineFeed > at && text.charCodeAt(scan.nextLineFeed - 1) === CARRIAGE_RETURN
  const end = isLast ? scan.nextLineFeed - Number(hasReturn) : comma
  if (scan.nextQuote < at) {
    const quote = text.indexOf('"', at)
    scan.nextQuote = quote === -1 ? text.length : quote
  }
  if (scan.nextQuote < end) return NEEDS_PARSER
  fields.push(text.slice(at, end))
  return end
}

/** Adds a field in quotes, in which two quotes stand for one. Returns its end. */
function scanQuotedField(text: string, at: number, fields: string[]): number {
  let hasQuotes = false
  let close = text.indexOf('"', at + 1)
  while (close !== -1 && text.charCodeAt(close + 1) === QUOTE) {
    hasQuotes = true
    close = text.indexOf('"', close + 2)
  }
  if (close === -1) return INCOMPLETE
  const value = text.slice(at + 1, close)
  fields.push(hasQuotes ? value.replaceAll('""', '"') : value)
  return close + 1
}

function skipEmptyLines(text: string, start: number): number {
  for (let at = start; ;) {
    const hasReturn = text.charCodeAt(at) === CARRIAGE_RETURN
    if (text.charCodeAt(at + Number(hasReturn)) !== LINE_FEED) return at
    at += 1 + Number(hasReturn)
  }
}

/** Wraps csv-parse. A malformed row becomes null if the rows after it can still be told apart. */
class StrictParser {
  #records: CsvRecord[] = []
  /** The records, malformed rows and empty lines so far. */
  #ended = 0
  #malformed = 0
  /** The length of the text since the last one ended, or more. */
  #unfinishedLength = 0
  readonly #parser: Parser

  /** `isAtStart`: whether no record was read before. */
  constructor({ isAtStart }: { isAtStart: boolean }) {
    let malformedLine: number | undefined
    this.#parser = parse({
      max_record_size: ROW_BYTES_MAX,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_error: true,
      on_record: (record: string[]) => {
        if (record.length > ROW_FIELDS_MAX) throw tooManyFields()
        // csv-parse compares before it adds a character.
        if (Buffer.byteLength(record.join('')) > ROW_BYTES_MAX) throw tooLarge()
        this.#records.push(record)
        return null
      },
      on_skip: (error) => {
        // An error before the first record is left to the check of the header.
        const isFirstRecord = isAtStart && error?.records === 0
        if (error && FATAL_CODES.has(error.code) && !isFirstRecord) throw error
        // Several errors in one row count as one malformed row.
        const line = Number(error?.lines)
        if (line !== malformedLine) {
          this.#records.push(null)
          this.#malformed += 1
        }
        malformedLine = line
      },
    })
    // `write` and `end` report the error to their callback as well.
    this.#parser.on('error', () => undefined)
  }

  /** Returns the records that are complete. */
  async write(text: string): Promise<CsvRecord[]> {
    for (let at = 0; at < text.length; at += PARSED_LENGTH) {
      const part = text.slice(at, at + PARSED_LENGTH)
      await settle((done) => this.#parser.write(part, done))
      this.#checkUnfinished(part.length)
    }
    return this.#records.splice(0)
  }

  /** Returns the remaining records. */
  async end(text: string): Promise<CsvRecord[]> {
    const records = await this.write(text)
    await settle((done) => this.#parser.end(done))
    return [...records, ...this.#records.splice(0)]
  }

  /** csv-parse limits the bytes of the fields of a record, but not their number. */
  #checkUnfinished(length: number): void {
    const { records, empty_lines: emptyLines } = this.#parser.info
    const ended = records + emptyLines + this.#malformed
    this.#unfinishedLength = ended > this.#ended ? length : this.#unfinishedLength + length
    this.#ended = ended
    if (this.#unfinishedLength > UNFINISHED_LENGTH_MAX) {
      throw tooLarge()
    }
  }
}

function settle(send: (done: (error?: Error | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => void send((error) => (error ? reject(error) : resolve())))
}

function tooLarge(): ImportError {
  return new ImportError('csv_malformed', `a row is larger than ${ROW_BYTES_MAX} bytes`)
}

function tooManyFields(): ImportError {
  return new ImportError('csv_malformed', `a row has more than ${ROW_FIELDS_MAX} fields`)
}
