/** The build in a thread of its own: the same snapshot, the same refusals, and a loop that stays free meanwhile. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { sampleRegister } from '../../../agent/sandbox/sample.ts'
import { buildFile, type BuildFile, type Progress } from '../../../store/import/build.ts'
import { openBuildThreads, type BuildThreads } from '../../../store/import/thread.ts'
import { PROCESSES, REGISTER } from '../../support/fixtures.ts'
import { outcomeOf } from '../../support/register.ts'

describe('a build in a thread', () => {
  let directory: string
  let threads: BuildThreads
  let seen: Progress[]
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'thread-'))
    threads = openBuildThreads()
    seen = []
  })
  afterEach(async () => {
    await threads.stop()
    await rm(directory, { recursive: true })
  })

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

  it('gives what a build on the spot gives, and says where it is', async () => {
    const info = await run(threads.build, REGISTER)
    expect(seen).to.deep.include({ phase: 'rows', rows: 30, share: 1 })
    expect(await run(buildFile, REGISTER, 'other')).to.deep.equal(info)
  })

  it('leaves the event loop to others', async () => {
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

  it('is refused with its fault and one line', async () => {
    const path = join(directory, 'page.csv')
    await writeFile(path, '<!DOCTYPE html>')
    expect(await outcomeOf(run(threads.build, path))).to.equal('wrong_header')
    expect(await outcomeOf(run(threads.build, join(directory, 'none')))).to.equal('source_unreadable')
  })

  it("fails with the system's own code where nothing can be written", async () => {
    await writeFile(join(directory, 'data'), 'a file')
    const error = await run(threads.build, REGISTER).catch((cause: unknown) => cause)
    expect(error).to.have.property('code', 'ENOTDIR')
  })

  it('is left at a stop, and leaves nothing', async () => {
    const build = outcomeOf(run(threads.build, await largeFile()))
    while (seen.length === 0) await new Promise((resolve) => void setImmediate(resolve))
    await threads.stop()
    expect(await build).to.equal('stopped')
    expect(await readdir(join(directory, 'data', 'building'))).to.deep.equal([])
    expect(await readdir(join(directory, 'data'))).to.deep.equal(['building'])
  })
})
