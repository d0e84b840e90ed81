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
  const parser = new StrictParser()
  try {
    for await (const chunk of csv as AsyncIterable<Buffer>) yield await parser.write(chunk)
    yield await parser.end()
  } catch (cause) {
    if (cause instanceof ImportError) throw cause
    throw new ImportError('csv_malformed', 'the file cannot be parsed as CSV', cause)
  }
}

/** Wraps csv-parse. A malformed row becomes null if the rows after it can still be told apart. */
class StrictParser {
  #records: CsvRecord[] = []
  /** The records, malformed rows and empty lines so far. */
  #ended = 0
  #malformed = 0
  /** Upper bound of the bytes since the last record ended. */
  #unfinishedBytes = 0
  readonly #parser: Parser

  constructor() {
    let malformedLine: number | undefined
    this.#parser = parse({
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
        this.#records.push(record)
        return null
      },
      on_skip: (error) => {
        // An error before the first record is left to the check of the header.
        const isFirstRecord = error?.records === 0
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
  async write(bytes: Buffer): Promise<CsvRecord[]> {
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      const part = bytes.subarray(at, at + PART_BYTES)
      await settle((done) => this.#parser.write(part, done))
      this.#checkUnfinished(part.length)
    }
    return this.#records.splice(0)
  }

  /** Returns the remaining records. */
  async end(): Promise<CsvRecord[]> {
    await settle((done) => this.#parser.end(done))
    return this.#records.splice(0)
  }

  /** csv-parse limits the bytes of the fields of a record, but not their number. */
  #checkUnfinished(length: number): void {
    const { records, empty_lines: emptyLines } = this.#parser.info
    const ended = records + emptyLines + this.#malformed
    this.#unfinishedBytes = ended > this.#ended ? length : this.#unfinishedBytes + length
    this.#ended = ended
    if (this.#unfinishedBytes > UNFINISHED_BYTES_MAX) throw tooLarge()
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
