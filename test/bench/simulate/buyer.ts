/**
 * A buyer that follows docs/payments.md: it keeps a payment, repeats the request with it, and signs another one only
 * after a 402. Requests may be duplicated, responses may be lost, and the buyer may stop waiting.
 */
import { renderOutcome } from '../../../agent/transport/http/response.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { seconds, short } from './chain.ts'
import type { Invariants } from './invariants.ts'
import { newNonce, paymentOf, type SimulatedPayment } from './payment.ts'
import type { SimulatedServer } from './server.ts'
import { NUMBERS } from './dataset.ts'
import type { Simulator } from './simulator.ts'

/** Requests of one buyer while faults are injected. */
const SENDS_MAX = 12
/** A buyer signs at most this many payments in one run. */
export const PAYMENTS_MAX = 4

export interface BuyerOptions {
  sim: Simulator
  servers: readonly SimulatedServer[]
  invariants: Invariants
  /** The latest first request. */
  startMsMax: number
}

export class SimulatedBuyer {
  readonly payer: string
  /** All signed payments, oldest first. */
  readonly signed: SimulatedPayment[] = []
  /** Of the company that it wants. */
  readonly number: string
  body: string | undefined
  /** Whether a response is awaited. */
  isWaiting = false
  readonly #options: BuyerOptions
  #sends = 0
  /** Whether the next request needs a new payment. */
  #needsPayment = true
  /** Whether another request with the current payment may still be in progress: duplicated, abandoned or unanswered. */
  #isUnsure = false

  constructor(payer: string, options: BuyerOptions) {
    this.payer = payer
    this.#options = options
    const { sim, startMsMax } = options
    this.number = sim.pick(NUMBERS)
    // Some buyers send one request and return only after the faults have ended.
    if (sim.chance(0.1)) this.#sends = SENDS_MAX - 1
    sim.afterNoFlush(sim.between(0, startMsMax), () => this.go())
  }

  get current(): SimulatedPayment | undefined {
    return this.signed.at(-1)
  }

  /** Sends the next request, unless the buyer has its response, waits for one, or has reached a limit. */
  go(): void {
    const { sim } = this.#options
    if (this.body !== undefined || this.isWaiting) return
    if (sim.injectsFaults && this.#sends >= SENDS_MAX) return
    if (this.#needsPayment) {
      if (this.signed.length >= PAYMENTS_MAX) return
      this.#sign()
    }
    this.#send()
  }

  #sign(): void {
    const { sim } = this.#options
    const nonce = newNonce(sim.random)
    const isShort = sim.injectsFaults && sim.chance(0.4)
    const lifetime = isShort ? sim.between(16, 60) : 300
    const payment = paymentOf({ from: this.payer, nonce, validBefore: seconds(sim) + lifetime })
    this.signed.push(payment)
    this.#needsPayment = false
    this.#isUnsure = false
    sim.trace(this.payer.slice(0, 4), () => `signs ${short(payment.key)} for company ${this.number}, ${lifetime} s`)
    if (this.signed.length > 1) sim.count('state a buyer signs again')
  }

  #send(): void {
    const { sim, servers } = this.#options
    const payment = this.current as SimulatedPayment
    this.#sends += 1
    this.isWaiting = true
    let isOver = false
    const over = (outcome: Outcome | undefined) => {
      if (isOver) return
      isOver = true
      this.isWaiting = false
      this.#receive(payment, outcome)
    }
    const copies = sim.fault('a request is duplicated', 0.15) ? 2 : 1
    if (copies > 1) this.#isUnsure = true
    for (let copy = 0; copy < copies; copy += 1) this.#deliver(sim.pick(servers), payment, over)
    // Some buyers stop waiting before the server does.
    const waitMs = sim.fault('a buyer stops waiting', 0.1) ? sim.between(1_000, 40_000) : 200_000
    sim.afterNoFlush(waitMs, () => over(undefined))
  }

  #deliver(server: SimulatedServer, payment: SimulatedPayment, over: (outcome: Outcome | undefined) => void): void {
    const { sim, invariants } = this.#options
    const { number } = this
    sim.after(sim.between(0, sim.injectsFaults ? 2_000 : 50), () => {
      sim.trace(server.name, () => `receives ${short(payment.key)}`)
      server.ask({ payment, number }, (outcome) => {
        if (outcome) {
          sim.count(`answer ${describe(outcome)}`)
          sim.trace(server.name, () => `answers ${describe(outcome)} to ${short(payment.key)}`)
          invariants.answered({ payment, number }, outcome)
        }
        const isLost = outcome === undefined || sim.fault('a response is lost', 0.05)
        sim.afterNoFlush(sim.between(0, 200), () => over(isLost ? undefined : outcome))
      })
    })
  }

  #receive(payment: SimulatedPayment, outcome: Outcome | undefined): void {
    const { sim } = this.#options
    let wait = sim.injectsFaults ? sim.between(100, 30_000) : 5_000
    if (outcome?.kind === 'answer') this.body = outcome.body
    else if (!outcome) this.#isUnsure = true
    else {
      const { status } = renderOutcome(outcome)
      const { code } = outcome.refusal
      if (status === 402) {
        const left = (Number(payment.authorization.validBefore) + 1) * 1_000 - sim.now
        // Certain if it comes from a record, if no other request is in progress, or if the authorization has expired.
        const isSure = code === 'payment_failed' || !this.#isUnsure || left <= 0
        if (isSure) this.#needsPayment = true
        else wait = left
      }
    }
    if (this.body === undefined) sim.afterNoFlush(wait, () => this.go())
  }
}

export function describe(outcome: Outcome): string {
  const { status } = renderOutcome(outcome)
  return outcome.kind === 'answer' ? String(status) : `${status} ${outcome.refusal.code}`
}
