/** Bounded reads of files whose stated size is wrong or changes. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { readFileUpTo } from '../../../store/files/bounded-read.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const BYTES_MAX = 100_000

describe('a bounded read', () => {
  let path: string
  beforeEach(async () => void (path = join(await makeTemporaryDirectory(), 'file')))

  it('returns every byte of a file that is not larger', async () => {
    await writeFile(path, Buffer.alloc(BYTES_MAX, 'a'))
    expect(await readFileUpTo(await open(path), BYTES_MAX)).to.deep.equal(new Uint8Array(BYTES_MAX).fill(97))
  })

  it('returns nothing of a file that is larger, also if it has grown since it was opened', async () => {
    await writeFile(path, 'a')
    await using file = await open(path)
    expect((await file.stat()).size).to.equal(1)
    await appendFile(path, Buffer.alloc(BYTES_MAX, 'a'))
    expect(await readFileUpTo(file, BYTES_MAX)).to.equal(undefined)
  })

  it('returns nothing of a device or a pipe without an end, and closes it', async () => {
    expect(await readFileUpTo(await open('/dev/zero'), BYTES_MAX)).to.equal(undefined)
    await promisify(execFile)('mkfifo', [path])
    const writer = spawn('sh', ['-c', 'yes > "$0"', path], { timeout: 60_000 })
    const ended = once(writer, 'exit')
    expect(await readFileUpTo(await open(path), BYTES_MAX)).to.equal(undefined)
    // The writer ends because nothing reads the pipe any more.
    await ended
  })
})
