/** Tests of the command `import` as a child process of the service: failures, crashes, deadline, lock and stop. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { importInProcess } from '../../../operator/cli/import-process.ts'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { childrenOf, isRunning } from '../../support/child-processes.ts'
import { startChild } from '../../support/child.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { sampleRegister } from '../../support/sample/register.ts'
import { HEADER, outcomeOf } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { buildZip } from '../../support/zip.ts'

/** More than the memory of the child if it collects them. */
const COMMAS = 150_000_000

const WITHOUT_NICE = ['setpriv', '--bounding-set', '-sys_nice', '--inh-caps', '-sys_nice']
const SELF_SIGNED =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost'.split(
    ' ',
  )

describe('an import in a child process', function () {
  // Several processes start in one test, on a machine that may be busy.
  this.timeout(240_000)
  let directory: string
  let dataDirectory: string
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    dataDirectory = join(directory, 'data')
  })

  const never = new AbortController().signal

  const run = (
    source: string,
    { signal = never, ...options }: { signal?: AbortSignal } & Partial<Parameters<typeof importInProcess>[0]> = {},
  ) => importInProcess({ dataDirectory, environment: {}, ...options })(['--synthetic', '--', source], signal)

  const startImport = (source: string, command?: string[]) =>
    startChild('operator/main.js', ['import', source], { DATA_DIR: dataDirectory }, command)

  async function largeFile(): Promise<string> {
    const path = join(directory, 'large.csv')
    await writeFile(path, [...sampleRegister({ rows: 20_000, seed: 1 })].join(''))
    return path
  }

  async function untilBuilding(): Promise<void> {
    while ((await readdir(join(dataDirectory, 'building')).catch(() => [])).length === 0) await sleep(1)
  }

  async function served(): Promise<number | undefined> {
    await using catalog = new Catalog(dataDirectory)
    return catalog.current()?.snapshot.info.row_count
  }

  it('publishes what the command publishes', async () => {
    await run(REGISTER)
    expect(await served()).to.equal(30)
  })

  it('refuses a row of 150 million commas with a code', async () => {
    const content = Buffer.concat([Buffer.from(`${HEADER}\n`), Buffer.alloc(COMMAS, ',')])
    const path = join(directory, 'commas.zip')
    await writeFile(path, buildZip({ name: 'companies.csv', content }))
    expect(await outcomeOf(run(path))).to.equal('csv_malformed')
  })

  it('fails with a code if the data directory cannot be written', async () => {
    await writeFile(dataDirectory, 'a file')
    expect(await outcomeOf(run(REGISTER))).to.equal('import_failed')
  })

  it('[11.10] fails with a code if its heap is too small, and the next one succeeds', async () => {
    const path = await largeFile()
    expect(await outcomeOf(run(path, { heapMib: 8 }))).to.equal('import_crashed')
    expect(await served()).to.equal(undefined)
    await run(path)
    expect(await served()).to.equal(20_000)
  })

  it('is killed when it is stopped, and publishes nothing', async () => {
    const stopping = new AbortController()
    const outcome = outcomeOf(run(await largeFile(), { signal: stopping.signal }))
    await untilBuilding()
    stopping.abort()
    expect(await outcome).to.equal('import_crashed')
    expect(await outcomeOf(run(REGISTER, { signal: stopping.signal }))).to.equal('import_crashed')
    expect(await served()).to.equal(undefined)
  })

  it('ends with a code if the child does not end by itself', async function () {
    if (process.platform !== 'linux') return this.skip()
    const path = await largeFile()
    const others = await childrenOf(process.pid)
    const outcome = outcomeOf(run(path, { importMs: 2_000 }))
    for (let children: number[] = []; children.length === 0; await sleep(1)) {
      children = (await childrenOf(process.pid)).filter((pid) => !others.includes(pid))
      for (const pid of children) process.kill(pid, 'SIGSTOP')
    }
    expect(await outcome).to.equal('import_timeout')
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
    expect(await startImport(REGISTER, denied).ended).to.equal(0)
    expect(await served()).to.equal(30)
  })

  it('[11.10] fails with a code if the child is killed, and the next one succeeds', async function () {
    if (process.platform !== 'linux') return this.skip()
    const path = await largeFile()
    const others = await childrenOf(process.pid)
    const outcome = outcomeOf(run(path))
    await untilBuilding()
    for (const pid of await childrenOf(process.pid)) if (!others.includes(pid)) process.kill(pid, 'SIGKILL')
    expect(await outcome).to.equal('import_crashed')
    expect(await served()).to.equal(undefined)
    await run(path)
    expect(await served()).to.equal(20_000)
  })

  it('waits for an import of an operator', async () => {
    const first = startImport(await largeFile())
    await untilBuilding()
    first.process.kill('SIGSTOP')
    const second = startImport(REGISTER)
    while (!second.stderr().includes('Another import is running')) await sleep(5)
    expect(await served()).to.equal(undefined)
    first.process.kill('SIGCONT')
    expect([await first.ended, await second.ended]).to.deep.equal([0, 0])
    expect(await served()).to.equal(30)
  })

  it('[11.10] ends its child when the service is killed', async function () {
    if (process.platform !== 'linux') return this.skip()
    const service = startChild('operator/main.js', ['serve'], {
      DATA_DIR: dataDirectory,
      DATASET: await largeFile(),
      FACILITATOR: 'http://127.0.0.1:1',
      RPC_URL: 'http://127.0.0.1:1',
      PAY_TO: '0x00000000000000000000000000000000000000c7',
      PORT: '0',
    })
    await untilBuilding()
    const children = await childrenOf(service.process.pid ?? 0)
    service.process.kill('SIGKILL')
    await service.ended
    expect(children).to.have.lengthOf(1)
    for (const child of children) while (await isRunning(child)) await sleep(5)
    expect(await served()).to.equal(undefined)
  })

  describe('from a portal with a certificate of its own', () => {
    let files: { key: string; cert: string }
    before(async function () {
      const folder = await makeTemporaryDirectory()
      files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') }
      const made = spawnSync('openssl', [...SELF_SIGNED, '-keyout', files.key, '-out', files.cert], {
        timeout: 60_000,
      })
      if (made.status !== 0) this.skip()
    })

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
      const environment = { NODE_EXTRA_CA_CERTS: files.cert }
      expect(await outcomeOf(run(`https://localhost:${port}/dataset/d/resource/r`, { environment }))).to.equal('done')
      expect(requested).to.deep.equal(['/api/3/action/resource_show?id=r', '/a.csv?b=c'])
      server.closeAllConnections()
      server.close()
    })
  })
})
