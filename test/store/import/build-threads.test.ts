/** Tests of builds in worker threads: results, errors, a free event loop and the stop. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { sampleRegister } from '../../../agent/sandbox/sample-register.ts'
import { buildFile, type BuildFile, type ImportProgress } from '../../../store/import/build.ts'
import { openBuildThreads, type BuildThreads } from '../../../store/import/build-threads.ts'
import { PROCESSES, REGISTER } from '../../support/fixtures.ts'
import { outcomeOf } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('a build in a worker thread', () => {
  let directory: string
  let threads: BuildThreads
  let seen: ImportProgress[]
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    threads = openBuildThreads()
    seen = []
  })
  afterEach(() => threads.stop())

  const run = (build: BuildFile, path: string, folder = 'data') =>
    build({
      dataDirectory: join(directory, folder),
      path,
      processes: PROCESSES,
      now: () => new Date('2026-01-02T03:04:05.000Z'),
      onProgress: (progress) => void seen.push(progress),
    })

  async function largeFile(): Promise<string> {
    const path = join(directory, 'large.csv')
    await writeFile(path, [...sampleRegister({ rows: 20_000, seed: 1 })].join(''))
    return path
  }

  it('returns the same as a build in this thread and reports its progress', async () => {
    const info = await run(threads.build, REGISTER)
    expect(seen).to.deep.include({ phase: 'rows', rows: 30, share: 1 })
    expect(await run(buildFile, REGISTER, 'other')).to.deep.equal(info)
  })

  it('does not block the event loop', async () => {
    const path = await largeFile()
    let longest = 0
    let last = performance.now()
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 1)
    await run(threads.build, path)
    clearInterval(timer)
    expect(longest).to.be.lessThan(250)
  })

  it('rejects with the code of its ImportError', async () => {
    const path = join(directory, 'page.csv')
    await writeFile(path, '<!DOCTYPE html>')
    expect(await outcomeOf(run(threads.build, path))).to.equal('wrong_header')
    expect(await outcomeOf(run(threads.build, join(directory, 'none')))).to.equal('source_unreadable')
  })

  it("rejects with the system's code if the folder cannot be written", async () => {
    await writeFile(join(directory, 'data'), 'a file')
    const error = await run(threads.build, REGISTER).catch((cause: unknown) => cause)
    expect(error).to.have.property('code', 'ENOTDIR')
  })

  it('stops on request and leaves nothing on disk', async () => {
    const build = outcomeOf(run(threads.build, await largeFile()))
    while (seen.length === 0) await new Promise((resolve) => void setImmediate(resolve))
    await threads.stop()
    expect(await build).to.equal('stopped')
    expect(await readdir(join(directory, 'data', 'building'))).to.deep.equal([])
    expect(await readdir(join(directory, 'data'))).to.deep.equal(['building'])
  })
})
