/** The process as an operator and a buyer meet it: its first lines, its exit codes, its commands, its signals. */
import { chmod, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { open } from 'lmdb'
import { SAMPLE_SHOWCASE } from '../../agent/sandbox/sample-showcase.ts'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild, startLimited, type Child } from '../support/child.ts'
import { REGISTER } from '../support/fixtures.ts'
import { aRecord, hold } from '../support/records.ts'
import { LAYOUT_KEY, LAYOUT_VERSION, responsesFolder } from '../../store/layout.ts'
import { openResponseLog } from '../../store/responses.ts'

const MAIN = 'agent/main.js'

describe('the process', () => {
  let directory: string
  let rpcUrl: string
  const children: Child[] = []

  before(async () => {
    rpcUrl = await testChainUrl()
  })
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'main-'))
  })
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.process.kill('SIGKILL')
      await child.ended
    }
    await rm(directory, { recursive: true })
  })

  function run(command: string, args: string[] = [], environment: Record<string, string> = {}): Child {
    const child = startChild(MAIN, [command, ...args], {
      DATA_DIR: directory,
      RPC_URL: rpcUrl,
      PORT: '0',
      LOG_LEVEL: 'silent',
      ...environment,
    })
    children.push(child)
    return child
  }

  async function output(child: Child): Promise<{ code: unknown; text: string; stderr: string }> {
    let text = ''
    child.process.stdout?.on('data', (chunk: string) => void (text += chunk))
    const code = await child.ended
    return { code, text, stderr: child.stderr() }
  }

  async function serve(environment: Record<string, string> = {}): Promise<{ url: string; child: Child }> {
    const child = run('serve', [], environment)
    return { url: await ready(child), child }
  }

  describe('serving', () => {
    it('says where the chain is, who can buy and where it listens, and nothing else on stdout', async () => {
      const { child, url } = await serve({ LOG_LEVEL: 'info' })
      expect([...child.said.keys()]).to.deep.equal(['rpc', 'buyer', 'ready'])
      expect(child.said.get('rpc')).to.equal(rpcUrl)
      expect(child.said.get('buyer')).to.match(/^0x[0-9a-f]{64}$/)
      expect(url).to.match(/^http:\/\/127\.0\.0\.1:[0-9]+$/)
      child.process.kill('SIGTERM')
      await child.ended
      const lines = child.stderr().trim().split('\n')
      expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).to.deep.equal(['ready', 'stopping'])
    })

    it('ends with 0 after SIGINT', async () => {
      const { child } = await serve()
      child.process.kill('SIGINT')
      expect(await child.ended).to.equal(0)
    })

    it('keeps its data, its keys and its buyer over a restart', async () => {
      const first = await serve()
      const before = await facts(first.url)
      first.child.process.kill('SIGTERM')
      await first.child.ended
      const second = await serve()
      expect(await facts(second.url)).to.deep.equal(before)
      expect(second.child.said.get('buyer')).to.equal(first.child.said.get('buyer'))
    })
  })

  describe('that cannot start', () => {
    it('names the variable and the rule in one line', async () => {
      const { code, text, stderr } = await output(run('serve', [], { PORT: '80a' }))
      expect({ code, text, stderr }).to.deep.equal({
        code: 1,
        text: '',
        stderr: 'PORT must be a port number from 0 to 65535\n',
      })
    })

    const refused = async (line: RegExp, environment: Record<string, string> = {}) => {
      const { code, text, stderr } = await output(run('serve', [], environment))
      expect(code, stderr).to.equal(1)
      expect(stderr).to.match(line)
      expect(stderr.trim().split('\n')).to.have.lengthOf(1)
      expect(text).to.equal('')
    }

    it('says that its port is in use', async () => {
      const other = createServer().listen(0, '127.0.0.1')
      await new Promise((resolve) => void other.once('listening', resolve))
      const address = other.address()
      const port = typeof address === 'object' && address ? address.port : 0
      await refused(/^PORT is in use/, { PORT: String(port) })
      other.close()
    })

    it('refuses a key file that others may read', async () => {
      const { child } = await serve()
      child.process.kill('SIGTERM')
      await child.ended
      const keys = join(directory, 'keys')
      const [file] = await readdir(keys)
      await chmod(join(keys, file ?? ''), 0o644)
      await refused(/\.jwk\.json/)
    })

    it('refuses a data directory of a newer layout, and leaves it as it is', async () => {
      const folder = responsesFolder(directory)
      const version = LAYOUT_VERSION.responses + 1
      const environment = open({ path: folder, overlappingSync: false, encoding: 'json', pageSize: 8192 })
      await environment.put(LAYOUT_KEY, { kind: 'responses', version })
      await environment.close()
      await refused(new RegExp(`responses: has layout version ${version}`))
      const again = open({ path: folder, overlappingSync: false, encoding: 'json', pageSize: 8192 })
      expect(again.get(LAYOUT_KEY)).to.deep.equal({ kind: 'responses', version })
      await again.close()
    })

    for (const blocks of [8, 64]) {
      it(`says that there is no room, with files of at most ${blocks / 2} KiB`, async () => {
        const child = startLimited(blocks, { DATA_DIR: directory, RPC_URL: rpcUrl, PORT: '0', LOG_LEVEL: 'silent' })
        children.push(child)
        const { code, text, stderr } = await output(child)
        expect(code, stderr).to.equal(1)
        expect(stderr).to.match(/^[^\n]*(EFBIG|full)[^\n]*\n$/)
        expect(text).to.equal('')
      })
    }

    it('refuses a folder of somebody else’s', async () => {
      await mkdir(join(directory, 'catalog'))
      await writeFile(join(directory, 'catalog', 'data.mdb'), 'this is not a database'.repeat(1000))
      await refused(/catalog: /)
    })

    it('refuses a dataset that is not there when it has no other', async () => {
      await refused(/^import refused, source_unreadable/, { DATASET: join(directory, 'none.zip') })
    })

    it('knows its commands, and explains them', async () => {
      const { code, text } = await output(run('constructor'))
      expect(code).to.equal(2)
      expect(text).to.match(/^usage:/)
    })
  })

  describe('as a buyer', () => {
    it('buys over REST and A2A, keeps the payment, and repeats it without paying again', async () => {
      const { url } = await serve()
      for (const door of [[], ['--a2a']]) {
        const bought = await output(run('client', ['lookup', '00000000', '--url', url, ...door]))
        expect(bought.code, bought.text + bought.stderr).to.equal(0)
        for (const word of ['host', 'resource', 'network', 'asset', 'receiver', 'amount', 'expiry'])
          expect(bought.text).to.match(new RegExp(`${word} .* ok`))
        expect(bought.text).to.contain('SYNTHETIC TEST COMPANY LIMITED')
        expect(bought.text).to.match(/in transaction 0x[0-9a-f]{64}/)
        const [, file = ''] = /payment kept in (\S+)/.exec(bought.text) ?? []
        const repeated = await output(run('client', ['--retry', file]))
        expect(repeated.code, repeated.text + repeated.stderr).to.equal(0)
        expect(repeated.text).to.contain('nothing was charged again')
      }
    })

    it('searches and resolves over REST and A2A, and repeats what it has bought', async () => {
      const { url } = await serve()
      const { number, name } = SAMPLE_SHOWCASE.live
      const commands = [
        ['search', name, '--limit', '1'],
        ['resolve', name],
        ['resolve', '--number', number, '--a2a'],
      ]
      for (const command of commands) {
        const bought = await output(run('client', [...command, '--url', url]))
        expect(bought.code, bought.text + bought.stderr).to.equal(0)
        expect(bought.text).to.contain(`"company_number": "${number}"`)
        if (command[0] === 'resolve') expect(bought.text).to.contain('"status": "matched"')
        const [, file = ''] = /payment kept in (\S+)/.exec(bought.text) ?? []
        const repeated = await output(run('client', ['--retry', file]))
        expect(repeated.code, repeated.text + repeated.stderr).to.equal(0)
        expect(repeated.text).to.contain('nothing was charged again')
      }
    })

    it('shows a refusal and ends with 1', async () => {
      const { url } = await serve()
      const missing = await output(run('client', ['lookup', '999999999', '--url', url]))
      expect(missing.code).to.equal(1)
      expect(missing.text).to.contain('company_not_found')
    })

    it('verifies the agent card', async () => {
      const { url } = await serve()
      const verified = await output(run('client', ['verify-card', '--url', url]))
      expect(verified).to.include({ code: 0 })
      expect(verified.text).to.match(/signed by [\w-]{43}/)
    })
  })

  describe('importing', () => {
    it('counts what it took, and a running service sells it at once', async () => {
      const { url } = await serve()
      const path = join(directory, 'mine.csv')
      await cp(REGISTER, path)
      const imported = await output(run('import', [path]))
      expect(imported.code, imported.stderr).to.equal(0)
      for (const line of [
        /^rows +30$/m,
        /^companies +27$/m,
        /^quarantined +1$/m,
        /^rejected +0$/m,
        /^snapshot +sha256:[0-9a-f]{64}$/m,
      ]) {
        expect(imported.text).to.match(line)
      }
      expect(await facts(url)).to.deep.include({ row_count: 30, synthetic: false })
      const bought = await output(run('client', ['lookup', '73848', '--url', url]))
      expect(bought.text).to.contain('PLAIN FIXTURE LIMITED')
    })

    it('refuses what is not the register, in one line, and leaves what is served', async () => {
      const { url } = await serve()
      const before = await facts(url)
      const path = join(directory, 'page.csv')
      await writeFile(path, '<!DOCTYPE html><title>We value your privacy</title>')
      const { code, stderr } = await output(run('import', [path]))
      expect(code).to.equal(1)
      expect(stderr).to.match(/^import refused, wrong_header: .*\n$/)
      expect(await facts(url)).to.deep.equal(before)
    })
  })

  it('shows what is not finished, without a signature, beside a running service', async () => {
    const log = openResponseLog(directory)
    const record = aRecord({ state: 'unknown' })
    await log.claim(record)
    await hold(log, aRecord({ state: 'confirmed', identity: 'ended' }))
    const listed = await output(run('payments', ['unfinished']))
    expect(listed).to.deep.include({ code: 0, stderr: '' })
    expect(listed.text).to.equal(`unknown  ${record.updated_at} attempt 1 ${record.identity}\n`)
    const shown = await output(run('payments', ['show', record.identity]))
    expect(shown.code).to.equal(0)
    expect(JSON.parse(shown.text)).to.deep.include({ state: 'unknown', from_block: '0' })
    expect(shown.text).to.not.contain('22'.repeat(65)).and.not.contain('company')
    expect((await output(run('payments', ['show', 'none']))).code).to.equal(1)
    expect((await output(run('payments'))).code).to.equal(2)
    await log.close()
  })

  it('makes and lists keys', async () => {
    expect((await output(run('keys', ['generate']))).code).to.equal(0)
    expect((await output(run('keys', ['list']))).text).to.match(/current/)
  })
})

/** What the metadata says that does not depend on port or time. */
async function facts(url: string) {
  const meta = (await (await fetch(`${url}/api/v1/meta`)).json()) as {
    snapshot_id: string
    row_count: number
    source: { synthetic: boolean }
    access: { pay_to: string }
  }
  const jwks: unknown = await (await fetch(`${url}/.well-known/jwks.json`)).json()
  return {
    snapshot_id: meta.snapshot_id,
    row_count: meta.row_count,
    synthetic: meta.source.synthetic,
    pay_to: meta.access.pay_to,
    jwks,
  }
}
