/** Checks of the response log and of the dataset. They change nothing. */
import { existsSync } from 'node:fs'
import { findOwnerFault } from '../../service/check-log-owner.ts'
import { checkReceiptKeys } from '../../service/card-keys.ts'
import { isUrl } from '../../../store/base/url-policy.ts'
import { datasetStatus, Catalog } from '../../../store/dataset/catalog.ts'
import { catalogFolder, responsesFolder } from '../../../store/files/layout.ts'
import { readSynchronousStandbys } from '../../../store/log/postgres/connection.ts'
import type { Config } from '../../service/config.ts'
import type { Fetch } from '../../../store/base/bounded-fetch.ts'
import { DEPLOYMENTS } from '../../payment/terms.ts'
import { openConfiguredLog } from '../../service/response-log.ts'
import { failed, passed, warning, type CheckResult } from './check.ts'

export async function checkResponseLog(config: Config): Promise<CheckResult[]> {
  const { dataDirectory, keysDirectory, responseLog: url, facilitator, mode } = config
  const isMissing = url === undefined && !existsSync(responsesFolder(dataDirectory))
  // Refuses a schema of another version, a standby, and a server that acknowledges commits early.
  await using log = isMissing ? undefined : await openConfiguredLog(config, { readOnly: true })
  if (facilitator.kind !== 'sandbox') {
    const terms = { ...DEPLOYMENTS[mode], payTo: facilitator.payTo }
    const fault = await findOwnerFault({ log: log ?? { owner: async () => undefined }, dataDirectory, terms })
    if (fault !== undefined) return failed(fault)
  }
  if (!log) return passed('LMDB; the first start creates it')
  await checkReceiptKeys(log, keysDirectory)
  const open = `${(await log.unfinished()).length} payments without a final outcome`
  if (url === undefined) return passed(`LMDB, ${open}`)
  // The write leaves nothing. It fails on a full disk, and while no synchronous standby follows.
  await log.checkWritable()
  const standbys = await readSynchronousStandbys(url)
  return standbys === ''
    ? warning(
        `PostgreSQL, ${open}; without a synchronous standby a failover loses answers: set synchronous_standby_names`,
      )
    : passed(`PostgreSQL with a synchronous standby, ${open}`)
}

export async function checkStoredDataset(config: Config, now: () => Date, fetch: Fetch): Promise<CheckResult[]> {
  const { dataDirectory, dataset } = config
  if (dataset === undefined) return passed('the sample of the sandbox')
  if (!isUrl(dataset)) {
    return existsSync(dataset) ? passed(dataset) : failed(`${JSON.stringify(dataset)} does not exist: correct DATASET`)
  }
  // The body is not read, because an archive has more than 100 MB.
  const answer = await fetch(dataset, {}).catch(() => undefined)
  await answer?.body?.cancel()
  if (answer?.ok === true) return passed(`${dataset} answers`)
  const fault = answer ? `answers with status ${answer.status}` : 'does not answer'
  return (await isDatasetFresh(dataDirectory, now))
    ? warning(`${dataset} ${fault}: sales end when the stored snapshot is 72 hours old`)
    : failed(`${dataset} ${fault}, and there is no snapshot of the last 72 hours: correct DATASET, or import a file`)
}

async function isDatasetFresh(dataDirectory: string, now: () => Date): Promise<boolean> {
  if (!existsSync(catalogFolder(dataDirectory))) return false
  await using catalog = new Catalog(dataDirectory)
  const dataset = catalog.current()
  return dataset !== undefined && datasetStatus(dataset.source, now()) === 'ready'
}
