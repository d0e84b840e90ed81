/**
 * Each check that alerts is silent before its cause, and fires within five minutes after it. A real service produces
 * the cause; its metrics are scraped once for each minute, and promtool evaluates the alerting rules on them.
 */
import { execFile, spawnSync } from 'node:child_process'
import { copyFile, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import pg from 'pg'
import { HOUR_MS } from '../../../../base/day.ts'
import { KEYS_REFRESH_MS } from '../../../../keys/keyring.ts'
import { responsesFolder } from '../../../../store/files/layout.ts'
import { logMarker } from '../../../../store/log/directory-files.ts'
import { checksWith } from '../../../../agent/service/checks/table.ts'
import { DEPLOYMENTS } from '../../../../agent/payment/terms.ts'
import type { Externals } from '../../../../agent/service/externals.ts'
import { chosenByCommit } from '../../../bench/commit.ts'
import { rpc } from '../../../support/chain.ts'
import { listen } from '../../../support/listen.ts'
import { mountDisk } from '../../../support/mount.ts'
import { findPostgres, makeEmptyLog } from '../../../support/postgres.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../../../support/service.ts'
import { shortTimers } from '../../../support/timers.ts'
import { buyOverTransports } from '../../../support/transports.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'
import { needProgram } from '../../../support/programs.ts'

const RULES = fileURLToPath(new URL('docs/monitoring/alerts.yml', new URL('../../../../..', import.meta.url)))
const MINUTE_MS = 60_000
/** The first scrape is before the cause, the others follow it. */
const ALERT_MINUTES = 5
/** Longer than the delay of the event loop at which the alert fires. */
const BLOCKED_MS = 600
const LAG = 'nodejs_eventloop_lag_p99_seconds'
/** A port that only a privileged process can open, so no server listens on it. */
const CLOSED_URL = 'http://127.0.0.1:9'
const { asset, network } = DEPLOYMENTS.testnet

type Samples = Map<string, string>

interface Scenario {
  options?: TestServiceOptions | (() => Promise<TestServiceOptions | undefined>)
  /** Before the first scrape. */
  before?: () => Promise<unknown>
  /** Once, after the first scrape. Absent if the cause begins with the service. */
  cause?: () => Promise<unknown>
  /** In each minute after the first scrape. */
  each?: () => Promise<unknown>
  /** Scrapes after the first one. */
  minutes?: number
}

let service: TestService
let laterMs = 0
let passedMs = 0
let isDown = false
/** The starts of a process that is started again and again. */
let startsAgain = 0
const now = () => new Date(Date.now() + laterMs)
const requests = () => buyOverTransports(() => service)
const buy = () => requests().buy((payment) => requests().lookup('00000000', payment))
const rejectIfDown = <Result>(work: () => Promise<Result>) => (isDown ? Promise.reject(new Error('down')) : work())
const goDown = async () => void (isDown = true)
const later = (milliseconds: number) => async () => void (laterMs = milliseconds)

/** A facilitator refuses a payment for no reason that the chain could confirm. */
const REFUSED = { isValid: false, invalidReason: 'unexpected_verify_error' } as const

type Observation = Awaited<ReturnType<Externals['chain']['observe']>>

/** Two nodes whose newest block is later than the sale have no transfer. */
const showUnpaid = (observed: Observation, node: number): Observation => ({
  ...observed,
  node,
  time: observed.time + 30n,
  payments: observed.payments.map((each) => ({ ...each, isNonceUsed: false })),
})

/** Damages each value with this text in a file of the data directory, also in one that is open. */
async function damage(text: string, ...path: string[]): Promise<void> {
  const file = join(service.directory, ...path)
  const bytes = await readFile(file)
  expect(bytes.includes(text)).to.equal(true)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) bytes.write('X', at + 1)
  // The same file, which the service has mapped.
  await writeFile(file, bytes, { flag: 'r+' })
}

async function snapshotFolder(): Promise<string> {
  const [name = ''] = await readdir(join(service.directory, 'snapshots'))
  return join('snapshots', name)
}

let payment = ''
let refreshKeys = () => {}
let keysAreRead = () => {}
/** Run after the service has stopped. */
let cleanUp: (() => Promise<unknown>)[] = []

/** Buys, and keeps the payment. */
async function buyOnce(): Promise<void> {
  payment = await requests().payFor(requests().lookup('00000000'))
  await requests().lookup('00000000', payment)
}

/** Writes the note of a backup of ten bytes. */
const noteBackup = (log_bytes: number, log_bytes_before?: number) =>
  writeFile(
    join(service.directory, 'last-backup.json'),
    JSON.stringify({ created_at: now().toISOString(), bytes: 10, log_bytes, log_bytes_before }),
  )

const damagedRecord = () => service.restart({ whileStopped: () => damage('"from_block"', 'responses', 'data.mdb') })

/** The options of a service whose facilitator or chain behaves in another way. */
const withFacilitator = (change: (own: Externals['facilitator']) => Partial<Externals['facilitator']>) => ({
  replaceExternals: ({ facilitator, ...own }: Externals) => ({
    ...own,
    facilitator: { ...facilitator, ...change(facilitator) },
  }),
})
const withChain = (change: (own: Externals['chain']) => Partial<Externals['chain']>) => ({
  replaceExternals: ({ chain, ...own }: Externals) => ({ ...own, chain: { ...chain, ...change(chain) } }),
})
const withFunds = (settlements: bigint): Scenario => ({
  options: {
    replaceExternals: (own) => ({
      ...own,
      settlementsLeft: async () => (isDown ? settlements : own.settlementsLeft!()),
    }),
  },
  cause: goDown,
})

/** A sale after which the facilitator fails. */
const failingSale = (call: 'verify' | 'settle', fail: () => Promise<typeof REFUSED>): Scenario => ({
  options: withFacilitator((own) => ({
    [call]: (...given: Parameters<typeof own.verify>) => (isDown ? fail() : own[call](...given)),
  })),
  before: buy,
  cause: () => goDown().then(buy),
})

/** A configuration with facilitators at these URLs. The sandbox still settles. */
const withUrls = (urls: readonly string[]): TestServiceOptions => ({
  configure: (config) => ({
    ...config,
    facilitator: {
      kind: 'remote',
      facilitators: urls.map((url) => ({ url, authorization: async () => undefined })),
      rpcUrls: [config.rpcUrls[0] ?? ''],
      payTo: '0x00000000000000000000000000000000000000c7',
    },
  }),
})

/** A facilitator that answers until it is closed. */
async function startFacilitator() {
  const kinds = [{ x402Version: 2, scheme: 'exact', network }]
  const facilitator = await listen(createServer((_, response) => response.end(JSON.stringify({ kinds }))))
  cleanUp.push(async () => facilitator.close())
  return facilitator
}

/** A data directory on a disk of its own. Undefined without the right to mount one. */
async function withDisk(mebibytes: number): Promise<TestServiceOptions | undefined> {
  const probe = await mountDisk(await makeTemporaryDirectory(), 'size=1m')
  if (!probe) return undefined
  await probe.unmount()
  return {
    prepare: async (directory) => {
      const disk = await mountDisk(directory, `size=${mebibytes}m`)
      if (disk) cleanUp.push(disk.unmount)
    },
  }
}
const fill = (mebibytes: number) => () =>
  promisify(execFile)('fallocate', ['-l', `${mebibytes}m`, join(service.directory, 'filler')])

/** By the alert, and the check with its severity. A word after it tells causes of one check apart. */
const SCENARIOS: Record<string, Scenario> = {
  CompanyAgentDown: { cause: () => service.stop() },
  CompanyAgentUnwatched: { cause: goDown },
  CompanyAgentRequestsLimited: {
    options: { configure: (config) => ({ ...config, addressBudget: 1 }) },
    before: () => requests().lookup('00000000'),
    each: () => requests().lookup('00000000'),
    minutes: 21,
  },
  CompanyAgentEventLoopSlow: {
    // More than one long delay, because a percentile of more than 50 delays leaves out the longest one.
    each: async () => {
      for (let block = 0; block < 2; block += 1) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
        await sleep(20)
      }
    },
  },
  CompanyAgentRestarts: {
    each: async () => {
      startsAgain += 1
    },
  },
  'response log critical with a removed file': {
    before: buyOnce,
    cause: () => rm(responsesFolder(service.directory), { recursive: true }),
  },
  'snapshot critical with a removed file': {
    // A retrieval would build it again.
    cause: async () => rm(join(service.directory, await snapshotFolder()), { recursive: true }),
  },
  'journal critical with a replaced file': {
    cause: async () => {
      const file = join(service.directory, 'history', 'data.mdb')
      await rename(file, `${file}.old`)
      await copyFile(`${file}.old`, file)
    },
  },
  'response log critical': {
    options: async () => {
      if (findPostgres() === undefined) return undefined
      const connectionString = await makeEmptyLog()
      const locking = new pg.Client({ connectionString })
      cleanUp.push(() => locking.end())
      lockLog = async () => {
        await locking.connect()
        await locking.query('begin; lock table responses in access exclusive mode')
      }
      return { environment: { RESPONSE_LOG: connectionString } }
    },
    cause: () => lockLog(),
    // The statements of a check end after three seconds each.
    each: () => sleep(2_500),
  },
  'keys critical': {
    options: {
      timer: (callback, milliseconds) => {
        if (milliseconds !== KEYS_REFRESH_MS) return shortTimers(callback, milliseconds)
        refreshKeys = callback
        keysAreRead()
        return () => undefined
      },
      // Its registry has a timer of the same length.
      replaceExternals: ({ facilitator, chain, payTo }) => ({ facilitator, chain, payTo }),
    },
    cause: () => rm(join(service.directory, 'keys'), { recursive: true }),
    each: () =>
      new Promise<void>((resolve) => {
        keysAreRead = resolve
        refreshKeys()
      }),
  },
  'disk critical': { options: () => withDisk(400), cause: fill(350) },
  'disk warning': { options: () => withDisk(1_100), cause: fill(100) },
  'chain critical': {
    options: withChain((chain) => ({ observe: (...call) => rejectIfDown(() => chain.observe(...call)) })),
    cause: goDown,
  },
  'node 1 warning': {
    options: withChain((chain) => ({
      observe: (payments, options) =>
        options?.node === 0 ? rejectIfDown(() => chain.observe(payments, options)) : chain.observe(payments, options),
    })),
    cause: goDown,
  },
  'clock critical': { options: withChain(() => ({ isClockWrong: () => isDown })), cause: goDown },
  'token critical': {
    options: withUrls([CLOSED_URL]),
    cause: async () => {
      const code = await rpc(service.rpcUrl, 'eth_getCode', asset, 'latest')
      cleanUp.push(() => rpc(service.rpcUrl, 'anvil_setCode', asset, code))
      await rpc(service.rpcUrl, 'anvil_setCode', asset, '0x')
    },
  },
  'relayer critical': withFunds(0n),
  'relayer warning': withFunds(999n),
  'facilitator 1 critical': {
    options: async () => {
      const facilitator = await startFacilitator()
      closeFacilitator = async () => facilitator.close()
      return withUrls([facilitator.url])
    },
    cause: () => closeFacilitator(),
  },
  'facilitator 1 critical without an address': { options: withUrls(['https://facilitator.invalid']) },
  'facilitator 2 warning': { options: async () => withUrls([(await startFacilitator()).url, CLOSED_URL]) },
  'dataset critical': { cause: later(80 * HOUR_MS) },
  'dataset critical that is missing': { options: { environment: { DATASET: `${CLOSED_URL}/register.zip` } } },
  'dataset warning': { cause: later(50 * HOUR_MS) },
  'retrieval warning': { options: { environment: { DATASET: `${CLOSED_URL}/register.zip` } } },
  'snapshot critical': { cause: async () => damage('Normal', await snapshotFolder(), 'data.mdb') },
  'name index critical': {
    // A retrieval would build it again.
    options: { configure: (config) => (isDown ? { ...config, dataset: `${CLOSED_URL}/register.zip` } : config) },
    cause: async () => {
      isDown = true
      const folder = await snapshotFolder()
      const file = join(service.directory, folder, 'names.index')
      await service.restart({ whileStopped: () => writeFile(file, 'damaged') })
    },
  },
  'journal critical': { cause: () => damage('Normal', 'history', 'data.mdb') },
  'sales critical, one in four minutes': failingSale('verify', async () => REFUSED),
  'sales critical without a facilitator': failingSale('verify', () => Promise.reject(new Error('down'))),
  'sales critical without an outcome': failingSale('settle', () => Promise.reject(new Error('down'))),
  'sales critical with a damaged record': {
    before: async () => {
      await buyOnce()
      await damagedRecord()
    },
    cause: () => requests().lookup('00000000', payment),
  },
  'settlements critical': {
    options: withChain((chain) => ({
      nodeCount: 2,
      observe: async (payments, { node, ...options } = {}) => {
        const observed = await chain.observe(payments, options)
        return isDown ? showUnpaid(observed, node ?? (options.otherThan?.node === 0 ? 1 : 0)) : observed
      },
      findTransfers: async (queries) => queries.map(() => undefined),
    })),
    before: buy,
    // The reconciler runs at the start.
    cause: () => goDown().then(() => service.restart()),
  },
  'payments critical': {
    options: withFacilitator(() => ({ settle: () => Promise.reject(new Error('down')) })),
    cause: async () => {
      await buy()
      await service.restart()
    },
  },
  'open payments warning': {
    options: withChain((chain) => ({
      findUse: (...call) => (isDown ? Promise.resolve({ nonce: 'unclear' }) : chain.findUse(...call)),
      findTransfers: async (queries) => queries.map(() => undefined),
    })),
    before: buy,
    cause: async () => {
      isDown = true
      laterMs = 3 * HOUR_MS
      await service.restart()
    },
  },
  'records critical': { before: buyOnce, cause: damagedRecord },
  'unrecorded warning': {
    before: async () => {
      await buyOnce()
      const whileStopped = () => rm(responsesFolder(service.directory), { recursive: true })
      await service.restart({ whileStopped, allowed: { newLog: true } })
    },
    cause: () => requests().lookup('00000000', payment),
  },
  'backup warning without a first one': { cause: later(27 * HOUR_MS) },
  'backup warning of an old one': {
    before: async () => {
      await noteBackup(1_000)
      await rm(logMarker.pathIn(service.directory))
    },
    cause: later(27 * HOUR_MS),
  },
  'backup warning of a small one': { before: () => noteBackup(1_000), cause: () => noteBackup(499, 1_000) },
  'log lines warning': { options: { areLogLinesLost: () => isDown }, cause: goDown },
}
let lockLog: () => Promise<void>
let closeFacilitator: () => Promise<void>

/** The samples of the metrics that the rules use. A scrape of a stopped service has none. */
async function scrape(used: ReadonlySet<string>): Promise<Samples> {
  const up = 'up{job="irish-company-agent"}'
  const response = await fetch(`${service.adminUrl}/metrics`).catch(() => undefined)
  const samples: Samples = new Map([[up, response ? '1' : '0']])
  for (const line of (await response?.text())?.split('\n') ?? []) {
    const [, series = '', name = '', value = ''] = /^((\w+)(?:\{.*\})?) (\S+)$/.exec(line) ?? []
    if (used.has(name))
      samples.set(series, name === 'process_start_time_seconds' ? String(Number(value) + startsAgain) : value)
  }
  return samples
}

/** A unit test of promtool with the state of the alert before the cause and at the end. */
function unitTest(selector: string, scrapes: readonly Samples[], isSilentFirst: boolean) {
  const series = new Set(scrapes.flatMap((samples) => [...samples.keys()]))
  const expr = `count(ALERTS{${selector},alertstate="firing"})`
  return {
    rule_files: [RULES],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: [...series].map((each) => ({
          series: each,
          values: scrapes.map((samples) => samples.get(each) ?? 'stale').join(' '),
        })),
        promql_expr_test: [
          ...(isSilentFirst ? [{ expr, eval_time: '0m', exp_samples: [] }] : []),
          { expr, eval_time: `${scrapes.length - 1}m`, exp_samples: [{ labels: '{}', value: 1 }] },
        ],
      },
    ],
  }
}

/** What promtool prints of tests that fail. */
function testRules(file: string): Promise<string> {
  return promisify(execFile)('promtool', ['test', 'rules', file]).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  )
}

/** `disk critical` and any words after it, or the name of an alert. */
function selectorOf(scenario: string): string {
  const [, check, severity] = /^(.+?) (critical|warning)/.exec(scenario) ?? []
  if (check === undefined) return `alertname="${scenario}"`
  return `alertname="CompanyAgentCheck${severity === 'critical' ? 'Fails' : 'Warns'}",check="${check}"`
}

describe('the alerts', function () {
  this.timeout(240_000)
  let directory: string
  let used: Set<string>

  before(async function () {
    const { status } = spawnSync('promtool', ['--version'], { timeout: 10_000 })
    needProgram(this, 'promtool', status === 0 || undefined)
    directory = await makeTemporaryDirectory()
    used = new Set((await readFile(RULES, 'utf8')).match(/\b(?:company_agent|nodejs|process)_\w+/g))
  })
  afterEach(async () => {
    laterMs = 0
    isDown = false
    startsAgain = 0
    for (const end of cleanUp) await end()
    cleanUp = []
  })

  it('[14.12] are all tested, and at most eight', async () => {
    const rules = [...(await readFile(RULES, 'utf8')).matchAll(/alert: (\w+)/g)].map(([, name = '']) => name)
    expect(rules.length).to.be.at.most(8)
    const tested = new Set(Object.keys(SCENARIOS).map(selectorOf))
    for (const rule of rules) expect([...tested].join(' '), rule).to.contain(`alertname="${rule}"`)
    for (const severity of ['critical', 'warning'] as const)
      for (const name of checksWith(severity)) {
        const isTested = Object.keys(SCENARIOS).some((each) =>
          each.replace(/ \d /, ' ').startsWith(`${name} ${severity}`),
        )
        expect(isTested, `${name} ${severity}`).to.equal(true)
      }
  })

  const FAILS = 'company_agent_check_ok{check="chain",severity="critical"}'
  const FAILING = 'company_agent_check_failing_seconds{check="chain",severity="critical"}'
  const UP = 'up{job="irish-company-agent",instance="1"}'
  const UP_TWO = 'up{job="irish-company-agent",instance="2"}'
  const START = 'process_start_time_seconds{instance="1"}'
  const OK_ONE = 'company_agent_check_ok{check="chain",severity="critical",instance="1"}'
  /** Of a scrape each 15 seconds. */
  const samplesOf = (count: number, valueAt: (seconds: number) => number | string) =>
    Array.from({ length: count }, (_, index) => valueAt(index * 15)).join(' ')
  const lives = (seconds: number) => seconds % 60 < 45
  /** The rule, the series, the minute at which it fires or stays silent, and whether it fires. */
  const SERIES: [name: string, alert: string, series: Record<string, string>, minute: number, fires: boolean][] = [
    [
      'fails in 110 of every 150 seconds',
      'CompanyAgentCheckFails',
      {
        [FAILS]: samplesOf(60, (at) => (at % 150 < 110 ? 0 : 1)),
        [FAILING]: samplesOf(60, (at) => (at % 150 < 110 ? at % 150 : 0)),
      },
      10,
      true,
    ],
    [
      'fails for 45 seconds once',
      'CompanyAgentCheckFails',
      {
        [FAILS]: samplesOf(60, (at) => (at >= 300 && at < 345 ? 0 : 1)),
        [FAILING]: samplesOf(60, (at) => (at >= 300 && at < 345 ? at - 300 : 0)),
      },
      6,
      false,
    ],
    [
      'lives for 45 of every 60 seconds',
      'CompanyAgentRestarts',
      {
        [UP]: samplesOf(60, (at) => (lives(at) ? 1 : 0)),
        [START]: samplesOf(60, (at) => (lives(at) ? Math.floor(at / 60) : 'stale')),
        [OK_ONE]: samplesOf(60, (at) => (lives(at) ? 1 : 'stale')),
      },
      10,
      true,
    ],
    [
      'ends after 45 seconds and starts again every five minutes',
      'CompanyAgentRestarts',
      {
        [UP]: samplesOf(120, (at) => (at % 300 < 45 ? 1 : 0)),
        [START]: samplesOf(120, (at) => (at % 300 < 45 ? Math.floor(at / 300) : 'stale')),
        [OK_ONE]: samplesOf(120, (at) => (at % 300 < 45 ? 1 : 'stale')),
      },
      20,
      true,
    ],
    [
      'is deployed twice in an hour',
      'CompanyAgentRestarts',
      {
        [UP]: samplesOf(240, () => 1),
        [START]: samplesOf(240, (at) => Math.floor(at / 1_500)),
        [OK_ONE]: samplesOf(240, () => 1),
      },
      59,
      false,
    ],
    [
      'is one of two that Prometheus does not know any more',
      'CompanyAgentUnwatched',
      {
        [UP]: samplesOf(240, () => 1),
        [UP_TWO]: samplesOf(240, (at) => (at < 2_400 ? 1 : 'stale')),
        [OK_ONE]: samplesOf(240, () => 1),
      },
      45,
      true,
    ],
  ]
  for (const [name, alert, series, minute, fires] of SERIES)
    it(`[14.12] ${fires ? 'fire' : 'are silent'} for a process or check that ${name}`, async () => {
      const file = join(directory, 'series.yml')
      const expr = `count(ALERTS{alertname="${alert}",alertstate="firing"})`
      const input_series = Object.entries(series).map(([key, values]) => ({ series: key, values }))
      const exp_samples = fires ? [{ labels: '{}', value: 1 }] : []
      const test = { interval: '15s', input_series, promql_expr_test: [{ expr, eval_time: `${minute}m`, exp_samples }] }
      await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '15s', tests: [test] }))
      expect(await testRules(file)).to.equal('')
    })

  it('[14.12] are silent in a quiet day and in the busy hour after it', async () => {
    const ownClock = { now, clock: () => performance.now() + passedMs, timer: shortTimers }
    service = await startTestService({ ...ownClock, environment: { ADMIN_PORT: '0' } })
    const scrapes: Samples[] = []
    const scrapeFor = async (minutes: number) => {
      passedMs += minutes * MINUTE_MS
      // The delay of this machine is that of its other programs.
      const samples = (await scrape(used)).set(LAG, '0.01')
      scrapes.push(...Array.from({ length: minutes }, () => samples))
    }
    try {
      for (let hour = 0; hour < 24; hour += 1) await scrapeFor(60)
      for (let minute = 0; minute < 60; minute += 1) {
        await buyOnce()
        // A replay, and refusals that are no fault of the service.
        await requests().lookup('00000000', payment)
        await requests().lookup('99999999999', await requests().payFor(requests().lookup('99999999999')))
        await scrapeFor(1)
      }
    } finally {
      await service.stop()
    }
    expect(scrapes.at(-1)?.get('company_agent_check_ok{check="sales",severity="critical"}')).to.equal('1')
    const file = join(directory, 'silent.yml')
    const test = unitTest('alertname=~".+"', scrapes, false)
    const expr = 'count_over_time(ALERTS{alertstate="firing"}[2d])'
    const silent = { expr, eval_time: `${scrapes.length - 1}m`, exp_samples: [] }
    const tests = test.tests.map((each) => ({ ...each, promql_expr_test: [silent] }))
    await writeFile(file, JSON.stringify({ ...test, tests }))
    expect(await testRules(file)).to.equal('')
  })

  // In CI a part of them, which the commit chooses.
  const count = Number(process.env['ALERTS_TESTED'] ?? Infinity)
  const chosen = chosenByCommit(Object.entries(SCENARIOS), { count, nameOf: ([name]) => name })
  for (const [scenario, { options = {}, before: prepare, cause, each, minutes = ALERT_MINUTES }] of chosen) {
    it(`[14.12] fire within five minutes of their cause, and not before: ${scenario}`, async function () {
      const given = typeof options === 'function' ? await options() : options
      if (!given) return this.skip()
      const own = { now, clock: () => performance.now() + passedMs, timer: shortTimers }
      service = await startTestService({ ...own, ...given, environment: { ADMIN_PORT: '0', ...given.environment } })
      const scrapes: Samples[] = []
      try {
        await prepare?.()
        scrapes.push(await scrape(used))
        await cause?.()
        for (let minute = 0; minute < minutes; minute += 1) {
          passedMs += MINUTE_MS
          await each?.()
          scrapes.push(
            scenario === 'CompanyAgentUnwatched' ? new Map([...scrapes[0]!].slice(0, 1)) : await scrape(used),
          )
        }
      } finally {
        if (scenario !== 'CompanyAgentDown') await service.stop()
      }
      const file = join(directory, 'test.yml')
      // YAML includes JSON.
      await writeFile(file, JSON.stringify(unitTest(selectorOf(scenario), scrapes, cause !== undefined)))
      expect(await testRules(file)).to.equal('')
    })
  }
})
