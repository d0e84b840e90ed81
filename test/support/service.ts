/** The whole service on a free port, with real store, chain and facilitator, and its own data directory. */
import { privateKeyToAccount } from 'viem/accounts'
import type { AllowedChanges } from '../../agent/service/check-log-owner.ts'
import { readConfig, type Config } from '../../agent/service/config.ts'
import { openSandbox } from '../../agent/sandbox/sandbox.ts'
import type { Externals } from '../../agent/service/externals.ts'
import { startService } from '../../agent/service/service.ts'
import type { Timer } from '../../base/runtime.ts'
import { testChainUrl } from './chain.ts'
import { loadDescription } from './openapi-check.ts'
import { REGISTER } from './fixtures.ts'
import { importByCommand } from './import-by-command.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { pausesOnly } from './timers.ts'
import { tokenOn } from './token.ts'
import { signQuote, type PaymentOptions } from './payments.ts'

export interface TestServiceOptions {
  environment?: Record<string, string>
  replaceExternals?: (externals: Externals) => Externals
  now?: () => Date
  /** The clock of the limits. */
  clock?: () => number
  /** Timer of the service. By default only pauses within a request end. */
  timer?: Timer
  areLogLinesLost?: () => boolean
  /** Changes values that no variable of the environment sets. */
  configure?: (config: Config) => Config
  /** Writes into the data directory before the first start. */
  prepare?: (directory: string) => Promise<void>
}

export type TestService = Awaited<ReturnType<typeof startTestService>>

export async function startTestService(options: TestServiceOptions = {}) {
  const directory = await makeTemporaryDirectory()
  await options.prepare?.(directory)
  const rpcUrl = await testChainUrl()
  const reports: [event: string, cause: unknown][] = []
  const report = (event: string, cause: unknown) => void reports.push([event, cause])
  const start = (allowed: StartOptions['allowed'] = {}) =>
    startSandboxService({ ...options, rpcUrl, directory, report, allowed })

  let running = await start()
  const buyer = privateKeyToAccount(running.sandbox.buyerKey)
  const token = tokenOn(rpcUrl)
  return {
    directory,
    reports,
    rpcUrl,
    buyer,
    buyerKey: running.sandbox.buyerKey,
    payTo: running.sandbox.externals.payTo,
    token,
    /** The address of metrics and probes, if `ADMIN_PORT` is set. */
    get adminUrl() {
      return running.service.adminUrl ?? ''
    },
    get url() {
      return running.service.baseUrl
    },
    /** Differs from `url` if `BASE_URL` is set. */
    get localUrl() {
      return `http://127.0.0.1:${running.service.port}`
    },
    /** Signs a payment for a quote. */
    pay: (quoteHeader: string | null, payment: PaymentOptions = {}) =>
      signQuote(quoteHeader, { key: running.sandbox.buyerKey, ...payment }),
    /** Balances in micro-USDC and the number of transfers so far. */
    async paid() {
      return {
        received: await token.balanceOf(running.sandbox.externals.payTo),
        left: await token.balanceOf(buyer.address),
        transfers: await token.transfers(buyer.address, running.sandbox.externals.payTo),
      }
    },
    /** The number of transfers that `work` makes. */
    async transfersOf(work: () => Promise<unknown>): Promise<number> {
      const before = await token.transfers(buyer.address, running.sandbox.externals.payTo)
      await work()
      return (await token.transfers(buyer.address, running.sandbox.externals.payTo)) - before
    },
    async restart({
      whileStopped,
      allowed,
    }: { whileStopped?: () => Promise<void>; allowed?: StartOptions['allowed'] } = {}) {
      await running.service.stop()
      await whileStopped?.()
      running = await start(allowed)
    },
    stop: () => running.service.stop(),
  }
}

interface StartOptions extends TestServiceOptions {
  directory: string
  rpcUrl: string
  report: (event: string, cause: unknown) => void
  allowed: AllowedChanges
}

async function startSandboxService({
  directory,
  rpcUrl,
  environment = {},
  replaceExternals = (externals) => externals,
  now = () => new Date(),
  clock = () => performance.now(),
  timer = pausesOnly,
  configure = (config) => config,
  areLogLinesLost = () => false,
  report,
  allowed,
}: StartOptions) {
  const defaults = {
    DATA_DIR: directory,
    PORT: '0',
    ADMIN_PORT: 'off',
    RPC_URL: rpcUrl,
    DATASET: REGISTER,
    RATE_LIMIT_PER_MINUTE: '10000',
  }
  const config = configure(readConfig({ ...defaults, ...environment }))
  const sandbox = await openSandbox({ config, now: () => new Date(), log: () => undefined })
  const service = await startService({
    config,
    externals: replaceExternals(sandbox.externals),
    allowed,
    runImport: importByCommand(config.dataDirectory, now),
    now,
    clock,
    random: () => 0.5,
    timer,
    report,
    areLogLinesLost,
  })
  // With a BASE_URL of the test, a test server answers there, possibly with forged answers.
  if (environment['BASE_URL'] === undefined) await loadDescription(service.baseUrl)
  return { sandbox, service }
}
