/** A response log with flipped bits anywhere in its file: what is read is what was written, or an error, or nothing. */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { responsesFolder } from '../../store/layout.ts'
import { openResponseLog } from '../../store/responses.ts'
import { aRecord } from '../support/records.ts'

const READER = fileURLToPath(new URL(import.meta.resolve('#root/dist/test/support/store-reader.js')))
const RECORDS = 20
const COPIES = 12
const FLIPS = [1, 8, 64]
/** Spreads the flips over the file (the golden ratio), the same in every run. */
const STRIDE = 0.618_033_988_75

describe('a damaged response log', () => {
  let directory: string
  let whole: Buffer
  const records = Array.from({ length: RECORDS }, (_, index) =>
    aRecord({
      nonce: `0x${String(index).padStart(64, '0')}`,
      body: JSON.stringify({ index, filler: 'x'.repeat(700) }),
    }),
  )

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'damaged-'))
    const log = openResponseLog(directory)
    for (const record of records) await log.claim(record)
    await log.close()
    whole = await readFile(join(responsesFolder(directory), 'data.mdb'))
  })
  after(() => rm(directory, { recursive: true }))

  async function readDamaged(bytes: Buffer): Promise<string[]> {
    const copy = await mkdtemp(join(directory, 'copy-'))
    await mkdir(responsesFolder(copy))
    await writeFile(join(responsesFolder(copy), 'data.mdb'), bytes)
    const identities = records.map(({ identity }) => identity)
    const { stdout } = spawnSync(process.execPath, [READER, copy, ...identities], { encoding: 'utf8' })
    return stdout.trim().split('\n')
  }

  const digests = records.map(({ body }) => `body ${hash('sha256', body)}`)

  it('is read as it was written while it is whole', async () => {
    expect(await readDamaged(whole)).to.deep.equal(digests)
  })

  it('never gives another body', async () => {
    let errors = 0
    let place = 0
    for (let copy = 0; copy < COPIES; copy += 1) {
      const bytes = Buffer.from(whole)
      for (let flip = 0; flip < (FLIPS[copy % FLIPS.length] ?? 1); flip += 1) {
        place = (place + STRIDE) % 1
        const at = Math.floor(place * bytes.length)
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
