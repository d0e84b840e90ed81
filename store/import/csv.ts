/**
 * A CSV as records, in two ways that come to the same, so that the second costs nothing until it is needed:
 *
 *   1. as long as every record is what RFC 4180 describes, it is cut where its commas, quotes and line ends stand;
 *   2. from the first that isn't, the file is csv-parse's, which is strict about quotes and several times slower.
 */
import { parse, type Parser } from 'csv-parse'
import type { Readable } from 'node:stream'
import { ImportError } from './errors.ts'

/** Thirty times a row of the register: what an unclosed quote may swallow before the import is given up. */
export const ROW_BYTES_MAX = 8 * 1024
/** No text has over three bytes for a unit of its length, so that a record up to here is never too long. */
const CUT_LENGTH_MAX = Math.floor(ROW_BYTES_MAX / 3)

/** Faults after which nobody knows how many rows were swallowed, so that they can't be counted as one bad row. */
const FATAL_FAULTS: ReadonlySet<string> = new Set(['CSV_MAX_RECORD_SIZE', 'CSV_QUOTE_NOT_CLOSED'])

const BYTE_ORDER_MARK = '\uFEFF'
const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const QUOTE = 34
const COMMA = 44

/** The fields of a record, or null for one that is malformed. */
export type CsvRecord = string[] | null

/** Yields the records of the file, some at a time. Empty lines are none. */
export async function* readRecords(csv: Readable): AsyncGenerator<CsvRecord[], void, void> {
  let judge: Judge | undefined
  let unfinished = ''
  let isFirst = true
  try {
    for await (const piece of wholeLines(csv)) {
      if (judge) yield await judge.judge(piece)
      else {
        const text = unfinished + piece
        const { records, end, isOdd } = cutRecords(text)
        isFirst &&= records.length === 0
        yield records
        unfinished = text.slice(end)
        if (!isOdd) continue
        judge = new Judge({ isFirst })
        yield await judge.judge(unfinished)
      }
    }
    // A last line without an end is the judge's as well.
    yield judge ? await judge.end('') : await new Judge({ isFirst }).end(unfinished)
  } catch (cause) {
    if (cause instanceof ImportError) throw cause
    throw new ImportError('csv_malformed', 'the file cannot be read as CSV', cause)
  }
}

/** The file's text in pieces that end with a line, so that no character is cut in two. */
async function* wholeLines(csv: Readable): AsyncGenerator<string, void, void> {
  let held: Buffer = Buffer.alloc(0)
  let isFirst = true
  const decode = (bytes: Buffer) => {
    const text = bytes.toString()
    const isMarked = isFirst && text.startsWith(BYTE_ORDER_MARK)
    isFirst = false
    return isMarked ? text.slice(BYTE_ORDER_MARK.length) : text
  }
  for await (const chunk of csv as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([held, chunk])
    const end = bytes.lastIndexOf(LINE_FEED) + 1
    // A line too long for any row is not waited for.
    const cutAt = end === 0 && bytes.length > ROW_BYTES_MAX ? bytes.length : end
    if (cutAt > 0) yield decode(bytes.subarray(0, cutAt))
    held = bytes.subarray(cutAt)
  }
  if (held.length > 0) yield decode(held)
}

interface Cut {
  records: string[][]
  /** Where the first record begins that was not cut: it goes on beyond the text, or is odd. */
  end: number
  isOdd: boolean
}

function cutRecords(text: string): Cut {
  const records: string[][] = []
  const scan = { text, quoteAt: -1, lineEnd: -1 }
  let end = afterEmptyLines(text, 0)
  while (end < text.length) {
    const fields: string[] = []
    const next = cutRecord(scan, end, fields)
    if (next === ODD || (next === UNFINISHED ? text.length : next) - end > CUT_LENGTH_MAX) {
      return { records, end, isOdd: true }
    }
    if (next === UNFINISHED) break
    records.push(fields)
    end = afterEmptyLines(text, next)
  }
  return { records, end, isOdd: false }
}

const UNFINISHED = -1
const ODD = -2

interface Scan {
  text: string
  /** The first quote and the first line end that are not behind; found once for many fields. */
  quoteAt: number
  lineEnd: number
}

/** Adds the fields of the record that begins at a place; answers where the next one begins, or why it can't. */
function cutRecord(scan: Scan, start: number, fields: string[]): number {
  const { text } = scan
  for (let at = start; ;) {
    const end = text.charCodeAt(at) === QUOTE ? cutQuoted(text, at, fields) : cutPlain(scan, at, fields)
    if (end < 0) return end
    const code = text.charCodeAt(end)
    if (code === LINE_FEED) return end + 1
    if (code === CARRIAGE_RETURN && text.charCodeAt(end + 1) === LINE_FEED) return end + 2
    if (code !== COMMA) return end < text.length ? ODD : UNFINISHED
    at = end + 1
  }
}

/** Adds a field without quotes; answers where it ends. */
function cutPlain(scan: Scan, at: number, fields: string[]): number {
  const { text } = scan
  if (scan.lineEnd < at) scan.lineEnd = text.indexOf('\n', at)
  if (scan.lineEnd === -1) return UNFINISHED
  const comma = text.indexOf(',', at)
  const isLast = comma === -1 || comma > scan.lineEnd
  const isMarked = isLast && scan.lineEnd > at && text.charCodeAt(scan.lineEnd - 1) === CARRIAGE_RETURN
  const end = isLast ? scan.lineEnd - Number(isMarked) : comma
  if (scan.quoteAt < at) scan.quoteAt = indexOr(text.length, text.indexOf('"', at))
  if (scan.quoteAt < end) return ODD
  fields.push(text.slice(at, end))
  return end
}

/** Adds a field in quotes, where two stand for one; answers where it ends. */
function cutQuoted(text: string, at: number, fields: string[]): number {
  let isDoubled = false
  let close = text.indexOf('"', at + 1)
  while (close !== -1 && text.charCodeAt(close + 1) === QUOTE) {
    isDoubled = true
    close = text.indexOf('"', close + 2)
  }
  if (close === -1) return UNFINISHED
  const value = text.slice(at + 1, close)
  fields.push(isDoubled ? value.replaceAll('""', '"') : value)
  return close + 1
}

function afterEmptyLines(text: string, start: number): number {
  for (let at = start; ;) {
    const isMarked = text.charCodeAt(at) === CARRIAGE_RETURN
    if (text.charCodeAt(at + Number(isMarked)) !== LINE_FEED) return at
    at += 1 + Number(isMarked)
  }
}

const indexOr = (otherwise: number, index: number) => (index === -1 ? otherwise : index)

/** Reads what is odd: strictly, a malformed row at a time where the rest can still be told apart. */
class Judge {
  #records: CsvRecord[] = []
  readonly #parser: Parser

  constructor({ isFirst }: { isFirst: boolean }) {
    let faultyLine: number | undefined
    this.#parser = parse({
      max_record_size: ROW_BYTES_MAX,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_error: true,
      on_record: (record: string[]) => {
        this.#records.push(record)
        return null
      },
      on_skip: (fault) => {
        // Where no record came before, what swallows rows is no register, whatever it is.
        const isNone = isFirst && fault?.records === 0
        if (fault && FATAL_FAULTS.has(fault.code) && !isNone) throw fault
        // A row with two faults is one bad row.
        const line = Number(fault?.lines)
        if (line !== faultyLine) this.#records.push(null)
        faultyLine = line
      },
    })
    // Whoever waits for what it was told is told of it, too.
    this.#parser.on('error', () => undefined)
  }

  /** The records that have ended by now. */
  judge(text: string): Promise<CsvRecord[]> {
    return this.#told((done) => this.#parser.write(text, done))
  }

  /** Those that end with the file. */
  end(text: string): Promise<CsvRecord[]> {
    return this.#told((done) => this.#parser.end(text, done))
  }

  async #told(tell: (done: (fault?: Error | null) => void) => unknown): Promise<CsvRecord[]> {
    await new Promise<void>((resolve, reject) => void tell((fault) => (fault ? reject(fault) : resolve())))
    return this.#records.splice(0)
  }
}
