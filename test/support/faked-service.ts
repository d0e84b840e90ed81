/** The whole service on a free port, with a facilitator without faults and a chain of one ledger. */
import { readConfig } from '../../agent/service/config.ts'
import { logEvents, openLog } from '../../agent/service/log.ts'
import type { HttpServerLimits } from '../../agent/service/http-server.ts'
import { startService } from '../../agent/service/service.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { loadDescription } from './openapi-check.ts'
import { REGISTER } from './fixtures.ts'
import { importByCommand } from './import-by-command.ts'
import { signQuote, testTerms } from './payments.ts'
import { readLedger } from './remotes/chain-node.ts'
import { facilitatorOf } from './remotes/facilitator.ts'
import { Ledger } from './remotes/ledger.ts'
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

export async function startFakedService({
  environment = {},
  now = () => new Date(),
  clock = () => performance.now(),
  dataset = REGISTER,
  limits = {},
  beforeSettlement = async () => undefined,
}: FakedOptions = {}) {
  const directory = await makeTemporaryDirectory()
  let recorded = 0
  /** The log lines. */
  const lines: LogLine[] = []
  const { report, onSale } = logEvents(
    openLog('info', { write: (line) => void lines.push(JSON.parse(line) as LogLine) }),
  )
  const defaults = { PORT: '0', ADMIN_PORT: 'off', DATASET: dataset, RATE_LIMIT_PER_MINUTE: '20000' }
  const config = readConfig({ DATA_DIR: directory, ...defaults, ...environment })
  const { chainId } = DEPLOYMENTS[config.mode]
  const ledger = new Ledger({ unfinalBlocks: 0, chainId, now: () => now().getTime() })
  const service = await startService({
    config,
    externals: {
      facilitator: facilitatorOf(ledger, beforeSettlement),
      chain: readLedger(ledger, now),
      payTo: testTerms.payTo,
    },
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
    counts: () => ({ settled: ledger.nonces.length + ledger.repeated, recorded }),
    pay: signQuote,
    stop: () => service.stop(),
  }
}
