/** Measures the calls of response log, facilitator and chain, so that these parts contain no measurement. */
import type { ResponseRecord } from '../../store/log/record.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import type { Chain } from '../chain/chain.ts'
import type { PaymentServices } from '../settlement/services.ts'

/** A finished call. `cause` is the failure of a failed one. */
export interface ObservedStep {
  step: string
  seconds: number
  result: 'done' | 'failed'
  cause?: unknown
}

export interface ServiceObserver {
  onStep(step: ObservedStep): void
  /** A record was stored or changed. */
  onState(record: ResponseRecord): void
}

type Facilitator = PaymentServices['facilitator']

export function observeServices<Services extends PaymentServices>(
  services: Services,
  observer: ServiceObserver,
): Services {
  return {
    ...services,
    log: observeLog(services.log, observer),
    facilitator: observeFacilitator(services.facilitator, observer),
    chain: observeChain(services.chain, observer),
  }
}

export function observeLog(log: ResponseLog, observer: ServiceObserver): ResponseLog {
  return new ObservedLog(log, observer)
}

export function observeFacilitator(facilitator: Facilitator, observer: ServiceObserver): Facilitator {
  return new ObservedFacilitator(facilitator, observer)
}

export function observeChain(chain: Chain, observer: ServiceObserver): Chain {
  return new ObservedChain(chain, observer)
}

// Classes, because one of each is created for every request with a payment.

class ObservedLog implements ResponseLog {
  readonly #log: ResponseLog
  readonly #observer: ServiceObserver

  constructor(log: ResponseLog, observer: ServiceObserver) {
    this.#log = log
    this.#observer = observer
  }

  read(...call: Parameters<ResponseLog['read']>) {
    return timed(this.#observer, 'log_read', () => this.#log.read(...call))
  }

  async claim(record: ResponseRecord) {
    const result = await timed(this.#observer, 'log_claim', () => this.#log.claim(record))
    if (result.kind === 'claimed') this.#observer.onState(record)
    return result
  }

  async advance(...call: Parameters<ResponseLog['advance']>) {
    const next = await timed(this.#observer, 'log_advance', () => this.#log.advance(...call))
    const [from] = call
    if (next && next.state !== from.state) this.#observer.onState(next)
    return next
  }

  countSales() {
    return this.#log.countSales()
  }

  checkWritable() {
    return this.#log.checkWritable()
  }

  unfinished() {
    return this.#log.unfinished()
  }

  noteUnrecorded(...call: Parameters<ResponseLog['noteUnrecorded']>) {
    return timed(this.#observer, 'log_note', () => this.#log.noteUnrecorded(...call))
  }

  unrecorded() {
    return this.#log.unrecorded()
  }

  prune(...call: Parameters<ResponseLog['prune']>) {
    return timed(this.#observer, 'log_prune', () => this.#log.prune(...call))
  }

  owner() {
    return this.#log.owner()
  }

  setOwner(...call: Parameters<ResponseLog['setOwner']>) {
    return this.#log.setOwner(...call)
  }

  newestRecords() {
    return this.#log.newestRecords()
  }

  close() {
    return this.#log.close()
  }
}

class ObservedFacilitator implements Facilitator {
  readonly #facilitator: Facilitator
  readonly #observer: ServiceObserver

  constructor(facilitator: Facilitator, observer: ServiceObserver) {
    this.#facilitator = facilitator
    this.#observer = observer
  }

  verify(...call: Parameters<Facilitator['verify']>) {
    return timed(this.#observer, 'facilitator_verify', () => this.#facilitator.verify(...call))
  }

  settle(...call: Parameters<Facilitator['settle']>) {
    return timed(this.#observer, 'facilitator_settle', () => this.#facilitator.settle(...call))
  }
}

class ObservedChain implements Chain {
  readonly #chain: Chain
  readonly #observer: ServiceObserver

  constructor(chain: Chain, observer: ServiceObserver) {
    this.#chain = chain
    this.#observer = observer
  }

  observe(...call: Parameters<Chain['observe']>) {
    return timed(this.#observer, 'chain_observe', () => this.#chain.observe(...call))
  }

  findUse(...call: Parameters<Chain['findUse']>) {
    return timed(this.#observer, 'chain_use', () => this.#chain.findUse(...call))
  }

  get nodeCount() {
    return this.#chain.nodeCount
  }

  isClockWrong() {
    return this.#chain.isClockWrong()
  }
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
