/** Reads a CSV as records with csv-parse, which is strict about quotes, and bounds the memory that a record can use. */
import { parse, type Parser } from 'csv-parse'
import type { Readable } from 'node:stream'
import { ImportError } from './errors.ts'

/** Thirty times a row of the register. Bounds the memory that an unclosed quote can use. */
const ROW_BYTES_MAX = 8 * 1024
/** Five times the columns of the register. Bounds the memory that a line of commas can use. */
const ROW_FIELDS_MAX = 100
/** csv-parse gets parts of this size, so that it cannot collect an unlimited record before the next check. */
const PART_BYTES = ROW_BYTES_MAX
/** Upper bound for a valid record: quotes can double its size, and it can begin and end inside a part. */
const UNFINISHED_BYTES_MAX = 4 * PART_BYTES

/** Errors that consume an unknown number of rows, so that they cannot be counted as one malformed row. */
const FATAL_CODES: ReadonlySet<string> = new Set(['CSV_MAX_RECORD_SIZE', 'CSV_QUOTE_NOT_CLOSED'])

/** The fields of a record, or null if it is malformed. */
type CsvRecord = string[] | null

/** Yields the records of the file in batches. Empty lines are skipped. */
export async function* readRecords(csv: Readable): AsyncGenerator<CsvRecord[], void, void> {
  const records: CsvRecord[] = []
  let malformed = 0
  const parser = openParser({
    onRecord: (record) => records.push(record),
    onMalformed() {
      records.push(null)
      malformed += 1
    },
  })
  /** The records, malformed rows and empty lines so far. */
  let ended = 0
  /**
   * Upper bound of the bytes since the last record ended. csv-parse limits the bytes of the fields, but not their
   * number.
   */
  let unfinishedBytes = 0
  async function write(part: Buffer): Promise<void> {
    await settle((done) => parser.write(part, done))
    const { records: complete, empty_lines: emptyLines } = parser.info
    const before = ended
    ended = complete + emptyLines + malformed
    unfinishedBytes = ended > before ? part.length : unfinishedBytes + part.length
    if (unfinishedBytes > UNFINISHED_BYTES_MAX) throw tooLarge()
  }
  try {
    for await (const chunk of csv as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += PART_BYTES) await write(chunk.subarray(at, at + PART_BYTES))
      yield records.splice(0)
    }
    await settle((done) => parser.end(done))
    yield records.splice(0)
  } catch (cause) {
    if (cause instanceof ImportError) throw cause
    throw new ImportError('csv_malformed', 'the file cannot be parsed as CSV', cause)
  }
}

/** `onMalformed` is called for each malformed row that the parser can skip. */
function openParser({
  onRecord,
  onMalformed,
}: {
  onRecord: (record: string[]) => void
  onMalformed: () => void
}): Parser {
  let malformedLine: number | undefined
  const parser = parse({
    bom: true,
    max_record_size: ROW_BYTES_MAX,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_record: (record: string[]) => {
      if (record.length > ROW_FIELDS_MAX) throw tooManyFields()
      // csv-parse compares before it adds a character.
      if (Buffer.byteLength(record.join('')) > ROW_BYTES_MAX) throw tooLarge()
      onRecord(record)
      return null
    },
    on_skip: (error) => {
      // An error before the first record is left to the check of the header.
      const isFirstRecord = error?.records === 0
      if (error && FATAL_CODES.has(error.code) && !isFirstRecord) throw error
      // Several errors in one row count as one malformed row.
      const line = Number(error?.lines)
      if (line !== malformedLine) onMalformed()
      malformedLine = line
    },
  })
  // `write` and `end` report the error to their callback as well.
  parser.on('error', () => undefined)
  return parser
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
