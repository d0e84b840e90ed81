/** Checks of the response log, the keys and the backups. They change nothing. */
import { stat } from 'node:fs/promises'
import { readDirectory } from '../../../keys/key-files.ts'
import { HOUR_MS } from '../../../base/day.ts'
import { ifMissing } from '../../../base/error-code.ts'
import { hasLostLog, readLastBackup } from '../../../store/backup/write.ts'
import { logMarker } from '../../../store/log/directory-files.ts'
import { countOpen } from '../../../store/log/responses.ts'
import { listUnrecorded } from '../../../store/log/unrecorded.ts'
import { readSynchronousStandbys } from '../../../store/log/postgres/connection.ts'
import { DEPLOYMENTS } from '../../payment/terms.ts'
import { listDoubts } from '../../settlement/doubts.ts'
import { checkReceiptKeys } from '../card-keys.ts'
import { findOwnerFault } from '../check-log-owner.ts'
import { failed, passed, warning, type Finding, type Subject } from './subject.ts'

/** A backup a day is enough, and its timer may be late. */
const BACKUP_MS_MAX = 26 * HOUR_MS

/** Opening it refuses a schema of another version, a standby, and a server that acknowledges commits early. */
export async function checkResponseLog(subject: Subject): Promise<Finding[]> {
  const { config, payTo, running } = subject
  const { dataDirectory, responseLog: url, mode } = config
  const log = await subject.log()
  if (payTo !== undefined) {
    const terms = { ...DEPLOYMENTS[mode], payTo }
    const fault = await findOwnerFault({ log, dataDirectory, terms, allowed: {} })
    if (fault !== undefined) return failed(fault)
  }
  if (!log) return passed('LMDB; the first start creates it')
  // The write leaves nothing. It fails on a full disk, and while no synchronous standby follows.
  if (running || url !== undefined) await log.checkWritable()
  if (running) return passed('takes a sale')
  const open = `${await countOpen(log)} payments without a final outcome`
  if (url === undefined) return passed(`LMDB, ${open}`)
  const standbys = await readSynchronousStandbys(url)
  return standbys === ''
    ? warning(
        `PostgreSQL, ${open}; without a synchronous standby a failover loses answers: set synchronous_standby_names`,
      )
    : passed(`PostgreSQL with a synchronous standby, ${open}`)
}

export async function checkKeys({ config, log: openLog, running }: Subject): Promise<Finding[]> {
  const fault = running?.keys?.fault()
  if (running) return fault === undefined ? passed('can be read') : failed(`${fault}: see the log`)
  const { keysDirectory } = config
  const keys = await readDirectory(keysDirectory)
  // A log that cannot be opened has a check of its own.
  const log = await openLog().catch(() => undefined)
  if (log) await checkReceiptKeys(log, keysDirectory)
  return passed(keys.length > 0 ? `${keys.length} of receipts and the agent card` : 'the first start creates a key')
}

/** Without a backup the age of the log counts, whose marker the first start writes. */
export async function checkBackup({ config: { dataDirectory }, now }: Subject): Promise<Finding[]> {
  const last = readLastBackup(dataDirectory)
  const marker = last ? undefined : await stat(logMarker.pathIn(dataDirectory)).catch(ifMissing(undefined))
  const since = last ? Date.parse(last.created_at) : (marker?.mtimeMs ?? now().getTime())
  const hours = Math.floor((now().getTime() - since) / HOUR_MS)
  const found = last ? `the last one is ${hours} hours old` : `there is none, and the log is ${hours} hours old`
  if (now().getTime() - since > BACKUP_MS_MAX) return warning(`${found}: run backup, and enable its timer`)
  if (!last || !hasLostLog(last)) return passed(found)
  const { log_bytes: bytes = 0, log_bytes_before: before } = last
  return warning(`the log in the last one has ${bytes} bytes, and had ${before}: check DATA_DIR and RESPONSE_LOG`)
}

/** A void one stays until the operator trusts its facilitator again. */
export async function checkSettlements({ log: openLog, running }: Subject): Promise<Finding[]> {
  const log = await openLog()
  const { length } = log ? await listDoubts(log) : []
  if (length > 0) return failed(`${length} reported settlements are not on chain: see payments missing`)
  return running?.hasReported('settlement_not_on_chain') === true ? failed('see the log') : passed('')
}

export async function checkUnrecorded({ log: openLog, now, running }: Subject): Promise<Finding[]> {
  const log = await openLog()
  const unrecorded = log ? await listUnrecorded(log) : []
  const time = new Date(now().getTime() - HOUR_MS).toISOString()
  const { length } = unrecorded.filter(({ found_at }) => found_at > time)
  if (running?.hasReported('unrecorded_payment_not_listed') === true)
    return warning('a settled payment without a record could not be listed')
  return length === 0
    ? passed('no settled payment without a record in the last hour')
    : warning(`${length} settled payments without a record in the last hour: see payments unrecorded`)
}
