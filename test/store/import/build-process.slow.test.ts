/** Tests of builds in child processes: results, errors, crashes and the stop. */
import { once } from 'node:events'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { sampleRegister } from '../../support/sample/register.ts'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { buildFile } from '../../../store/import/build.ts'
import { openBuildProcesses } from '../../../store/import/build-process.ts'
import { importDataset } from '../../../store/import/run.ts'
import { CRO_COMPANIES } from '../../../store/dataset/source.ts'
import { childrenOf, isRunning } from '../../support/child-processes.ts'
import { startChild } from '../../support/child.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { outcomeOf } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

type Build = ReturnType<typeof openBuildProcesses>['build']

/** Enough to begin a build, and too little for 20,000 rows. */
const SMALL_HEAP_MIB = 16

describe('a build in a child process', function () {
  // Several processes start in one test, on a machine that may be busy.
  this.timeout(240_000)
  let directory: string
  let seen: unknown[]
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    seen = []
  })

  const processes = openBuildProcesses()
  const small = openBuildProcesses({ heapMib: SMALL_HEAP_MIB })

  const run = (build: Build, path: string, folder = 'data', signal?: AbortSignal) => {
    const request = { dataDirectory: join(directory, folder), path, importedAt: '2026-01-02T03:04:05.000Z' }
    return build(request, { onProgress: (progress) => void seen.push(progress), signal })
  }

  async function largeFile(): Promise<string> {
    const path = join(directory, 'large.csv')
    await writeFile(path, [...sampleRegister({ rows: 20_000, seed: 1 })].join(''))
    return path
  }

  async function untilBuilding(): Promise<void> {
    while (seen.length === 0) await sleep(1)
  }

  async function expectNothingLeft(): Promise<void> {
    expect(await readdir(join(directory, 'data', 'building'))).to.deep.equal([])
    expect(await readdir(join(directory, 'data'))).to.deep.equal(['building'])
  }

  it('returns the same as a build in this process and reports its progress and its memory', async () => {
    const built = await run(processes.build, REGISTER)
    expect(seen).to.deep.include({ phase: 'rows', rows: 30, share: 1 })
    expect(processes.peakMemoryBytes()).to.be.greaterThan(2 ** 20)
    expect(await run(buildFile, REGISTER, 'other')).to.deep.equal(built)
  })

  it('rejects with the code of its ImportError', async () => {
    const path = join(directory, 'page.csv')
    await writeFile(path, '<!DOCTYPE html>')
    expect(await outcomeOf(run(processes.build, path))).to.equal('wrong_header')
    expect(await outcomeOf(run(processes.build, join(directory, 'none')))).to.equal('source_unreadable')
  })

  it("rejects with the system's code if the folder cannot be written", async () => {
    await writeFile(join(directory, 'data'), 'a file')
    const error = await run(processes.build, REGISTER).catch((cause: unknown) => cause)
    expect(error).to.have.property('code', 'ENOTDIR')
  })

  it('is killed when it is stopped, and leaves nothing on disk', async () => {
    const stopping = new AbortController()
    const build = outcomeOf(run(processes.build, await largeFile(), 'data', stopping.signal))
    await untilBuilding()
    stopping.abort()
    expect(await build).to.equal('stopped')
    await expectNothingLeft()
    expect(await outcomeOf(run(processes.build, REGISTER, 'data', stopping.signal))).to.equal('stopped')
  })

  it('[11.10] fails with a code if the child is killed, and leaves nothing on disk', async function () {
    if (process.platform !== 'linux') return this.skip()
    const path = await largeFile()
    const others = await childrenOf(process.pid)
    let outcome = 'done'
    // On a busy machine a build may end before the kill.
    while (outcome === 'done') {
      await rm(join(directory, 'data'), { recursive: true, force: true })
      seen.length = 0
      const build = outcomeOf(run(processes.build, path))
      await untilBuilding()
      for (const pid of await childrenOf(process.pid)) if (!others.includes(pid)) process.kill(pid, 'SIGKILL')
      outcome = await build
    }
    expect(outcome).to.equal('build_crashed')
    await expectNothingLeft()
  })

  it('[11.10] fails with a code if the heap of the child is exhausted, and leaves nothing on disk', async () => {
    expect(await outcomeOf(run(small.build, await largeFile()))).to.equal('build_crashed')
    await expectNothingLeft()
  })

  it('[11.10] ends its child when the parent is killed', async function () {
    if (process.platform !== 'linux') return this.skip()
    const path = await largeFile()
    let children: number[] = []
    while (children.length === 0) {
      const parent = startChild('test/programs/run-import.js', ['import', path, join(directory, 'data')], {})
      while (!parent.said.has('phase')) await once(parent.process.stdout!, 'data')
      // Stopped, so that the parent neither ends nor reads the result.
      parent.process.kill('SIGSTOP')
      children = await childrenOf(parent.process.pid ?? 0)
      parent.process.kill('SIGKILL')
      await parent.ended
    }
    for (const child of children) while (await isRunning(child)) await sleep(5)
  })

  describe('whose archive has crashed an import', () => {
    const open = () => new Catalog(join(directory, 'data'))
    const importWith = async (build: Build, path: string, isForced = false) => {
      const catalog = open()
      const request = { dataDirectory: join(directory, 'data'), catalog, path, publication: CRO_COMPANIES, isForced }
      try {
        return await outcomeOf(importDataset({ ...request, now: () => new Date(), build }))
      } finally {
        await catalog.close()
      }
    }

    it('[11.10] is not tried again until its bytes change, also after a restart', async () => {
      const path = await largeFile()
      let started = 0
      const counted: Build = (...file) => {
        started += 1
        return processes.build(...file)
      }
      expect(await importWith(small.build, path)).to.equal('build_crashed')
      expect(await importWith(counted, path)).to.equal('crashed_before')
      expect(started).to.equal(0)
      await writeFile(path, await readFile(REGISTER))
      expect(await importWith(counted, path)).to.equal('done')
    })

    it('[11.10] is tried again when an operator forces it, and is forgotten if that succeeds', async () => {
      const path = await largeFile()
      expect(await importWith(small.build, path)).to.equal('build_crashed')
      expect(await importWith(small.build, path, true)).to.equal('build_crashed')
      expect(await importWith(processes.build, path, true)).to.equal('done')
      expect(await importWith(processes.build, REGISTER)).to.equal('done')
      expect(await importWith(processes.build, path)).to.equal('done')
    })

    it('is remembered up to ten archives', async () => {
      const catalog = open()
      const archives = Array.from({ length: 11 }, (_, index) => index.toString(16).padStart(64, '0'))
      for (const archive of archives) await catalog.setCrashed(archive, true)
      expect(archives.map((archive) => catalog.hasCrashed(archive))).to.deep.equal([
        false,
        ...Array.from({ length: 10 }, () => true),
      ])
      await catalog.close()
    })
  })
})
