/** The command `client watch` with the real service, real payments and several files of the register. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { CliContext } from '../../../agent/command-line/context.ts'
import { runCommand, type CliResult } from '../../support/cli.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { NUMBERS, startWatchedService, WATCHED, type WatchedService } from '../../support/watched-registers.ts'

/** For each file after the first, the lines of each watched company that has changed (watched-registers.ts). */
const EXPECTED: Record<string, string[]>[] = [
  {
    1001: ['legal_name: NUMBER 1001 -> RENAMED <b>& CO'],
    1002: ['status: Normal -> Strike Off Listed', 'status_code: 1151 -> 1156'],
    1003: [
      'registered_address: 1 FIXTURE STREET, FIXTURETOWN, CORK, Ireland, T12 AB34 -> ' +
        '2 OTHER STREET, FIXTURETOWN, CORK, Ireland, D02 X285',
    ],
    1004: ['removed from the register'],
    1005: ['added to the register'],
    1006: [
      'last_accounts_date: 2024-12-31 -> 2025-12-31',
      'last_annual_return_date: 2025-09-30 -> 2026-09-30',
      'next_annual_return_date: 2026-09-30 -> 2027-09-30',
    ],
    1007: ['contradictory records in the register'],
  },
  {
    1001: ['legal_name: RENAMED <b>& CO -> RENAMED AGAIN'],
    1004: ['added to the register'],
    1007: ['one record in the register again'],
    1150: ['legal_name: NUMBER 1150 -> OF THE SECOND GROUP'],
  },
  {
    1002: ['removed from the register'],
    1005: ['removed from the register'],
    1150: ['contradictory records in the register'],
    1249: [
      'registered_address: 1 FIXTURE STREET, FIXTURETOWN, CORK, Ireland, T12 AB34 -> ' +
        'OF THE LAST GROUP, FIXTURETOWN, CORK, Ireland, T12 AB34',
    ],
  },
]

const WITHOUT_RECORD = 'Without a record now: in no file, removed, or with contradictory records'

/** Three groups of changes, and three batches of records. */
const FIRST_PAYMENTS = 6
const GROUPS = 3

describe('[15.13] the command client watch', function () {
  this.timeout(240_000)
  let watched: WatchedService
  let directory: string

  beforeEach(async () => {
    watched = await startWatchedService()
    directory = await makeTemporaryDirectory()
    await writeFile(join(directory, 'buyer.key'), watched.service.buyerKey, { mode: 0o600 })
    await writeFile(join(directory, 'list.csv'), `Name,Number\n${NUMBERS.map((number) => `x,${number}`).join('\n')}\n`)
  })
  afterEach(() => watched.service.stop())

  const args = (maxTotal = '1.00') => {
    const client = ['client', '--url', watched.service.url, '--key-file', join(directory, 'buyer.key')]
    const list = [join(directory, 'list.csv'), '--column', 'Number', '--state', join(directory, 'state.json')]
    const report = ['--report', join(directory, 'report.csv'), '--max-total', maxTotal, '--yes']
    return [...client, 'watch', ...list, ...report]
  }
  const run = (change: Partial<CliContext> = {}, maxTotal?: string) => runCommand(args(maxTotal), change)
  const transfersOf = (work: () => Promise<unknown>) => watched.service.transfersOf(work)
  const readReport = () => readFile(join(directory, 'report.csv'), 'utf8')

  /** The lines of each company, without the days of the changes. */
  function companiesIn({ lines }: Pick<CliResult, 'lines'>): Record<string, string[]> {
    const found: Record<string, string[]> = {}
    let number: string | undefined
    for (const line of lines) {
      if (!line.startsWith('  ')) number = /^(\d+) [^c]/.exec(line)?.[1]
      else if (number !== undefined) (found[number] ??= []).push(line.trim().replace(/^\d{4}-\d\d-\d\d /, ''))
    }
    return found
  }

  /** The lines of each company but for the events, which name the same fields. */
  const differencesIn = (result: CliResult) =>
    Object.fromEntries(
      Object.entries(companiesIn(result)).map(([number, lines]) => [
        number,
        lines.filter((line) => !line.startsWith('changed')).toSorted(),
      ]),
    )

  it('reports the changes of each new file once, with one payment for up to 100 companies', async () => {
    let first: CliResult | undefined
    expect(await transfersOf(async () => void (first = await run()))).to.equal(FIRST_PAYMENTS)
    expect(first?.stderr).to.equal('')
    expect([first?.code, first?.lines.includes(WITHOUT_RECORD)]).to.deep.equal([0, true])
    for (const [at, differences] of EXPECTED.entries()) {
      await watched.importNext()
      let result: CliResult | undefined
      expect(await transfersOf(async () => void (result = await run()))).to.equal(GROUPS + 1)
      expect(result?.code).to.equal(3)
      expect(differencesIn(result!)).to.deep.equal(differences)
      expect(result?.lines.includes('Days without a file of the register')).to.equal(at === 2)
      const report = await readReport()
      for (const number of Object.keys(differences)) expect(report).to.match(new RegExp(`^${number},`, 'm'))
      expect(await transfersOf(async () => void (result = await run()))).to.equal(0)
      expect([result?.code, result?.lines.at(-1)]).to.deep.equal([0, `${WATCHED} companies, 0 changed`])
      // The report of a later run keeps the last record of a company that was removed.
      const [removed] = Object.entries(differences).find(([, [line]]) => line === 'removed from the register') ?? []
      if (removed) expect(await readReport()).to.match(new RegExp(`^${removed},.*without a record now`, 'm'))
    }
  })

  it('buys the records of added companies only, and forgets companies that are no longer listed', async () => {
    const list = (...numbers: string[]) =>
      writeFile(join(directory, 'list.csv'), `Number,Name\n${numbers.join(',x\n')},x\n,\n`)
    await list('1001', 'n/a', '', '1002')
    expect((await run()).lines).to.include.members(['Rows without a company number', '  3, 4'])
    await list('1001', '1003')
    expect(await transfersOf(run)).to.equal(2)
    await watched.importNext()
    const result = await run()
    expect(Object.keys(companiesIn(result))).to.deep.equal(['1001', '1003'])
    expect(result.lines).to.include('2 companies, 2 changed')
    const spent = result.lines.find((line) => line.startsWith('Paid'))
    expect(result.lines[0]).to.match(
      /^0\.001 USDC will be paid on eip155:84532, less for numbers that no company has, and more for records/,
    )
    expect(spent).to.equal('Paid: 0.003 USDC.')
  })

  it('lists the annual return dates within 30 days, and those that have passed, in every run', async () => {
    await writeFile(join(directory, 'list.csv'), 'Number\n1001\n')
    await run()
    // Nothing is bought, so the clock of the command can be another one.
    const dueOn = async (day: string) => {
      const { lines } = await run({ now: () => new Date(`${day}T12:00:00Z`) })
      expect((await readReport()).includes('NUMBER 1001')).to.equal(lines.length > 2)
      return lines.slice(0, -2)
    }
    const line = (when: string) =>
      `  1001 NUMBER 1001: 2026-09-30, annual return ${when}, file by 2026-11-25; accounts on record: too old`
    const heading = 'Annual return date within 30 days, or passed'
    expect(await dueOn('2026-08-30')).to.deep.equal([])
    expect(await dueOn('2026-08-31')).to.deep.equal([heading, line('in 30 days')])
    expect(await dueOn('2026-10-01')).to.deep.equal([heading, line('1 day ago')])
  })

  it('signs nothing above --max-total, without an answer, or with the state of another service', async () => {
    const refuses = async (running: () => Promise<CliResult>, reason: RegExp) =>
      expect(await transfersOf(async () => expect((await running()).stderr).to.match(reason))).to.equal(0)
    await refuses(() => run({}, '0.252999'), /at least 0\.253 USDC/)
    await refuses(() => runCommand(args().filter((arg) => arg !== '--yes')), /add --yes/)
    await writeFile(join(directory, 'state.json'), '{"url":"https://other.example","mode":"testnet"}')
    await refuses(run, /is not a state/)
  })

  it('stops at --max-total before the records, and continues with a higher one', async () => {
    await run()
    await watched.importNext()
    const { code, stderr } = await run({}, '0.003')
    expect(code).to.equal(1)
    expect(stderr).to.equal(
      'The next payment costs 0.005 USDC, and --max-total leaves 0.00: run again with a higher one\n',
    )
    let result: CliResult | undefined
    expect(await transfersOf(async () => void (result = await run()))).to.equal(1)
    expect(differencesIn(result!)).to.deep.equal(EXPECTED[0])
  })

  it('pays nothing twice and misses no change if it fails before or after any request, also over an import', async () => {
    const ended = new Error('the process ended')
    const interruptedRun = async (at: number, isAnswered: boolean) => {
      let requests = 0
      const failing: typeof fetch = async (input, init) => {
        requests += 1
        if (requests < at) return fetch(input, init)
        if (isAnswered && requests === at) await fetch(input, init)
        throw ended
      }
      return run({ fetch: failing })
    }
    const seen: Record<string, string[]> = {}
    const collect = (result: CliResult) => {
      for (const [number, lines] of Object.entries(companiesIn(result))) (seen[number] ??= []).push(...lines)
    }
    const paid = await transfersOf(async () => {
      for (let round = 0; round < 2; round += 1) {
        for (let at = 1, isDone = false; !isDone; at += 1) {
          const result = await interruptedRun(at, at % 2 === 0)
          collect(result)
          isDone = result.code === 0 || result.code === 3
          if (round === 1 && at === 3) await watched.importNext()
        }
        if (round === 0) await watched.importNext()
      }
      collect(await run())
    })
    // The run that was interrupted by the import asks for its own changes first, and then for those of the import.
    expect(paid).to.equal(FIRST_PAYMENTS + 2 * (GROUPS + 1))
    for (const differences of EXPECTED.slice(0, 2))
      for (const [number, lines] of Object.entries(differences)) expect(seen[number], number).to.include.members(lines)
  })

  it('[14.18] says after a signal what is known of the money, and the same command continues', async () => {
    const stopping = new AbortController()
    const paying: typeof fetch = async (input, init) => {
      if (new Headers(init?.headers).has('PAYMENT-SIGNATURE')) stopping.abort('SIGINT')
      return fetch(input, init)
    }
    const paid = await transfersOf(async () => {
      const { code, stderr } = await run({ fetch: paying, interrupted: () => stopping.signal })
      expect(code).to.equal(4)
      expect(stderr).to.match(
        /^Interrupted\. Paid: \S+ USDC, in all runs \S+ USDC\. 1 payment, \S+ USDC, without an answer\. Not known/m,
      )
      expect(stderr).to.match(/The same command continues, and pays nothing twice\.\n$/)
      expect((await run()).code).to.equal(0)
    })
    expect(paid).to.equal(FIRST_PAYMENTS)
  })

  it('[14.5] prints the changes again, free, if stdout did not take them', async () => {
    await run()
    await watched.importNext()
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
    const { code, stderr } = await run({ flush: () => Promise.reject(full) })
    expect(code).to.equal(5)
    expect(stderr).to.contain('The changes could not be written (ENOSPC). The same command prints them again')
    let result: CliResult | undefined
    expect(await transfersOf(async () => void (result = await run()))).to.equal(0)
    expect(result?.code).to.equal(3)
    expect(differencesIn(result!)).to.deep.equal(EXPECTED[0])
  })

  it('[14.5] has the changes in the next document of --json if stdout did not take the first', async () => {
    await run()
    await watched.importNext()
    const lines: string[] = []
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
    const flush = () => (lines.length === 0 ? Promise.resolve() : Promise.reject(full))
    const failed = await runCommand([...args(), '--json'], { print: (line) => void lines.push(line), flush })
    expect(failed.code).to.equal(5)
    const { code, text } = await runCommand([...args(), '--json'])
    expect(code).to.equal(3)
    expect(JSON.parse(text)).to.deep.include({ changed: Object.keys(EXPECTED[0] ?? {}).length, paid: '0.00' })
  })
})
