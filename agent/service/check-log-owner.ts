/**
 * Checks at each start that the response log is the one that the data directory uses, and that it belongs to the
 * configured receiver and chain. `PAY_TO` belongs to one response log: a second one would sell again for the same
 * payments.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { findMoveFault } from '../../store/log/move.ts'
import { logMarker, usedReceivers } from '../../store/log/directory-files.ts'
import { ownerOf, type LogOwner } from '../../store/log/owner.ts'
import { StoreError } from '../../store/files/environment.ts'
import { countOpen, type ResponseLog } from '../../store/log/responses.ts'
import type { Terms } from '../payment/terms.ts'

/** Changes that the operator allows at one start, each with an option of `serve`. */
export type AllowedChanges = Partial<Record<'newLog' | 'newReceiver' | 'newKeys', boolean>>

interface OwnerCheck {
  /** Undefined before it exists. */
  log: Pick<ResponseLog, 'document'> | undefined
  dataDirectory: string
  terms: Pick<Terms, 'network' | 'asset' | 'payTo'>
  allowed: AllowedChanges
}

/**
 * Why a start would be refused, as one line for the operator. Changes nothing.
 * @throws StoreError if a file of the directory cannot be read
 */
export async function findOwnerFault(check: OwnerCheck): Promise<string | undefined> {
  return (await compareOwner(check)).fault
}

/** @throws StoreError whose message is one line for the operator */
export async function checkLogOwner(check: OwnerCheck & { log: ResponseLog }): Promise<void> {
  const { log, dataDirectory, terms, allowed } = check
  const { fault, document, markedId, used } = await compareOwner(check)
  if (fault !== undefined) throw new StoreError(fault)
  const stored = document?.value
  const pay_to = terms.payTo.toLowerCase()
  const owner: LogOwner = {
    log_id: stored?.log_id ?? randomUUID(),
    network: terms.network,
    asset: terms.asset.toLowerCase(),
    pay_to,
    receivers: [...new Set([...(stored?.receivers ?? []), ...used, pay_to])],
  }
  if (!isDeepStrictEqual(owner, stored)) {
    const open = stored && stored.pay_to !== pay_to ? await countOpen(log) : 0
    if (open > 0) throw new StoreError(`The receiver cannot change while ${open} payments have no final outcome`)
    await ownerOf(log).compareAndSet(owner, document?.revision)
    // Another process that starts at the same time may have stored its own owner instead.
    return checkLogOwner({ ...check, allowed: { ...allowed, newReceiver: false } })
  }
  // Last, so that a start that was refused or killed changes nothing in the directory.
  const receivers = [...owner.receivers.filter((each) => each !== pay_to), pay_to]
  if (!isDeepStrictEqual(receivers, used)) await usedReceivers.write(dataDirectory, { receivers })
  if (markedId !== owner.log_id) await logMarker.write(dataDirectory, { log_id: owner.log_id })
}

async function compareOwner({ log, dataDirectory, terms, allowed }: OwnerCheck) {
  const markedId = allowed.newLog === true ? undefined : (await logMarker.read(dataDirectory))?.log_id
  const used = (await usedReceivers.read(dataDirectory))?.receivers ?? []
  const document = log && (await ownerOf(log).read())
  const moveFault = log && (await findMoveFault(log))
  const fault = moveFault ?? findFault({ stored: document?.value, markedId, used, terms, allowed })
  return { fault, document, markedId, used }
}

interface Compared extends Pick<OwnerCheck, 'terms' | 'allowed'> {
  /** The owner in the log. */
  stored: LogOwner | undefined
  /** The log that the directory was used with. Undefined for a new directory, and with `--new-log`. */
  markedId: string | undefined
  /** The receivers that the directory was used with, the last one last. */
  used: readonly string[]
}

function findFault({ stored, markedId, used, terms, allowed }: Compared): string | undefined {
  const receiver = terms.payTo.toLowerCase()
  const last = used.at(-1) ?? receiver
  // A payment to the former receiver would be refused, although it was settled.
  if (last !== receiver && stored?.receivers.includes(last) !== true && allowed.newReceiver !== true)
    return `DATA_DIR was used with the receiver ${last}: set PAY_TO to it, or start once with --new-receiver`
  if (markedId !== undefined && !stored)
    return 'The response log is empty, but DATA_DIR was used with another: restore it, or start once with --new-log'
  // A log without an owner is new.
  if (!stored) return undefined
  if (markedId !== undefined && markedId !== stored.log_id)
    return 'DATA_DIR was used with another response log: restore that log, or start once with --new-log'
  if (stored.network !== terms.network || stored.asset !== terms.asset.toLowerCase())
    return `The response log belongs to ${stored.network}: use another DATA_DIR or RESPONSE_LOG`
  if (stored.pay_to !== receiver && allowed.newReceiver !== true)
    return `The response log belongs to the receiver ${stored.pay_to}: set PAY_TO to it, or start once with --new-receiver`
  return undefined
}
