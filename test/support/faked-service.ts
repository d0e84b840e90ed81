/** The whole service on a free port, with a fake facilitator and a fake chain that accept every payment and count. */
import { readConfig } from '../../agent/service/config.ts'
import { logEvents, openLog } from '../../agent/service/log.ts'
import type { HttpServerLimits } from '../../agent/service/http-server.ts'
import type { Externals } from '../../agent/service/externals.ts'
import { startService } from '../../agent/service/service.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { loadDescription } from './openapi-check.ts'
import { chainOf } from './fake-chain.ts'
import { REGISTER } from './fixtures.ts'
import { importByCommand } from './import-by-command.ts'
import { signQuote, testTerms } from './payments.ts'
import { settledReply } from './sale-harness.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { pausesOnly } from './timers.ts'

export type FakedService = Awaited<ReturnType<typeof startFakedService>>

/** The configuration of a mainnet deployment. */
export const MAINNET = {
  MODE: 'mainnet',
  FACILITATOR: 'https://facilitator.example',
  RPC_URL: 'https://node.example',
  PAY_TO: testTerms.payTo,
}

/** A parsed log line. */
interface LogLine {
  msg: string
  request_id?: string
  [field: string]: unknown
}

interface FakedOptions {
  /** Added to the default environment. Undefined removes a variable. */
  environment?: Record<string, string | undefined>
  now?: () => Date
  /** The clock of the limits. */
  clock?: () => number
  dataset?: string
  limits?: Partial<HttpServerLimits>
  /** Delays settlements. */
  beforeSettlement?: () => Promise<void>
}

/** A facilitator that accepts every payment, and a chain without a transfer. */
function acceptingExternals({ now, onSettle }: { now: () => Date; onSettle: () => Promise<void> }): Externals {
  return {
    facilitator: {
      verify: async (payload) => ({ isValid: true, payer: settledReply(payload).payer ?? '' }),
      settle: async (payload) => {
        await onSettle()
        return { ...settledReply(payload), network: payload.accepted.network }
      },
    },
    chain: chainOf(now, () => ({ nonce: 'free', time: BigInt(Math.floor(now().getTime() / 1000)), finalTime: 0n })),
    payTo: testTerms.payTo,
  }
}

export async function startFakedService({
  environment = {},
  now = () => new Date(),
  clock = () => performance.now(),
  dataset = REGISTER,
  limits = {},
  beforeSettlement = async () => undefined,
}: FakedOptions = {}) {
  const directory = await makeTemporaryDirectory()
  let settled = 0
  let recorded = 0
  /** The log lines. */
  const lines: LogLine[] = []
  const { report, onSale } = logEvents(
    openLog('info', { write: (line) => void lines.push(JSON.parse(line) as LogLine) }),
  )
  const defaults = { PORT: '0', ADMIN_PORT: 'off', DATASET: dataset, RATE_LIMIT_PER_MINUTE: '20000' }
  const config = readConfig({ DATA_DIR: directory, ...defaults, ...environment })
  const service = await startService({
    config,
    externals: acceptingExternals({
      now,
      async onSettle() {
        await beforeSettlement()
        settled += 1
      },
    }),
    openLog: async ({ dataDirectory }) => {
      const log = new LmdbResponseLog(dataDirectory, { now })
      const claim = log.claim.bind(log)
      log.claim = (record) => {
        recorded += 1
        return claim(record)
      }
      return log
    },
    runImport: importByCommand(config.dataDirectory, now),
    limits,
    now,
    clock,
    random: () => 0.5,
    timer: pausesOnly,
    report,
    onSale,
  })
  const url = `http://127.0.0.1:${service.port}`
  await loadDescription(url)
  return {
    directory,
    url,
    lines,
    /** The log lines of failures. */
    failures: () => lines.filter(({ msg }) => msg !== 'sale'),
    counts: () => ({ settled, recorded }),
    pay: signQuote,
    stop: () => service.stop(),
  }
}
