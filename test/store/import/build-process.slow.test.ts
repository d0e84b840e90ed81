/** Tests of downloads and builds in child processes: results, errors, crashes, deadlines and the stop. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { constants } from 'node:os'
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
import { sendBody, sendIfChanged, startPortal, type TestPortal } from '../../support/portal.ts'
import { HEADER, outcomeOf } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { buildZip } from '../../support/zip.ts'

type Build = ReturnType<typeof openBuildProcesses>['build']

/** More than the memory of the child if it collects them. */
const COMMAS = 150_000_000

const WITHOUT_NICE = ['setpriv', '--bounding-set', '-sys_nice', '--inh-caps', '-sys_nice']
const MODIFIED = 'Thu, 01 Jan 2026 04:05:06 GMT'
const SELF_SIGNED =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost'.split(
    ' ',
  )

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

  it('refuses a row of 150 million commas with a code', async () => {
    const content = Buffer.concat([Buffer.from(`${HEADER}\n`), Buffer.alloc(COMMAS, ',')])
    const path = join(directory, 'commas.zip')
    await writeFile(path, buildZip({ name: 'companies.csv', content }))
    expect(await outcomeOf(run(processes.build, path))).to.equal('csv_malformed')
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

  it('ends with a code if the child does not end by itself, and leaves nothing on disk', async function () {
    if (process.platform !== 'linux') return this.skip()
    const path = await largeFile()
    const others = await childrenOf(process.pid)
    const build = outcomeOf(run(openBuildProcesses({ jobMs: 2_000 }).build, path))
    for (let children: number[] = []; children.length === 0; await sleep(1)) {
      children = (await childrenOf(process.pid)).filter((pid) => !others.includes(pid))
      for (const pid of children) process.kill(pid, 'SIGSTOP')
    }
    expect(await build).to.equal('import_timeout')
    expect(await readdir(join(directory, 'data', 'building')).catch(() => [])).to.deep.equal([])
  })

  it('succeeds if its priority may not be changed', async function () {
    const nice = ['nice', '-n', '19']
    const denied = process.getuid?.() === 0 ? [...WITHOUT_NICE, ...nice] : nice
    const change = `require('node:os').setPriority(${constants.priority.PRIORITY_BELOW_NORMAL})`
    const [program = '', ...options] = denied
    const { stderr } = spawnSync(program, [...options, process.execPath, '-e', change], {
      encoding: 'utf8',
      timeout: 10_000,
    })
    if (!stderr.includes('EACCES')) return this.skip()
    const args = ['import', REGISTER, join(directory, 'data')]
    const child = startChild('test/programs/run-import.js', args, {}, denied)
    expect(await child.ended).to.equal(0)
    expect(child.said.get('rows')).to.equal('30')
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

  describe('after a download in a child process', () => {
    let portal: TestPortal
    beforeEach(async () => void (portal = await startPortal()))
    afterEach(() => portal.close())

    async function retrieve(
      change: Partial<Parameters<typeof importDataset>[0]> = {},
      { download } = openBuildProcesses(),
    ): Promise<string> {
      const dataDirectory = join(directory, 'data')
      const catalog = new Catalog(dataDirectory)
      const request = { dataDirectory, catalog, path: `${portal.url}/register`, publication: CRO_COMPANIES, download }
      const outcome = await outcomeOf(importDataset({ ...request, now: () => new Date(), ...change }))
      seen.push(catalog.retrieval())
      await catalog.close()
      expect(await readdir(join(dataDirectory, 'building')).catch(() => [])).to.deep.equal([])
      return outcome
    }

    it('has the validators and the time of the source, which later requests repeat', async () => {
      portal.on('/register', sendIfChanged(await readFile(REGISTER), { etag: '"a"', 'last-modified': MODIFIED }))
      expect(await retrieve()).to.equal('done')
      expect(seen[0]).to.deep.include({ newest_update: '2026-01-01T04:05:06.000Z' })
      expect(await retrieve()).to.equal('done')
      expect(portal.requests[1]?.headers).to.include({ 'if-none-match': '"a"', 'if-modified-since': MODIFIED })
      portal.on('/register', sendBody('<html>'))
      expect(await retrieve()).to.equal('source_is_page')
    })

    describe('from a portal with a certificate of its own', () => {
      let files: { key: string; cert: string }
      before(async function () {
        const folder = await makeTemporaryDirectory()
        files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') }
        const made = spawnSync('openssl', [...SELF_SIGNED, '-keyout', files.key, '-out', files.cert], {
          timeout: 60_000,
        })
        if (made.status !== 0) return this.skip()
        process.env['NODE_EXTRA_CA_CERTS'] = files.cert
      })
      after(() => void delete process.env['NODE_EXTRA_CA_CERTS'])

      it('upgrades an http URL to https on the same host', async () => {
        const requested: string[] = []
        const [key, cert] = await Promise.all([readFile(files.key), readFile(files.cert)])
        const register = await readFile(REGISTER)
        const server = createServer({ key, cert }, (request, response) => {
          requested.push(request.url ?? '')
          const result = { url: `http://${request.headers.host}/a.csv?b=c`, last_modified: null }
          response.end(request.url?.startsWith('/api') ? JSON.stringify({ success: true, result }) : register)
        })
        await once(server.listen(0), 'listening')
        const { port } = server.address() as AddressInfo
        expect(await retrieve({ path: `https://localhost:${port}/dataset/d/resource/r` })).to.equal('done')
        expect(requested).to.deep.equal(['/api/3/action/resource_show?id=r', '/a.csv?b=c'])
        server.closeAllConnections()
        server.close()
      })
    })
  })
})
