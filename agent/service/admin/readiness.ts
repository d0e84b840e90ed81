/** Whether a service can sell: a fresh dataset, a response log that can be written, and a chain that answers. */
import { datasetStatus, type Catalog } from '../../../store/dataset/catalog.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import type { Timer } from '../../../store/base/runtime.ts'
import type { Chain } from '../../settlement/chain/chain.ts'
import { withDeadline } from '../../settlement/rpc/deadline.ts'

/** Shorter than the usual time limit of a probe. */
const CHECK_MS_MAX = 2_000

interface ReadinessParts {
  catalog: Pick<Catalog, 'current'>
  log: ResponseLog
  /** Throws when the disk of the response log is nearly full. */
  checkDisk: () => void
  chain: Chain
  now: () => Date
  timer: Timer
  isStopping: () => boolean
}

export async function checkServiceReadiness(parts: ReadinessParts): Promise<Record<string, boolean>> {
  const { catalog, log, checkDisk, chain, now, timer, isStopping } = parts
  const succeeds = (work: () => Promise<unknown>) =>
    withDeadline({ timer, milliseconds: CHECK_MS_MAX }, async () => work()).then(
      () => true,
      () => false,
    )
  const [response_log, chainAnswers] = await Promise.all([
    succeeds(async () => {
      checkDisk()
      await log.checkWritable()
    }),
    succeeds(() => chain.observe([])),
  ])
  const source = catalog.current()?.source
  const dataset = source !== undefined && datasetStatus(source, now()) === 'ready'
  return { dataset, response_log, chain: chainAnswers, running: !isStopping() }
}
