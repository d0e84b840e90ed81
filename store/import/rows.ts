/** Reads the register's CSV as rows of text, with csv-parse, which is strict about quotes. */
import { parse } from 'csv-parse'
import { COLUMNS } from '../dataset/company.ts'
import { ImportError } from './errors.ts'

export type RegisterRow = Record<(typeof COLUMNS)[number], string>

/** A row of the file, or the reason why it could not be read. */
type ParsedRow =
  { kind: 'row'; row: RegisterRow } | { kind: 'rejected'; reason: 'wrong_column_count' | 'malformed_row' }

/** A file with a larger share of rejected rows is not the register, even if its header is right (contract 11.2). */
export const REJECTED_SHARE_MAX = 0.01

/** Thirty times a row of the register. Bounds the memory that an unclosed quote can use. */
const ROW_BYTES_MAX = 8 * 1024
/** Five times the columns of the register. Bounds the memory that a line of commas can use. */
const ROW_FIELDS_MAX = 100
/** csv-parse gets parts of this size, because it limits the bytes of the fields of a row, and not their number. */
const PART_BYTES = ROW_BYTES_MAX
/** Above every valid row: quotes can double its size, and it can begin and end inside a part. */
const UNFINISHED_BYTES_MAX = 4 * PART_BYTES

/** Errors that consume an unknown number of rows, so that they cannot be counted as one malformed row. */
const FATAL_CODES: ReadonlySet<string> = new Set(['CSV_MAX_RECORD_SIZE', 'CSV_QUOTE_NOT_CLOSED'])

/** Yields rows in batches, so that memory does not grow with the file. Empty lines are skipped. */
export async function* readRows(csv: AsyncIterable<Buffer>): AsyncGenerator<ParsedRow[], void, void> {
  const rows: ParsedRow[] = []
  let hasHeader = false
  let malformedLine: number | undefined
  let skipped = 0
  /** The records, rejected rows and empty lines so far, and the bytes since the last one of them. */
  let ended = 0
  let unfinishedBytes = 0
  const parser = parse({
    bom: true,
    max_record_size: ROW_BYTES_MAX,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_record: (fields: string[]) => {
      if (fields.length > ROW_FIELDS_MAX) throw malformed(`a row has more than ${ROW_FIELDS_MAX} fields`)
      // csv-parse compares before it adds a character.
      if (Buffer.byteLength(fields.join('')) > ROW_BYTES_MAX)
        throw malformed(`a row is larger than ${ROW_BYTES_MAX} bytes`)
      if (hasHeader) rows.push(toRow(fields))
      else checkHeader(fields)
      hasHeader = true
      return null
    },
    on_skip: (error) => {
      if (!hasHeader) throw wrongHeader()
      if (error && FATAL_CODES.has(error.code)) throw error
      // Several errors in one row count as one malformed row.
      const line = Number(error?.lines)
      if (line === malformedLine) return
      malformedLine = line
      skipped += 1
      rows.push({ kind: 'rejected', reason: 'malformed_row' })
    },
  })
  // `write` and `end` report the error to their callback as well.
  parser.on('error', () => undefined)
  async function write(part: Buffer): Promise<void> {
    const before = ended
    await settle((done) => parser.write(part, done))
    ended = parser.info.records + parser.info.empty_lines + skipped
    unfinishedBytes = ended > before ? part.length : unfinishedBytes + part.length
    if (unfinishedBytes > UNFINISHED_BYTES_MAX) throw malformed(`a row is larger than ${ROW_BYTES_MAX} bytes`)
  }
  try {
    for await (const chunk of csv) {
      for (let at = 0; at < chunk.length; at += PART_BYTES) await write(chunk.subarray(at, at + PART_BYTES))
      yield rows.splice(0)
    }
    await settle((done) => parser.end(done))
  } catch (cause) {
    throw cause instanceof ImportError ? cause : malformed('the file cannot be parsed as CSV', cause)
  }
  if (!hasHeader) throw wrongHeader()
  yield rows
}

function settle(send: (done: (error?: Error | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => void send((error) => (error ? reject(error) : resolve())))
}

/** The header must have exactly the columns in their order. */
function checkHeader(fields: readonly string[]): void {
  const isRight = fields.length === COLUMNS.length && fields.every((name, index) => name.trim() === COLUMNS[index])
  if (!isRight) throw wrongHeader()
}

function toRow(fields: readonly string[]): ParsedRow {
  if (fields.length !== COLUMNS.length) return { kind: 'rejected', reason: 'wrong_column_count' }
  const row = Object.fromEntries(COLUMNS.map((column, index) => [column, fields[index]])) as RegisterRow
  return { kind: 'row', row }
}

function wrongHeader(): ImportError {
  return new ImportError('wrong_header', `the first line is not the register's header of ${COLUMNS.length} columns`)
}

function malformed(message: string, cause?: unknown): ImportError {
  return new ImportError('csv_malformed', message, cause)
}
