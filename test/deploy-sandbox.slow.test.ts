/** The program works under the sandbox settings of its systemd units: import, sale, backup, rotation and restart. */
import { hash } from 'node:crypto'
import { execFile, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { testChainUrl } from './support/chain.ts'
import { ready, startChild, type Child } from './support/child.ts'
import { runCommand } from './support/cli.ts'
import { REGISTER } from './support/fixtures.ts'
import { signQuote } from './support/payments.ts'

const path = (name: string) => fileURLToPath(new URL(name, new URL('../..', import.meta.url)))
const SANDBOX = path('test/programs/unit_sandbox.py')
const UNIT = path('deploy/irish-company-agent.service')
const BACKUP_UNIT = path('deploy/irish-company-agent-backup.service')

const MONTH_MS = 30 * 24 * 60 * 60 * 1000

const isInstalled = (program: string) => spawnSync(program, ['--version'], { timeout: 10_000 }).error === undefined

describe('under the sandbox settings of the systemd units', function () {
  this.timeout(240_000)
  let folder: string
  let data: string
  let environment: Record<string, string>
  const children: Child[] = []

  before(async function () {
    if (!['bwrap', 'systemd-analyze', '/usr/bin/python3'].every(isInstalled)) {
      if (process.env['CI'] !== undefined) throw new Error('bubblewrap or systemd is missing; .ci/run installs them')
      return this.skip()
    }
    folder = await mkdtemp(join(tmpdir(), 'unit-'))
    data = join(folder, 'data')
    await mkdir(data, { mode: 0o700 })
    await mkdir(join(folder, 'backups'))
    environment = { DATA_DIR: data, RPC_URL: await testChainUrl(), PORT: '0', LOG_LEVEL: 'info', DATASET: REGISTER }
    // A key that is old enough to be followed by another one.
    await runCommand(['keys', 'generate'], { environment, now: () => new Date(Date.now() - MONTH_MS) })
  })
  after(async () => {
    for (const { process, ended } of children) {
      process.kill('SIGTERM')
      await ended
    }
    if (folder) await rm(folder, { recursive: true })
  })

  /** The data directory is the `StateDirectory`, and the folder of backups the `ReadWritePaths` of the other unit. */
  const within = (unit: string, writable: string[]) => ['/usr/bin/python3', SANDBOX, unit, writable.join(':')]

  function run(args: string[], { unit = UNIT, writable = [data] } = {}) {
    const child = startChild('agent/main.js', args, environment, within(unit, writable))
    children.push(child)
    return child
  }

  async function succeed(child: Child): Promise<void> {
    expect(await child.ended, child.stderr()).to.equal(0)
  }

  it('imports, sells, backs up, gets a new key, stops and restarts', async () => {
    const service = run(['serve'])
    const url = await ready(service)
    const facts = async (base: string) => (await (await fetch(`${base}/api/v1/meta`)).json()) as { snapshot_id: string }
    const { snapshot_id } = await facts(url)

    const resource = '/api/v1/company/00000000'
    const quote = (await fetch(`${url}${resource}`)).headers.get('payment-required')
    const payment = await signQuote(quote, { key: service.said.get('buyer') as `0x${string}` })
    const buy = (base: string) => fetch(`${base}${resource}`, { headers: { 'PAYMENT-SIGNATURE': payment } })
    const sold = await buy(url)
    expect(sold.status, service.stderr()).to.equal(200)
    const body = await sold.text()

    const changed = join(data, 'changed.csv')
    const text = await readFile(REGISTER, 'utf8')
    await writeFile(changed, text.slice(0, text.trimEnd().lastIndexOf('\n') + 1))
    await succeed(run(['import', changed, '--accept-changes']))
    await new Promise((resolve) => void setTimeout(resolve, 2_000))
    expect((await facts(url)).snapshot_id).not.to.equal(snapshot_id)

    const backups = join(folder, 'backups')
    for (const name of ['one', 'two']) {
      const command = ['backup', '--incremental', '--keep', '24', join(backups, name)]
      await succeed(run(command, { unit: BACKUP_UNIT, writable: [data, backups] }))
    }
    const [one = '', two = ''] = await Promise.all(
      ['one', 'two'].map((name) => readFile(join(backups, name, 'backup.json'), 'utf8')),
    )
    expect(JSON.parse(two)).to.include({ parent: hash('sha256', one) })
    await succeed(run(['keys', 'rotate']))

    service.process.kill('SIGTERM')
    await succeed(service)
    const restarted = run(['serve'])
    const again = await buy(await ready(restarted))
    expect([again.status, await again.text()]).to.deep.equal([200, body])
  })

  it('has no priority of its own, no other namespace, and no file outside its folders to write', async () => {
    const attempts = ['nice -n -1 true', 'unshare --user true', 'touch /usr/unit-test', 'touch /etc/unit-test']
    for (const attempt of attempts) {
      const tried = promisify(execFile)('/usr/bin/python3', [...within(UNIT, [data]).slice(1), 'sh', '-c', attempt])
      const { stderr: refused } = await tried.catch((cause: { stderr: string }) => cause)
      expect(refused, attempt).to.match(/not permitted|Read-only/)
    }
  })
})
