/** The command line: help, wrong arguments, failures and progress of every command. */
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { showProgress } from '../../../agent/command-line/progress.ts'
import { readVersion } from '../../../agent/command-line/version.ts'
import { makeKeyAt, START_SECONDS } from '../../keys/support.ts'
import { runCommand } from '../../support/cli.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const COMMANDS = ['serve', 'check', 'client', 'import', 'verify', 'history', 'keys', 'payments']

describe('the command line', () => {
  let directory: string
  before(async () => {
    directory = await makeTemporaryDirectory()
  })

  const run = (args: string[]) => runCommand(args, { environment: { DATA_DIR: directory } })

  it('prints the version of the package, and the prices of the network in use', async () => {
    expect((await run(['--version'])).text).to.equal(await readVersion())
    const pricesOf = async (...args: string[]) => {
      const { text } = await run(['client', ...args, '--help'])
      return text.replaceAll(/\s+/g, ' ').match(/0\.\d+ USDC on \w+/g)
    }
    expect(new Set(await pricesOf())).to.deep.equal(new Set(['0.001 USDC on testnet', '0.002 USDC on testnet']))
    expect(await pricesOf('lookup', '--mode', 'mainnet')).to.deep.equal(['0.01 USDC on mainnet'])
  })

  it('lists every command in its help', async () => {
    const { code, text } = await run(['--help'])
    expect(code).to.equal(0)
    for (const command of COMMANDS) expect(text).to.match(new RegExp(`^ {2}${command} `, 'm'))
  })

  for (const command of COMMANDS) {
    it(`prints usage, examples and exit status for ${command} --help, with any configuration`, async () => {
      const { code, text, stderr } = await runCommand([command, '--help'], { environment: { PORT: 'wrong' } })
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
      expect(text).to.match(new RegExp(`^Usage: irish-company-agent ${command}`))
      expect(text).to.match(/^Examples?:\n {2}\S/m)
      expect(text).to.match(/^Exit status: 0 /m)
    })
  }

  for (const args of [
    ['constructor'],
    ['import', 'a.csv', '--fast'],
    ['keys', 'Rotate'],
    ['payments', 'show'],
    ['client', 'search', 'foo', '--number', '1'],
    ['client', 'lookup', '1', '--max-amount', '0.00'],
    ['client', 'lookup', '1', '--url', 'http://127.0.0.1:4021/api/v1'],
    ['mcp', '--folder', 'purchases', '--pay-to', '0x12'],
    ['client', '--retry', 'FILE', '--url', 'http://127.0.0.1:4021'],
    ['client', 'batch'],
    ['client', 'batch', 'README.md'],
    ['client', 'reconcile', 'list.csv', '--column', 'name', '--encoding', 'nosuch'],
    ['client', 'reconcile', 'list.csv', '--column', 'name', '--out', './list.csv'],
    ['client', 'reconcile', 'list.csv', '--column', 'name', '--out', 'docs'],
    ['client', 'reconcile', 'list.csv', '--column', 'name', '--review', 'list.reconciled.csv'],
    ['client', 'watch', 'list.csv', '--column', '1', '--max-total', '1.00', '--state', 'x', '--report', 'x.html'],
    ['client', 'watch', 'list.csv', '--column', '1', '--max-total', '1.00', '--state', 'x', '--report', 'x.ods'],
    ['client', 'watch', 'list.csv', '--column', '1', '--max-total', '1.00', '--state', 'x', '--report', 'list.csv'],
  ]) {
    it(`[14.5] exits with 2 and one line for wrong arguments: ${JSON.stringify(args)}`, async () => {
      const { code, text, stderr } = await run(args)
      expect({ code, text }).to.deep.equal({ code: 2, text: '' })
      expect(stderr).to.match(/^error: [^\n]+ \(add --help for usage\)\n$/)
    })
  }

  for (const args of [[], ['client'], ['keys'], ['payments']]) {
    it(`[14.5] exits with 2 and the usage if the command is missing: ${JSON.stringify(args)}`, async () => {
      const { code, stderr } = await run(args)
      expect(code).to.equal(2)
      expect(stderr).to.match(new RegExp(`^${['Usage: irish-company-agent', ...args].join(' ')} `))
    })
  }

  it('[13.4] accepts ids of keys that begin with a hyphen', async () => {
    const marked = await run(['keys', 'compromise', await makeKeyWithHyphen(join(directory, 'keys'))])
    expect(marked).to.include({ code: 0, stderr: '' })
    const { code, stderr } = await run(['keys', 'compromise', '--x', '-hY'])
    expect({ code, stderr }).to.deep.equal({ code: 1, stderr: `"${join(directory, 'keys')}" has no key "--x"\n` })
  })

  it('[14.1, 14.5] exits with 1 and one line if a command fails', async () => {
    const { code, stderr } = await run(['import', join(directory, 'missing.csv')])
    expect(code).to.equal(1)
    expect(stderr).to.match(/^import failed, source_unreadable: [^\n]+\n$/)
    const missing = join(directory, 'missing')
    expect((await runCommand(['keys', 'list'], { environment: { DATA_DIR: missing } })).code).to.equal(1)
    expect(existsSync(missing)).to.equal(false)
    const wrong = await runCommand(['keys', 'list'], { environment: { PORT: '80a' } })
    expect(wrong).to.include({ code: 1, stderr: 'PORT must be a port number from 0 to 65535\n' })
    expect(await run(['migrate'])).to.include({ code: 1, stderr: 'RESPONSE_LOG must be set for this command\n' })
    const closed = { DATA_DIR: directory, RPC_URL: 'http://127.0.0.1:1' }
    expect((await runCommand(['serve'], { environment: closed })).stderr).to.match(/^RPC_URL cannot be used: [^\n]+\n$/)
  })
})

/** Makes keys until the id of one begins with a hyphen, which is the case for one key of 64. */
async function makeKeyWithHyphen(keysDirectory: string): Promise<string> {
  for (;;) {
    await rm(keysDirectory, { recursive: true, force: true })
    await mkdir(keysDirectory, { mode: 0o700 })
    const kid = await makeKeyAt(keysDirectory, START_SECONDS)
    if (kid.startsWith('-')) return kid
  }
}

describe('the progress of a command', () => {
  it('is a bar with rows, percent and remaining time, which counts from where a phase begins', () => {
    const lines: string[] = []
    let seconds = 0
    const show = showProgress({ showStatus: (line) => void lines.push(line), now: () => new Date(1000 * seconds) })
    for (const share of [0.5, 0.75, 0.751, 1]) {
      show({ phase: 'list', rows: 100 * share, share })
      seconds += 100
    }
    show({ phase: 'hash', rows: 1, share: 0.25 })
    expect(lines).to.deep.equal([
      'list [##########----------] 50 %, 50 rows',
      'list [###############-----] 75 %, 75 rows, about 2 min left',
      'list [####################] 100 %, 100 rows',
      'hash [#####---------------] 25 %, 1 row',
    ])
  })
})
