/** The command `generate`: a made-up register of any size in a file, row by row, so that memory does not grow with it. */
import { open, rename, rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { sampleRegister } from './sample.ts'
import { zipArchive } from './zip-writer.ts'

const USAGE = 'usage: npm run generate -- --rows N --seed S --out FILE.zip|FILE.csv'
const EXIT_USAGE = 2

/** The member's name in the register's own archive. */
const MEMBER = 'companies.csv'
const CHUNK_CHARACTERS = 256 * 1024
const PROGRESS_ROWS = 10_000

interface Terminal {
  args: string[]
  print: (line: string) => void
  /** Shows how far the file is, in place of what it showed before. */
  progress: (line: string) => void
}

interface Wanted {
  rows: number
  seed: number
  out: string
}

/** The same rows and seed give the same bytes. The file has its name only once it is whole. */
export async function generateCommand({ args, print, progress }: Terminal): Promise<number> {
  const wanted = readArguments(args)
  if (wanted === undefined) {
    print(USAGE)
    return EXIT_USAGE
  }
  const { rows, seed, out } = wanted
  const register = sampleRegister({ rows, seed })
  const onRow = (row: number) => {
    if (row % PROGRESS_ROWS === 0) progress(`writing ${row} of ${rows} rows`)
  }
  const csv = chunks(register, onRow)
  const unfinished = `${out}.part`
  try {
    const bytes = extname(out) === '.zip' ? zipArchive(MEMBER, csv) : csv
    // Opened first: a stream that opens by itself may do so after a failure has removed the file.
    const file = await open(unfinished, 'w')
    await pipeline(Readable.from(bytes, { objectMode: false }), file.createWriteStream())
    await rename(unfinished, out)
  } finally {
    await rm(unfinished, { force: true })
  }
  progress('')
  print(`${rows} rows in ${out}`)
  return 0
}

function readArguments(args: string[]): Wanted | undefined {
  try {
    const options = { rows: { type: 'string' }, seed: { type: 'string' }, out: { type: 'string' } } as const
    const { rows = '', seed = '', out = '' } = parseArgs({ args, options }).values
    const isRight = [rows, seed].every((text) => /^[0-9]{1,10}$/.test(text)) && /\.(csv|zip)$/.test(out)
    return isRight ? { rows: Number(rows), seed: Number(seed), out } : undefined
  } catch {
    return undefined
  }
}

function* chunks(records: Iterable<string>, onRow: (row: number) => void): Generator<Buffer> {
  let text = ''
  // The header is record 0.
  let row = 0
  for (const record of records) {
    text += record
    if (text.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(text)
      text = ''
    }
    onRow(row)
    row += 1
  }
  yield Buffer.from(text)
}
