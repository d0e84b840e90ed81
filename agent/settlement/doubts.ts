/**
 * The facilitators that reported a settlement that the chain does not show. While the log has such a payment, all
 * processes wait for the chain. The process that got the report does so already two blocks after it.
 */
import { isDeepStrictEqual } from 'node:util'
import { updateDocument } from '../../store/log/documents.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { isPaid } from '../../store/log/states.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { UnseenTransfers } from './unseen-transfers.ts'

/** The time after which a process knows what another one has noted. */
const READ_MS = 10_000
/** Bounds the document. Payments beyond it are noted once others are on chain. */
const DOUBTS_MAX = 1_000

interface Doubt {
  /** A URL, or `sandbox`. */
  readonly facilitator: string
  readonly identity: string
}

const documentOf = (log: Pick<ResponseLog, 'document'>) => log.document<readonly Doubt[]>('doubts')
/** Records of the sandbox name no facilitator. */
const nameOf = ({ facilitator = 'sandbox' }: Pick<ResponseRecord, 'facilitator'>) => facilitator

interface Options {
  log: Pick<ResponseLog, 'read' | 'document'>
  monotonic: () => number
}

export class FacilitatorDoubts {
  readonly #options: Options
  readonly unseen = new UnseenTransfers()
  #doubts: readonly Doubt[] = []
  #readAt = -Infinity

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Whether only the chain settles this payment. A further attempt always reads the doubts, because it can be that of a
   * doubted payment.
   */
  async concern(record: Pick<ResponseRecord, 'facilitator' | 'attempt'>): Promise<boolean> {
    if (this.unseen.isMissing(nameOf(record))) return true
    if (record.attempt > 1 || this.#options.monotonic() - this.#readAt >= READ_MS) await this.#read()
    return this.#doubts.some(({ facilitator }) => facilitator === nameOf(record))
  }

  /** Notes a success, whose transfer later observations look for. */
  noteSuccess(record: ResponseRecord): void {
    this.unseen.add(record, nameOf(record))
  }

  /** Notes a payment that is not on chain. Before its record is reopened, so that a crash loses no doubt. */
  async note(record: Pick<ResponseRecord, 'facilitator' | 'identity'>): Promise<void> {
    const doubt = { facilitator: nameOf(record), identity: record.identity }
    await updateDocument(documentOf(this.#options.log), (stored) => {
      const doubts = stored?.value ?? []
      const isNoted = doubts.some((each) => isDeepStrictEqual(each, doubt))
      return isNoted || doubts.length >= DOUBTS_MAX ? undefined : [...doubts, doubt]
    })
    this.unseen.forget(record.identity)
    await this.#read()
  }

  /** Removes the payments that are on chain. Those that are void stay for the operator. */
  async review(): Promise<void> {
    const { log } = this.#options
    await this.#read()
    for (const { identity } of this.#doubts) {
      const record = await log.read(identity)
      if (record && isPaid(record.state)) await removeDoubts(log, (each) => each.identity === identity)
    }
    await this.#read()
  }

  async #read(): Promise<void> {
    this.#readAt = this.#options.monotonic()
    this.#doubts = await listDoubts(this.#options.log)
  }
}

export async function listDoubts(log: Pick<ResponseLog, 'document'>): Promise<readonly Doubt[]> {
  return (await documentOf(log).read())?.value ?? []
}

/** Removes all doubts about a facilitator. Returns their number. */
export function clearDoubts(log: Pick<ResponseLog, 'document'>, host: string): Promise<number> {
  return removeDoubts(log, ({ facilitator }) => hostOf(facilitator) === host)
}

async function removeDoubts(log: Pick<ResponseLog, 'document'>, isRemoved: (doubt: Doubt) => boolean): Promise<number> {
  let removed = 0
  await updateDocument(documentOf(log), (stored) => {
    const doubts = stored?.value ?? []
    const kept = doubts.filter((doubt) => !isRemoved(doubt))
    removed = doubts.length - kept.length
    return removed === 0 ? undefined : kept
  })
  return removed
}

/** A URL can hold a key. */
export function hostOf(facilitator: string): string {
  return URL.canParse(facilitator) ? new URL(facilitator).host : facilitator
}
