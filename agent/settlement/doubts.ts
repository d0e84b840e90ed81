/**
 * The facilitators that reported a settlement that the chain does not show. A note in the log for each such payment
 * makes all processes wait for the chain, until its transfer is there.
 */
import { isPaid, type ResponseRecord } from '../../store/log/record.ts'
import type { ResponseLog } from '../../store/log/responses.ts'

/** The time after which a process knows what another one has noted. */
const READ_MS = 10_000
/** Bounds the notes. Payments beyond it are noted once others are on chain. */
const NOTES_MAX = 1_000

const PREFIX = 'doubt/'
type Reported = Pick<ResponseRecord, 'facilitator' | 'identity'>
/** Records of the sandbox name no facilitator. */
const keyOf = ({ facilitator = 'sandbox', identity }: Reported) => `${PREFIX}${facilitator} ${identity}`
const identityOf = (key: string) => key.slice(key.indexOf(' ') + 1)

export class FacilitatorDoubts {
  readonly #log: Pick<ResponseLog, 'read' | 'notes' | 'setNote'>
  readonly #monotonic: () => number
  #keys: readonly string[] = []
  #readAt = -Infinity

  constructor({ log, monotonic }: { log: Pick<ResponseLog, 'read' | 'notes' | 'setNote'>; monotonic: () => number }) {
    this.#log = log
    this.#monotonic = monotonic
  }

  /**
   * Whether only the chain settles this payment. A further attempt always reads the notes, because it can be that of a
   * noted payment.
   */
  async concern(record: Reported & Pick<ResponseRecord, 'attempt'>): Promise<boolean> {
    if (record.attempt > 1 || this.#monotonic() - this.#readAt >= READ_MS) await this.#read()
    if (this.#keys.length === 0) return false
    const prefix = keyOf({ ...record, identity: '' })
    return this.#keys.some((key) => key.startsWith(prefix))
  }

  /** Notes a payment that is not on chain. Before its record is reopened, so that a crash loses no note. */
  async note(record: Reported): Promise<void> {
    await this.#read()
    if (this.#keys.length >= NOTES_MAX) return
    await this.#log.setNote(keyOf(record), 'reported, and not on chain')
    this.#keys = [...this.#keys, keyOf(record)]
  }

  /** Removes the notes of payments that are on chain. Those of payments that are void stay for the operator. */
  async review(): Promise<void> {
    await this.#read()
    for (const key of this.#keys) {
      const record = await this.#log.read(identityOf(key))
      if (!record || !isPaid(record.state)) continue
      await this.#log.setNote(key)
      this.#keys = this.#keys.filter((each) => each !== key)
    }
  }

  async #read(): Promise<void> {
    this.#readAt = this.#monotonic()
    this.#keys = [...(await this.#log.notes(PREFIX)).keys()]
  }
}

export async function listDoubts(log: ResponseLog): Promise<{ facilitator: string; identity: string }[]> {
  return [...(await log.notes(PREFIX)).keys()].map((key) => ({
    facilitator: key.slice(PREFIX.length, key.indexOf(' ')),
    identity: identityOf(key),
  }))
}

/** Removes all notes of the payments of a facilitator. Returns their number. */
export async function clearDoubts(log: ResponseLog, host: string): Promise<number> {
  const doubts = (await listDoubts(log)).filter(({ facilitator }) => hostOf(facilitator) === host)
  for (const doubt of doubts) await log.setNote(keyOf(doubt))
  return doubts.length
}

/** A URL can hold a key. */
export function hostOf(facilitator: string): string {
  return URL.canParse(facilitator) ? new URL(facilitator).host : facilitator
}
