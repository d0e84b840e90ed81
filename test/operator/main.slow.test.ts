/** The program as a process: its first lines, signals, failures to start, and the commands beside a running service. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { spawnSync } from 'node:child_process'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { SAMPLE_SHOWCASE } from '../support/sample/showcase.ts'
import { openEnvironment } from '../../store/files/environment.ts'
import { responsesFolder } from '../../store/files/layout.ts'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild, stopService, withFileLimit, type Child } from '../support/child.ts'
import { runCommand } from '../support/cli.ts'
import { REGISTER } from '../support/fixtures.ts'
import { freePort } from '../support/listen.ts'

const POLL_MS = 20

let directory: string
let environment: Record<string, string>
let children: Child[]

async function createDirectory(): Promise<void> {
  directory = await mkdtemp(join(tmpdir(), 'main and more-'))
  environment = { DATA_DIR: directory, RPC_URL: await testChainUrl(), PORT: '0', LOG_LEVEL: 'info' }
  children = []
}

async function removeDirectory(): Promise<void> {
  for (const child of children) {
    child.process.kill('SIGKILL')
    await child.ended
  }
  await rm(directory, { recursive: true })
}

function start(change: Record<string, string> = {}, args: string[] = []): Child {
  const child = startChild('operator/main.js', ['serve', ...args], { ...environment, ...change })
  children.push(child)
  return child
}

/** Runs a command in this process, in the data directory of the service. */
const run = (...args: string[]) => runCommand(args, { environment })

describe('the command serve', () => {
  let first: Child
  let url: string
  let facts: Awaited<ReturnType<typeof readFacts>>
  let status: number | NodeJS.Signals | null

  before(async () => {
    await createDirectory()
    first = start()
    url = await ready(first)
    facts = await readFacts(url)
    first.process.kill('SIGINT')
    status = await first.ended
  })
  after(removeDirectory)

  it('[14.3] prints the chain, the key of the buyer and its URL on stdout, and nothing else', () => {
    expect([...first.said.keys()]).to.deep.equal(['rpc', 'buyer', 'ready'])
    expect(first.said.get('rpc')).to.equal(environment['RPC_URL'])
    expect(first.said.get('buyer')).to.match(/^0x[0-9a-f]{64}$/)
    expect(url).to.match(/^http:\/\/127\.0\.0\.1:[0-9]+$/)
  })

  it('[14.3, 14.4] logs JSON lines on stderr, with the command that buys next, and exits with 0 after SIGINT', () => {
    const lines = first.stderr().trim().split('\n')
    const logged = lines.map((line) => JSON.parse(line) as { msg: string; next?: string })
    const next = `DATA_DIR='${directory}' npm run --silent client -- lookup 00000000 --url ${url}`
    expect(logged.map(({ msg, next: command }) => [msg, command])).to.deep.equal([
      ['ready', next],
      ['stopping', undefined],
    ])
    expect(status).to.equal(0)
  })

  it('[14.4] keeps its data, keys and buyer after a restart, and ends at once after a third signal', async () => {
    const second = start()
    const request = await beginRequest(await ready(second))
    expect(await readFacts(second.said.get('ready') ?? '')).to.deep.equal(facts)
    expect(second.said.get('buyer')).to.equal(first.said.get('buyer'))
    second.process.kill('SIGTERM')
    await stoppingOf(second)
    second.process.kill('SIGTERM')
    const connects = () => fetch(second.said.get('ready') ?? '').then(Boolean, () => false)
    while (await connects()) await sleep(POLL_MS)
    second.process.kill('SIGTERM')
    expect(await second.ended).to.equal('SIGTERM')
    request.destroy()
  })

  it('[14.4] is unready at once after a signal, and sells until the wait ends, which a second signal ends', async () => {
    const admin = `http://127.0.0.1:${await freePort()}`
    const child = start({ ADMIN_PORT: new URL(admin).port })
    const sold = await ready(child)
    child.process.kill('SIGTERM')
    await stoppingOf(child)
    const probe = await fetch(`${admin}/readyz`)
    const { checks } = (await probe.json()) as { checks: Record<string, boolean> }
    expect([probe.status, Object.keys(checks).filter((name) => !checks[name])]).to.deep.equal([503, ['running']])
    const paid = await run('client', 'lookup', '00000000', '--url', sold)
    expect(paid.code, paid.stderr).to.equal(0)
    child.process.kill('SIGTERM')
    expect(await child.ended, child.stderr()).to.equal(0)
  })

  it('[14.4] does not wait on a terminal: a second signal ends it at once', async function () {
    if (spawnSync('script', ['--version']).status !== 0) return this.skip()
    // The terminal takes stdout and stderr, and `script` exits with the status of the shell in it.
    const onTerminal = ['sh', '-c', 'exec script -qec "echo pid \\$\\$; exec $*" /dev/null', 'sh']
    const child = startChild('operator/main.js', ['serve'], environment, onTerminal)
    children.push(child)
    const request = await beginRequest(await ready(child))
    const id = Number(child.said.get('pid'))
    process.kill(id, 'SIGTERM')
    while (![...child.said.keys()].some((line) => line.includes('stopping'))) await sleep(POLL_MS)
    process.kill(id, 'SIGTERM')
    expect(await child.ended).to.equal(128 + constants.signals.SIGTERM)
    request.destroy()
  })
})

/** A stop waits for this request. */
async function beginRequest(url: string): Promise<Socket> {
  const request = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  request.write('POST /api/v1/resolve HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{')
  await once(request, 'connect')
  return request
}

async function stoppingOf(child: Child): Promise<void> {
  while (!child.stderr().includes('stopping')) await once(child.process.stderr!, 'data')
}

describe('the command serve, if it cannot start', () => {
  beforeEach(createDirectory)
  afterEach(removeDirectory)

  async function expectFailure(child: Child, line: RegExp): Promise<void> {
    expect(await child.ended).to.equal(1)
    expect(child.stderr())
      .to.match(/^[^\n]+\n$/)
      .and.to.match(line)
    expect([...child.said]).to.deep.equal([])
  }

  it('reports a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    await expectFailure(start({ PORT: String(port) }), /^HOST and PORT cannot be used: listen EADDRINUSE/)
    other.close()
  })

  it('[14.4] stops while it waits for its source', async () => {
    const source = createServer().listen(0, '127.0.0.1')
    await once(source, 'listening')
    const { port } = source.address() as AddressInfo
    const child = start({ DATASET: `http://127.0.0.1:${port}/register.csv` })
    await once(source, 'connection')
    child.process.kill('SIGTERM')
    expect(await child.ended).to.equal(0)
    expect([...child.said]).to.deep.equal([])
    source.close()
  })

  it('logs a warning of a library as a line, and not as text on stderr', async () => {
    // `pg` warns about `sslmode=require`. No server listens at port 1.
    const child = start({ RESPONSE_LOG: 'postgres://log@127.0.0.1:1/log?sslmode=require' })
    expect(await child.ended).to.equal(1)
    const lines = child.stderr().trim().split('\n')
    const reason = 'RESPONSE_LOG cannot be used: no server listens at its address'
    expect(lines).to.include(reason)
    const others = lines.filter((line) => line !== reason)
    const events = others.map((line) => JSON.parse(line) as { msg: string; error?: string })
    expect(events.find(({ msg }) => msg === 'library_warning')).to.include({ error: 'Warning' })
  })

  it('[14.1] names the variable of an address that cannot be used', async () => {
    await expectFailure(start({ HOST: '192.0.2.1' }), /^HOST and PORT cannot be used: listen EADDRNOTAVAIL/)
  })

  it('[14.1] refuses a DATA_DIR that is a file, or in which nothing can be created', async () => {
    const file = join(directory, 'file')
    await writeFile(file, '')
    for (const path of [file, join(file, 'below')])
      await expectFailure(start({ DATA_DIR: path }), /^DATA_DIR ".*" cannot be used as a directory \(ENOTDIR\)\n$/)
    for (const path of ['/proc/x', '/proc'])
      await expectFailure(start({ DATA_DIR: path }), /^DATA_DIR "\/proc.*" cannot be used as a directory \(\w+\)\n$/)
  })

  it('[14.1, 14.22] logs at the start what a check of this machine finds', async () => {
    const child = start({ BASE_URL: 'https://companies.example' })
    await ready(child)
    await stopService(child)
    const lines = child.stderr().trim().split('\n')
    const told = lines.map((line) => JSON.parse(line) as Record<string, string>)
    const found = told.filter(({ msg }) => msg === 'check_failed')
    expect(found.map(({ check }) => check)).to.deep.equal(['proxies'])
  })

  const startAndStop = async (change: Record<string, string> = {}, args: string[] = []) => {
    const child = start(change, args)
    const url = await ready(child)
    await stopService(child)
    return url
  }

  it('[14.21] refuses a key directory without the key of the newest receipts, unless --new-keys is given', async () => {
    const first = start()
    const paid = await run('client', 'lookup', '00000000', '--url', await ready(first))
    expect(paid.code, paid.stderr).to.equal(0)
    await stopService(first)
    // A log that has lost its public keys.
    const log = openEnvironment({ folder: responsesFolder(directory), kind: 'responses' })
    await log.remove('document:public-keys')
    await log.close()
    await rm(join(directory, 'keys'), { recursive: true })
    const line = /^Neither the response log nor DATA_DIR.keys has the key \S+ of earlier receipts: .* --new-keys\n$/
    await expectFailure(start(), line)
    expect(existsSync(join(directory, 'keys'))).to.equal(false)
    await startAndStop({}, ['--new-keys'])
    // The decision stays, also before the next sale.
    await startAndStop()
  })

  it('reports a full disk, with files of at most 32 KiB', async () => {
    const quiet = { ...environment, LOG_LEVEL: 'silent' }
    const child = startChild('operator/main.js', ['serve'], quiet, withFileLimit(64))
    children.push(child)
    await expectFailure(child, /EFBIG|full/)
  })

  it('[11.9] refuses a missing dataset if none is stored', () =>
    expectFailure(start({ DATASET: join(directory, 'none.zip') }), /^import failed, source_unreadable/))
})

describe('the commands beside a running service', () => {
  let url: string

  before(async () => {
    await createDirectory()
    url = await ready(start())
  })
  after(removeDirectory)

  const { number } = SAMPLE_SHOWCASE.live
  it('buy once', async () => {
    const bought = await run('client', '--verbose', 'resolve', '--number', number, '--a2a', '--url', url)
    expect(bought.code, bought.text + bought.stderr).to.equal(0)
    expect(bought.stderr.split('\n').filter((line) => /^ {2}\w+ .* ok$/.test(line))).to.have.length(10)
    for (const text of [`"company_number": "${number}"`, '"status": "matched"']) expect(bought.text).to.contain(text)
    expect(bought.stderr).to.match(/in transaction 0x[0-9a-f]{64}/)
  })

  it('verify the agent card with a listed key', async () => {
    const verified = await run('client', 'verify-card', '--url', url)
    const [, kid = ''] = /signed by ([\w-]{43})/.exec(verified.text) ?? []
    expect((await run('keys', 'list')).text).to.match(new RegExp(`${kid}.*signs on this machine`))
  })

  it('[11.5] import an archive, print its counts, and sell the new snapshot at once', async () => {
    const imported = await run('import', REGISTER)
    expect(imported.code, imported.stderr).to.equal(0)
    expect(imported.text).to.match(/^imported\nrows +30\ncompanies +27\n/)
    expect(imported.text).to.match(/^quarantined +1$/m)
    expect(imported.text).to.match(/^snapshot +sha256:[0-9a-f]{64}$/m)
    expect(imported.text).to.match(/^changes +28 added, [0-9]+ removed, 0 changed$/m)
    expect(imported.text).to.match(/^seconds +[0-9.]+\nmemory +[0-9]{2,} MiB at most$/m)
    expect((await run('import', REGISTER)).lines[0]).to.equal('unchanged since the last import')
    expect(await readFacts(url)).to.deep.include({ row_count: 30, synthetic: false })
    expect(children[0]?.stderr()).to.match(/"added":28,"removed":[0-9]+,"changed":0,"msg":"dataset_changed"/)
    expect((await run('client', 'lookup', '73848', '--url', url)).text).to.contain('PLAIN FIXTURE LIMITED')
  })
})

/** The metadata that does not depend on port or time. */
async function readFacts(url: string) {
  const read = async (path: string) => (await fetch(`${url}${path}`)).json() as Promise<Record<string, unknown>>
  const { snapshot_id, row_count, source, access } = await read('/api/v1/meta')
  const { synthetic } = source as { synthetic: boolean }
  const { pay_to } = access as { pay_to: string }
  return { snapshot_id, row_count, synthetic, pay_to, jwks: await read('/.well-known/jwks.json') }
}
