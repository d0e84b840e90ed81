/** The actions of the command `payments`. They print records of the response log and may run beside the service. */
import type { ResponseRecord } from '../../store/log/record.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { clearDoubts, hostOf, listDoubts } from './doubts.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'

type Print = (line: string) => void

/** Prints the payments whose outcome is not final. Returns false if a record is corrupt. */
export async function listUnfinishedPayments(log: ResponseLog, print: Print): Promise<boolean> {
  let isComplete = true
  for (const identity of await log.unfinished()) {
    const record = await tryRead(log, identity)
    if (record) print(`${record.state.padEnd(8)} ${record.updated_at} attempt ${record.attempt} ${identity}`)
    else print(`damaged ${identity}`)
    isComplete &&= record !== undefined
  }
  return isComplete
}

/** Prints the payments that the chain shows as settled and that have no record. */
export async function listUnrecordedPayments(log: ResponseLog, print: Print): Promise<void> {
  for (const { found_at, transaction, identity } of await log.unrecorded())
    print(`${found_at} ${transaction} ${identity}`)
}

/** Prints the payments that are not on chain. Forgets those of the facilitator `trusted`. */
export async function listMissingPayments(log: ResponseLog, print: Print, trusted?: string): Promise<void> {
  for (const { facilitator, identity } of await listDoubts(log)) print(`${hostOf(facilitator)} ${identity}`)
  if (trusted !== undefined) print(`${await clearDoubts(log, trusted)} forgotten`)
}

/** Prints one record without its secrets. Returns false if it does not exist or is corrupt. */
export async function showPayment(log: ResponseLog, identity: string, print: Print): Promise<boolean> {
  const record = await tryRead(log, identity.toLowerCase())
  const text = record ? JSON.stringify(withoutSecrets(record), null, 2) : 'the record does not exist or is corrupt'
  text.split('\n').forEach(print)
  return record !== undefined
}

/** Omits the signature, which can move money until `validBefore`, the response that was sold, and its receipt. */
function withoutSecrets(record: ResponseRecord) {
  const { payment: _payment, body, receipt: _receipt, ...rest } = record
  const { authorization } = recordedPayment(record).payment.payload
  return { ...rest, authorization, body_bytes: Buffer.byteLength(body) }
}

async function tryRead(log: ResponseLog, identity: string): Promise<ResponseRecord | undefined> {
  try {
    return await log.read(identity)
  } catch {
    return undefined
  }
}
