/** The command `client watch` over one change of the register. watch.slow.test.ts has many companies and faults. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { watchCommand } from '../../../buyer/page/watch-command.ts'
import { runCommand } from '../../support/cli.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { startWatchedService, type WatchedService } from '../../support/watched-registers.ts'

describe('client watch of two companies', () => {
  let watched: WatchedService
  before(async () => void (watched = await startWatchedService()))
  after(() => watched.service.stop())

  it('[15.13] runs as the page of a sandbox offers it to copy', async () => {
    const directory = await makeTemporaryDirectory()
    const key = join(directory, 'buyer.key')
    await writeFile(key, watched.service.buyerKey, { mode: 0o600 })
    const offered = { number: '1001', baseUrl: watched.service.url, mode: 'testnet', account: '0x1' }
    const [list = '', watch = ''] = watchCommand(offered).split('\n')
    execFileSync('sh', ['-c', list], { cwd: directory })
    const args = watch
      .slice(watch.indexOf(' watch ') + 1)
      .split(' ')
      .map((word) => (/\.(?:csv|json)$/.test(word) ? join(directory, word) : word))
    const { code, stderr, text } = await runCommand(['client', ...args, '--key-file', key, '--dry-run'])
    expect([code, stderr, text]).to.deep.equal([
      0,
      '',
      '0.002 USDC will be paid on eip155:84532, less for numbers that no company has, and more for records that changed, in all at most 1.00.',
    ])
  })

  const LISTS: [text: string, code: number, shown: RegExp][] = [
    [
      'Supplier No,Supplier Name,CRO Number\n1,A Ltd,1001\n2,B Ltd,1008\n',
      0,
      /^Columns: company_number = CRO Number\.\n0\.003 /,
    ],
    ['CRO No.\n1001\n1008\n', 0, /^Columns: company_number = CRO No\.\n0\.003 /],
    ['1001\n1008\n', 0, /^Columns: company_number = column 1\.\n0\.003 /],
    // A number with a sign is not read, and the marks of typed lines are none.
    ['CRO No.\n1001\n-1008\n', 0, /^Columns: company_number = CRO No\.\nRows without a company number.*\n  3\n0\.002 /],
    // A total is no number of a company.
    ['Supplier,CRO No.\nA Ltd,1001\nTotal,1008\n', 0, /Rows without a company number.*\n {2}3\n0\.002 /],
    ['CRO No.\n- 1001\n- 1008\n', 0, /^Columns: company_number = CRO No\.\n0\.003 /],
    [
      'Supplier No,Supplier Name\n1,A Ltd\n2,B Ltd\n',
      2,
      /No column of company numbers is certain\. Name one with --column\. Its columns are: Supplier No \| Supplier Name/,
    ],
  ]
  for (const [text, code, shown] of LISTS)
    it(`[15.13] finds the column of the numbers as a list does: ${JSON.stringify(text)}`, async () => {
      const directory = await makeTemporaryDirectory()
      await writeFile(join(directory, 'buyer.key'), watched.service.buyerKey, { mode: 0o600 })
      await writeFile(join(directory, 'list.csv'), text)
      const client = ['client', '--url', watched.service.url, '--key-file', join(directory, 'buyer.key')]
      const state = ['--state', join(directory, 'state.json'), '--max-total', '1.00', '--dry-run']
      const ended = await runCommand([...client, 'watch', join(directory, 'list.csv'), ...state])
      expect([ended.code, code === 0 ? ended.text : ended.stderr].join()).to.match(
        new RegExp(`^${code},[^]*${shown.source.replace(/^\^/, '')}`),
      )
    })

  it('[15.13] buys as the page offers it to copy, in a shell with a terminal', async function () {
    if (spawnSync('script', ['--version']).status !== 0) return this.skip()
    const directory = await makeTemporaryDirectory()
    await writeFile(join(directory, 'buyer.key'), watched.service.buyerKey, { mode: 0o600 })
    const program = fileURLToPath(import.meta.resolve('#root/dist/buyer/main.js'))
    const command = join(directory, 'irish-company-agent-client')
    await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, { mode: 0o700 })
    const copied = watchCommand({ number: '1001', baseUrl: watched.service.url, mode: 'testnet', account: '' })
    let shown = ''
    const paid = await watched.service.transfersOf(async () => {
      const child = spawn('script', ['--quiet', '--return', '--command', copied, '/dev/null'], {
        cwd: directory,
        env: { ...process.env, PATH: `${directory}:${process.env['PATH']}`, SHELL: '/bin/sh' },
      })
      child.stdout.on('data', (chunk: Buffer) => {
        const hasAsked = shown.includes('Continue?')
        shown += String(chunk)
        if (!hasAsked && shown.includes('Continue?')) child.stdin.write('y\n')
      })
      expect(await once(child, 'close'), shown).to.deep.equal([0, null])
    })
    expect([paid, shown.match(/1 company, 0 changed/g)]).to.deep.equal([2, ['1 company, 0 changed']])
    expect(await readFile(join(directory, 'watch.json'), 'utf8')).to.contain('"1001"')
  })

  it('[15.13, 15.25] buys both once, then only their changes, and reports the old and the new value', async () => {
    const directory = await makeTemporaryDirectory()
    const path = (name: string) => join(directory, name)
    await writeFile(path('buyer.key'), watched.service.buyerKey, { mode: 0o600 })
    await writeFile(path('list.csv'), 'Number\n1001\n1008\n')
    const client = ['client', '--url', watched.service.url, '--key-file', path('buyer.key')]
    const state = ['--state', path('state.json'), '--max-total', '1.00']
    const watch = ['watch', path('list.csv'), '--column', 'Number', ...state]
    let shown: string[] = []
    /** The exit code, whether the new name was reported, and the payments. */
    const run = async () => {
      let code: number | undefined
      let [text, stderr] = ['', '']
      const payments = await watched.service.transfersOf(async () => {
        ;({ code, text, stderr } = await runCommand([...client, ...watch, '--yes'], {
          isErrorTerminal: true,
        }))
      })
      shown = [...stderr.matchAll(/[a-z]+ \[#+\] 100 %, \d rows/g)].map(([line]) => line)
      return [code, text.includes('legal_name: NUMBER 1001 -> RENAMED'), payments]
    }
    const price =
      '0.003 USDC will be paid on eip155:84532, less for numbers that no company has, and more for records that changed, in all at most 1.00.'
    const [dry, paid] = [await runCommand([...client, ...watch, '--dry-run']), await run()]
    expect([dry.code, dry.text, ...paid]).to.deep.equal([0, price, 0, false, 2])
    expect(shown).to.deep.equal([
      'changes [####################] 100 %, 2 rows',
      'records [####################] 100 %, 2 rows',
    ])
    expect(await run()).to.deep.equal([0, false, 0])
    await watched.importNext()
    expect(await run()).to.deep.equal([3, true, 2])
    expect(await run()).to.deep.equal([0, false, 0])
  })

  it('[15.13] lists the numbers without a record in every run, in the output, the report and --json', async () => {
    const directory = await makeTemporaryDirectory()
    const path = (name: string) => join(directory, name)
    await writeFile(path('buyer.key'), watched.service.buyerKey, { mode: 0o600 })
    await writeFile(path('list.csv'), 'Number\n1008\n9999999\n')
    const client = ['client', '--url', watched.service.url, '--key-file', path('buyer.key')]
    const files = [
      path('list.csv'),
      '--column',
      'Number',
      '--state',
      path('state.json'),
      '--report',
      path('report.csv'),
    ]
    const run = async (...more: string[]) => {
      const { text } = await runCommand([...client, 'watch', ...files, '--max-total', '1.00', '--yes', ...more])
      const report = (await readFile(path('report.csv'), 'utf8')).split('\n')
      expect(report).to.include('9999999,,,"without a record now",,,,,,')
      return text
    }
    const heading = 'Without a record now: in no file, removed, or with contradictory records'
    for (const paid of ['0.002', '0.00'])
      expect((await run()).split('\n')).to.include.members([heading, '  9999999', `Paid: ${paid} USDC.`])
    const { sections } = JSON.parse(await run('--json')) as { sections: object[] }
    expect(sections).to.deep.equal([
      { heading, lines: ['9999999'], rows: [{ number: '9999999', event: 'without a record now' }] },
    ])
  })

  for (const mode of ['testnet', 'mainnet'])
    it(`[15.13] says the price on ${mode} without --max-total, which only a purchase requires`, async () => {
      const directory = await makeTemporaryDirectory()
      await writeFile(join(directory, 'buyer.key'), watched.service.buyerKey, { mode: 0o600 })
      await writeFile(join(directory, 'list.csv'), 'Number\n1001\n')
      const client = [
        'client',
        '--url',
        watched.service.url,
        '--mode',
        mode,
        '--key-file',
        join(directory, 'buyer.key'),
      ]
      const state = ['--state', join(directory, 'state.json')]
      const watch = [...client, 'watch', join(directory, 'list.csv'), '--column', 'Number', ...state]
      const { code, text, stderr } = await runCommand([...watch, '--dry-run'])
      expect([code, stderr]).to.deep.equal([0, ''])
      expect(text).to.match(/^0\.\d+ USDC will be paid on .*, and more for records that changed\.$/)
      const refused = await runCommand([...watch, '--yes'])
      expect(refused.code).to.equal(2)
      expect(refused.stderr).to.contain("required option '--max-total <usdc>' not specified")
    })
})
