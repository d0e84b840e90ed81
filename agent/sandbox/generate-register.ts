/** Writes a made-up register of any size to a file. Memory use does not depend on the number of rows. */
import { open, rename, rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sampleRegister } from './sample-register.ts'
import { zipArchive } from './zip-writer.ts'

/** The name of the CSV file in the register's own archive. */
const CSV_NAME = 'companies.csv'
const CHUNK_CHARACTERS = 256 * 1024

interface GenerateOptions {
  rows: number
  seed: number
  /** The file to write; `.zip` for an archive, any other name for CSV. */
  out: string
  /** Receives the number of rows written so far. */
  onProgress?: (rows: number) => void
}

/** The same rows and seed give the same bytes. The file gets its name when it is complete. */
export async function generateRegister({
  rows,
  seed,
  out,
  onProgress = () => undefined,
}: GenerateOptions): Promise<void> {
  const csv = toChunks(sampleRegister({ rows, seed }), onProgress)
  const unfinished = `${out}.part`
  try {
    const bytes = extname(out) === '.zip' ? zipArchive(CSV_NAME, csv) : csv
    // Opened here, because a stream that opens the file itself may do so after a failure has removed it.
    const file = await open(unfinished, 'w')
    await pipeline(Readable.from(bytes, { objectMode: false }), file.createWriteStream())
    await rename(unfinished, out)
  } finally {
    await rm(unfinished, { force: true })
  }
}

function* toChunks(records: Iterable<string>, onProgress: (rows: number) => void): Generator<Buffer> {
  let text = ''
  // The header is record 0.
  let row = 0
  for (const record of records) {
    text += record
    if (text.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(text)
      text = ''
      onProgress(row)
    }
    row += 1
  }
  yield Buffer.from(text)
  onProgress(row - 1)
}
