/**
 * Checks at each start that the response log is the one that the data directory uses, and that it belongs to the
 * configured receiver and chain. `PAY_TO` belongs to one response log: a second one would sell again for the same
 * payments.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { logMarker, usedReceivers, type LogOwner } from '../../store/log/log-owner.ts'
import { StoreError } from '../../store/files/environment.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import type { Terms } from '../payment/terms.ts'

/** Changes that the operator allows at one start, each with an option of `serve`. */
export type AllowedChanges = Partial<Record<'newLog' | 'newReceiver' | 'newKeys', boolean>>

interface OwnerCheck {
  log: Pick<ResponseLog, 'owner' | 'setOwner' | 'unfinished'>
  dataDirectory: string
  terms: Pick<Terms, 'network' | 'asset' | 'payTo'>
  allowed: AllowedChanges
}

/**
 * Why a start without allowed changes would be refused, as one line for the operator. Changes nothing.
 * @throws StoreError if the marker cannot be read
 */
export async function findOwnerFault({ log, dataDirectory, terms }: Omit<OwnerCheck, 'allowed'>) {
  const markedId = (await logMarker.read(dataDirectory))?.log_id
  const owner = await log.owner()
  if (!owner) return markedId === undefined ? undefined : EMPTY_LOG
  return findMismatch(owner, markedId, terms) ?? (isPaid(owner, terms) ? undefined : otherReceiver(owner))
}

const EMPTY_LOG =
  'The response log is empty, but DATA_DIR was used with another: restore it, or start once with --new-log'

function findMismatch(
  owner: LogOwner,
  markedId: string | undefined,
  { network, asset }: OwnerCheck['terms'],
): string | undefined {
  if (markedId !== undefined && markedId !== owner.log_id)
    return 'DATA_DIR was used with another response log: restore that log, or start once with --new-log'
  if (owner.network !== network || owner.asset !== asset.toLowerCase())
    return `The response log belongs to ${owner.network}: use another DATA_DIR or RESPONSE_LOG`
  return undefined
}

const isPaid = (owner: LogOwner, { payTo }: OwnerCheck['terms']) => owner.pay_to === payTo.toLowerCase()

const otherReceiver = (owner: LogOwner) =>
  `The response log belongs to the receiver ${owner.pay_to}: set PAY_TO to it, or start once with --new-receiver`

/** @throws StoreError whose message is one line for the operator */
export async function checkLogOwner({ log, dataDirectory, terms, allowed }: OwnerCheck): Promise<void> {
  const markedId = allowed.newLog === true ? undefined : (await logMarker.read(dataDirectory))?.log_id
  const used = (await usedReceivers.read(dataDirectory))?.receivers ?? []
  const receiver = terms.payTo.toLowerCase()
  const stored = await log.owner()
  const last = used.at(-1) ?? receiver
  // A payment to the former receiver would be refused, although it was settled.
  if (last !== receiver && stored?.receivers.includes(last) !== true && allowed.newReceiver !== true)
    throw new StoreError(
      `DATA_DIR was used with the receiver ${last}: set PAY_TO to it, or start once with --new-receiver`,
    )
  const owner = stored ?? (await setFirstOwner({ log, terms }, markedId, used))
  const mismatch = findMismatch(owner, markedId, terms)
  if (mismatch !== undefined) throw new StoreError(mismatch)
  if (!isPaid(owner, terms)) {
    if (allowed.newReceiver !== true) throw new StoreError(otherReceiver(owner))
    await changeReceiver(log, owner, receiver)
  }
  const known = await addReceivers(log, used)
  // Last, so that a start that was refused or killed changes nothing in the directory.
  const receivers = [...known.filter((each) => each !== receiver), receiver]
  if (!isDeepStrictEqual(receivers, used)) await usedReceivers.write(dataDirectory, { receivers })
  if (markedId !== owner.log_id) await logMarker.write(dataDirectory, { log_id: owner.log_id })
}

/** The log of a directory that was used with another log gets the receivers of that one. Returns all of the log. */
async function addReceivers(log: OwnerCheck['log'], used: readonly string[]): Promise<readonly string[]> {
  const owner = await log.owner()
  if (!owner) return used
  const receivers = [...new Set([...owner.receivers, ...used])]
  if (receivers.length === owner.receivers.length) return receivers
  await log.setOwner({ ...owner, receivers }, owner)
  // Another machine that starts at the same time may have written its own receivers instead.
  return addReceivers(log, used)
}

/** A log without an owner is new. A new log in a used data directory replaces a lost one. */
async function setFirstOwner(
  { log, terms: { network, asset, payTo } }: Pick<OwnerCheck, 'log' | 'terms'>,
  markedId: string | undefined,
  used: readonly string[],
): Promise<LogOwner> {
  if (markedId !== undefined) throw new StoreError(EMPTY_LOG)
  const pay_to = payTo.toLowerCase()
  const owner = { network, asset: asset.toLowerCase(), pay_to, receivers: [...new Set([...used, pay_to])] }
  return log.setOwner({ log_id: randomUUID(), ...owner }, undefined)
}

async function changeReceiver(log: OwnerCheck['log'], owner: LogOwner, receiver: string): Promise<void> {
  const { length } = await log.unfinished()
  if (length > 0) throw new StoreError(`The receiver cannot change while ${length} payments have no final outcome`)
  const next = { ...owner, pay_to: receiver, receivers: [...new Set([...owner.receivers, receiver])] }
  const { pay_to } = await log.setOwner(next, owner)
  if (pay_to !== next.pay_to) throw new StoreError('Another process changes the receiver: start this one again')
}
