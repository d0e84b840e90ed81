/**
 * Each alert is silent before its cause, and fires after it. A real service produces the cause; its metrics are scraped
 * once for each minute, and promtool evaluates the alerting rules on them.
 */
import { execFile, spawnSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { KEYS_REFRESH_MS } from '../../../../keys/keyring.ts'
import pg from 'pg'
import { responsesFolder } from '../../../../store/files/layout.ts'
import type { Externals } from '../../../../agent/service/service.ts'
import { findPostgres, makeEmptyLog } from '../../../support/postgres.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../../../support/service.ts'
import { pausesOnly, shortTimers } from '../../../support/timers.ts'
import { buyOverTransports } from '../../../support/transports.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'

const RULES = fileURLToPath(new URL('docs/monitoring/alerts.yml', new URL('../../../../..', import.meta.url)))
const HOUR_MS = 60 * 60 * 1000
/** Scrapes before the cause. */
const SILENT_MINUTES = 6
/** Longer than the delay of the event loop at which the alert fires. */
const BLOCKED_MS = 600
/** A port that only a privileged process can open, so no server listens on it. */
const CLOSED_URL = 'http://127.0.0.1:9/register.zip'

type Samples = Map<string, string>

interface Scenario {
  /** `each` sends requests itself. Other scenarios buy once in each minute. */
  needsLoad?: boolean
  options?: TestServiceOptions | (() => Promise<TestServiceOptions>)
  /** Before the first scrape. */
  before?: () => Promise<unknown>
  /** Once, after the silent minutes. */
  cause?: () => Promise<unknown>
  /** In each minute after the silent ones. */
  each?: () => Promise<unknown>
  /** Number of scrapes, one for each minute, after the cause began: 17 by default, for a cause that lasts. */
  minutes?: number
}

/** An alert of a lasting cause must still fire then. */
const LASTING_MINUTES = 17

let service: TestService
let laterMs = 0
let isDown = false
const now = () => new Date(Date.now() + laterMs)
const requests = () => buyOverTransports(() => service)
const buy = () => requests().buy((payment) => requests().lookup('00000000', payment))
const rejectIfDown = <Result>(work: () => Promise<Result>) => (isDown ? Promise.reject(new Error('down')) : work())

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

/** Damages each record with this text in the file of the response log. */
async function damage(text: string): Promise<void> {
  const file = join(responsesFolder(service.directory), 'data.mdb')
  const bytes = await readFile(file)
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) bytes.write('X', at + 1)
  await writeFile(file, bytes)
}

let databaseUrl = ''
/** Holds a lock in the database until the service stops. */
let locking: pg.Client | undefined
let payment = ''
let refreshKeys = () => {}
let keysAreRead = () => {}

/** Buys, and removes the response log. */
async function loseRecord(): Promise<void> {
  payment = await requests().payFor(requests().lookup('00000000'))
  await requests().lookup('00000000', payment)
  await service.restart({
    whileStopped: () => rm(responsesFolder(service.directory), { recursive: true }),
    allowed: { newLog: true },
  })
}

async function untilShown(series: string, isExpected: (value: number) => boolean): Promise<void> {
  const [, name = ''] = /^(\w+)/.exec(series) ?? []
  // A request for the readiness measures it.
  do await fetch(`${service.adminUrl}/readyz`)
  while (!isExpected(Number((await scrape(new Set([name]))).get(series))))
}

/** Writes the note of an incremental backup of ten bytes. `log_bytes`: the log in its full backup. */
const noteBackup = (log_bytes: number) =>
  writeFile(
    join(service.directory, 'last-backup.json'),
    JSON.stringify({ created_at: now().toISOString(), bytes: 10, log_bytes }),
  )

const damagedRecord: Pick<Scenario, 'before' | 'cause'> = {
  before: async () => {
    payment = await requests().payFor(requests().lookup('00000000'))
    await requests().lookup('00000000', payment)
  },
  cause: () => service.restart({ whileStopped: () => damage('"from_block"') }),
}

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

/** By the name of the alert. */
const missingSettlement: Scenario = {
  options: withChain((chain) => ({
    nodeCount: 2,
    observe: async (payments, { node, ...options } = {}) => {
      const observed = await chain.observe(payments, options)
      return isDown ? showUnpaid(observed, node ?? (options.otherThan === 0 ? 1 : 0)) : observed
    },
    findTransfers: async (queries) => queries.map(() => undefined),
  })),
  before: buy,
  cause: () => {
    isDown = true
    // The reconciler runs at the start.
    return service.restart()
  },
}

const SCENARIOS: Record<string, Scenario> = {
  CompanyAgentDown: { cause: () => service.stop() },
  CompanyAgentSaleFailed: {
    before: async () => {
      await damagedRecord.before?.()
      await damagedRecord.cause?.()
    },
    needsLoad: true,
    each: () => requests().lookup('00000000', payment),
  },
  CompanyAgentPaymentsRefused: {
    needsLoad: true,
    options: withFacilitator((own) => ({
      verify: (...call) => (isDown ? Promise.resolve(REFUSED) : own.verify(...call)),
    })),
    before: buy,
    cause: async () => void (isDown = true),
    each: buy,
    minutes: 25,
  },
  CompanyAgentPaymentDamaged: damagedRecord,
  CompanyAgentPaymentUnknown: {
    options: withFacilitator(() => ({ settle: () => Promise.reject(new Error('down')) })),
    cause: buy,
  },
  CompanyAgentSettlementNotOnChain: missingSettlement,
  CompanyAgentFacilitatorDoubted: missingSettlement,
  CompanyAgentPaymentWithoutRecord: {
    before: loseRecord,
    cause: () => requests().lookup('00000000', payment),
  },
  CompanyAgentPaymentOld: {
    options: withChain((chain) => ({
      findUse: (...call) => (isDown ? Promise.resolve({ nonce: 'unclear' }) : chain.findUse(...call)),
      findTransfers: async (queries) => queries.map(() => undefined),
    })),
    before: buy,
    cause: async () => {
      isDown = true
      laterMs = 3 * HOUR_MS
      // The reconciler runs at the start.
      await service.restart()
      await untilShown('company_agent_oldest_open_payment_age_seconds', (age) => age > 0)
    },
  },
  CompanyAgentBackupOld: {
    before: () => noteBackup(1_000),
    cause: async () => void (laterMs = 27 * HOUR_MS),
  },
  CompanyAgentBackupSmall: {
    before: () => noteBackup(1_000),
    cause: () => noteBackup(499),
  },
  CompanyAgentChainUnavailable: {
    options: {
      timer: shortTimers,
      ...withChain((chain) => ({ observe: (...call) => rejectIfDown(() => chain.observe(...call)) })),
    },
    needsLoad: true,
    cause: () => {
      isDown = true
      return untilShown('company_agent_ready{part="chain"}', (isReady) => isReady === 0)
    },
  },
  CompanyAgentNodeUnusable: {
    options: withChain(() => ({ unusableNodes: () => (isDown ? [2] : []) })),
    cause: async () => void (isDown = true),
    minutes: 6,
  },
  CompanyAgentClockWrong: {
    options: withChain(() => ({ isClockWrong: () => isDown })),
    cause: async () => void (isDown = true),
    minutes: 3,
  },
  CompanyAgentFacilitatorFailing: {
    needsLoad: true,
    options: withFacilitator((own) => ({ verify: (...call) => rejectIfDown(() => own.verify(...call)) })),
    before: buy,
    cause: async () => void (isDown = true),
    each: buy,
  },
  CompanyAgentDatabaseLost: {
    needsLoad: true,
    options: async () => ({
      timer: shortTimers,
      environment: { RESPONSE_LOG: (databaseUrl = await makeEmptyLog()) },
    }),
    cause: async () => {
      locking = new pg.Client({ connectionString: databaseUrl })
      await locking.connect()
      await locking.query('begin; lock table responses in access exclusive mode')
      await untilShown('company_agent_ready{part="response_log"}', (isReady) => isReady === 0)
    },
    minutes: 6,
  },
  CompanyAgentRelayerBalanceLow: {
    options: {
      replaceExternals: (own) => ({
        ...own,
        relayerFunds: async () => {
          const funds = await own.relayerFunds!()
          return isDown ? { ...funds, settlements: 999n } : funds
        },
      }),
    },
    cause: async () => void (isDown = true),
  },
  CompanyAgentDatasetNotRetrieved: {
    options: { environment: { DATASET: CLOSED_URL } },
    cause: async () => void (laterMs = HOUR_MS / 2),
  },
  CompanyAgentKeysLost: {
    options: {
      timer: (callback, milliseconds) => {
        if (milliseconds !== KEYS_REFRESH_MS) return pausesOnly(callback, milliseconds)
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
  CompanyAgentDatasetOld: { cause: async () => void (laterMs = 50 * HOUR_MS) },
  CompanyAgentDatasetMissing: {
    options: { environment: { DATASET: CLOSED_URL } },
  },
  CompanyAgentRateLimited: {
    needsLoad: true,
    options: { configure: (config) => ({ ...config, addressBudget: 1 }) },
    before: () => requests().lookup('00000000'),
    each: () => requests().lookup('00000000'),
    minutes: 21,
  },
  CompanyAgentEventLoopSlow: {
    needsLoad: true,
    // More than one long delay, because a percentile of more than 50 delays leaves out the longest one.
    each: async () => {
      for (let block = 0; block < 2; block += 1) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
        await sleep(20)
      }
    },
    minutes: 7,
  },
}

/** The samples of the metrics that the rules use. A scrape of a stopped service has none. */
async function scrape(used: ReadonlySet<string>): Promise<Samples> {
  const up = 'up{job="irish-company-agent"}'
  const response = await fetch(`${service.adminUrl}/metrics`).catch(() => undefined)
  const samples: Samples = new Map([[up, response ? '1' : '0']])
  for (const line of (await response?.text())?.split('\n') ?? []) {
    const [, series = '', name = '', value = ''] = /^((\w+)(?:\{.*\})?) (\S+)$/.exec(line) ?? []
    if (used.has(name)) samples.set(series, value)
  }
  return samples
}

/** A unit test of promtool with the state of the alert before the cause and at the end. */
function unitTest(alert: string, scrapes: readonly Samples[]) {
  const series = new Set(scrapes.flatMap((samples) => [...samples.keys()]))
  const expr = `count(ALERTS{alertname="${alert}",alertstate="firing"})`
  return {
    rule_files: [RULES],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: [...series].map((each) => ({
          series: each,
          values: scrapes.map((samples) => samples.get(each) ?? '_').join(' '),
        })),
        promql_expr_test: [
          { expr, eval_time: `${SILENT_MINUTES - 1}m`, exp_samples: [] },
          { expr, eval_time: `${scrapes.length - 1}m`, exp_samples: [{ labels: '{}', value: 1 }] },
        ],
      },
    ],
  }
}

describe('the alerts', function () {
  this.timeout(240_000)
  let directory: string
  let used: Set<string>

  before(async function () {
    if (spawnSync('promtool', ['--version'], { timeout: 10_000 }).status !== 0) return this.skip()
    directory = await makeTemporaryDirectory()
    used = new Set((await readFile(RULES, 'utf8')).match(/\b(?:company_agent|nodejs)_\w+/g))
  })
  afterEach(async () => {
    laterMs = 0
    isDown = false
  })

  it('are all tested', async () => {
    const names = [...(await readFile(RULES, 'utf8')).matchAll(/alert: (\w+)/g)].map(([, name = '']) => name)
    expect(new Set(Object.keys(SCENARIOS))).to.deep.equal(new Set(names))
  })

  for (const [alert, scenario] of Object.entries(SCENARIOS)) {
    const { options = {}, before: prepare, cause, each, minutes = LASTING_MINUTES } = scenario
    it(`fire after their cause while it lasts, and not before: ${alert}`, async function () {
      if (alert === 'CompanyAgentDatabaseLost' && findPostgres() === undefined) return this.skip()
      const given = typeof options === 'function' ? await options() : options
      service = await startTestService({ now, ...given, environment: { ADMIN_PORT: '0', ...given.environment } })
      const scrapes: Samples[] = []
      try {
        await prepare?.()
        for (let minute = 0; minute < SILENT_MINUTES; minute += 1) scrapes.push(await scrape(used))
        await cause?.()
        for (let minute = 0; minute < minutes; minute += 1) {
          await each?.()
          // A stopped service and an outage refuse it.
          if (!scenario.needsLoad) await buy().catch(() => undefined)
          scrapes.push(await scrape(used))
        }
      } finally {
        await locking?.end()
        locking = undefined
        if (alert !== 'CompanyAgentDown') await service.stop()
      }
      const file = join(directory, 'test.yml')
      // YAML includes JSON.
      await writeFile(file, JSON.stringify(unitTest(alert, scrapes)))
      const failed = await promisify(execFile)('promtool', ['test', 'rules', file]).then(
        () => '',
        ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
      )
      expect(failed).to.equal('')
    })
  }
})
