/** Measures the calls of response log, facilitator and chain, so that these parts contain no measurement. */
import type { Claim, ResponseRecord } from '../../../store/log/record.ts'

export interface ServiceObserver {
  /** A call has ended. `cause` is the failure of a failed one. */
  onStep(call: { step: string; seconds: number; result: 'done' | 'failed'; cause?: unknown }): void
  /** A record was found. */
  onRead?(record: ResponseRecord): void
  /** A record was stored or changed. */
  onState(record: ResponseRecord): void
}

/** The methods that are measured, with the names of their steps. */
const STEPS: ReadonlyMap<unknown, string> = new Map([
  ['read', 'log_read'],
  ['claim', 'log_claim'],
  ['advance', 'log_advance'],
  ['noteUnrecorded', 'log_note'],
  ['prune', 'log_prune'],
  ['verify', 'facilitator_verify'],
  ['settle', 'facilitator_settle'],
  ['observe', 'chain_observe'],
  ['findUse', 'chain_use'],
  ['findTransfers', 'chain_transfers'],
])

/** Wraps a response log, facilitator or chain so that its calls are measured. */
export function observe<Part extends object>(part: Part, observer: ServiceObserver): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      const step = STEPS.get(name)
      if (step === undefined) return member.bind(target) as unknown
      return async (...call: unknown[]) => {
        const result = await timed(observer, step, () => Reflect.apply(member, target, call) as Promise<unknown>)
        const record = changedRecord(step, call, result)
        if (record) observer.onState(record)
        if (step === 'log_read' && result) observer.onRead?.(result as ResponseRecord)
        return result
      }
    },
  })
}

/** The record that a call of the log has stored, or whose state it has changed. */
function changedRecord(step: string, [argument]: unknown[], result: unknown): ResponseRecord | undefined {
  const record = argument as ResponseRecord
  if (step === 'log_claim') return (result as Claim).kind === 'claimed' ? record : undefined
  if (step !== 'log_advance') return undefined
  const next = result as ResponseRecord | undefined
  return next?.state === record.state ? undefined : next
}

async function timed<Result>(observer: ServiceObserver, step: string, work: () => Promise<Result>): Promise<Result> {
  const start = performance.now()
  const secondsSince = () => (performance.now() - start) / 1000
  try {
    const value = await work()
    observer.onStep({ step, seconds: secondsSince(), result: 'done' })
    return value
  } catch (cause) {
    observer.onStep({ step, seconds: secondsSince(), result: 'failed', cause })
    throw cause
  }
}
