/** A response log with flipped bits in its file: a read returns the written record, no record, or an error. */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { responsesFolder } from '../../store/files/layout.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { makeRecord } from '../support/records.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'

const READER = fileURLToPath(new URL(import.meta.resolve('#root/dist/test/programs/read-responses.js')))
const RECORDS = 20
const COPIES = 12
const READ_MS_MAX = 20_000
const FLIPS = [1, 8, 64]
/** Distributes the flipped bits over the file, equally in every run (the golden ratio). */
const STRIDE = 0.618_033_988_75

describe('a damaged response log', () => {
  let directory: string
  let whole: Buffer
  const records = Array.from({ length: RECORDS }, (_, index) =>
    makeRecord({
      nonce: `0x${String(index).padStart(64, '0')}`,
      body: JSON.stringify({ index, filler: 'x'.repeat(700) }),
    }),
  )

  before(async () => {
    directory = await makeTemporaryDirectory()
    const log = new LmdbResponseLog(directory)
    for (const record of records) await log.claim(record)
    await log.close()
    whole = await readFile(join(responsesFolder(directory), 'data.mdb'))
  })

  async function readDamaged(bytes: Buffer): Promise<string[]> {
    const copy = await mkdtemp(join(directory, 'copy-'))
    await mkdir(responsesFolder(copy))
    await writeFile(join(responsesFolder(copy), 'data.mdb'), bytes)
    const identities = records.map(({ identity }) => identity)
    // A damaged page can refer to itself, and LMDB then reads without an end.
    const options = { encoding: 'utf8', timeout: READ_MS_MAX, killSignal: 'SIGKILL' } as const
    const { stdout } = spawnSync(process.execPath, [READER, copy, ...identities], options)
    return stdout.trim().split('\n')
  }

  const digests = records.map(({ body }) => `body ${hash('sha256', body)}`)

  it('returns every record before a bit is flipped', async () => {
    expect(await readDamaged(whole)).to.deep.equal(digests)
  })

  it('never returns another body', async () => {
    let errors = 0
    let position = 0
    for (let copy = 0; copy < COPIES; copy += 1) {
      const bytes = Buffer.from(whole)
      for (let flip = 0; flip < (FLIPS[copy % FLIPS.length] ?? 1); flip += 1) {
        position = (position + STRIDE) % 1
        const at = Math.floor(position * bytes.length)
        bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (flip % 8)), at)
      }
      for (const [index, line] of (await readDamaged(bytes)).entries()) {
        if (line.startsWith('body')) expect(line, `copy ${copy}`).to.equal(digests[index])
        else errors += 1
      }
    }
    expect(errors).to.be.greaterThan(0)
  })
})
