/**
 * A buyer of the simulation who does what docs/payments.md says: keeps a payment, repeats the request with it, and signs
 * another only after a 402. Around him proxies double his requests, answers get lost, and he gives up waiting.
 */
import { replyTo } from '../../../agent/executor/reply.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { seconds, short } from './chain.ts'
import type { Oracles } from './oracles.ts'
import { newNonce, paymentOf, type SimulatedPayment } from './payment.ts'
import type { SimulatedServer } from './server.ts'
import { MISSING, NUMBERS, QUARANTINED } from './shelf.ts'
import type { World } from './world.ts'

/** Sends of one buyer before he waits for better days. */
const SENDS_MAX = 12
const PAYMENTS_MAX = 4

export interface BuyerSurroundings {
  world: World
  servers: readonly SimulatedServer[]
  oracles: Oracles
}

export class SimulatedBuyer {
  readonly payer: string
  /** Everything he has signed, oldest first. */
  readonly signed: SimulatedPayment[] = []
  companyNumber: string
  body: string | undefined
  /** For an answer. */
  isWaiting = false
  readonly #around: BuyerSurroundings
  #sends = 0
  #isUseless = true
  /** Whether a request with the current payment may still be under way somewhere: doubled, given up, or unanswered. */
  #isUnsure = false
  /** The names he gives his payments: none, one for each, or the same for all until that is refused. */
  #naming: 'none' | 'each' | 'same'

  constructor(payer: string, around: BuyerSurroundings) {
    this.payer = payer
    this.#around = around
    const { world } = around
    const isOdd = world.chance(0.1)
    this.companyNumber = isOdd ? world.pick([MISSING, QUARANTINED]) : world.pick(NUMBERS)
    this.#naming = world.pick(['none', 'none', 'each', 'same'] as const)
    // Whether he stays away until the end after his first request.
    if (world.chance(0.1)) this.#sends = SENDS_MAX - 1
    world.quietlyAfter(world.between(0, 60_000), () => this.go())
  }

  get current(): SimulatedPayment | undefined {
    return this.signed.at(-1)
  }

  /** One more try, unless he has what he wants, is waiting for an answer, or has had enough. */
  go(): void {
    const { world } = this.#around
    if (this.body !== undefined || this.isWaiting) return
    if (world.isStormy && this.#sends >= SENDS_MAX) return
    if (this.#isUseless) {
      if (this.signed.length >= PAYMENTS_MAX) return
      this.#sign()
    }
    this.#send()
  }

  #sign(): void {
    const { world } = this.#around
    const nonce = newNonce(world.random)
    const isShort = world.isStormy && world.chance(0.2)
    const lifetime = isShort ? world.between(16, 60) : 300
    const id = { none: undefined, each: `purchase-${nonce.slice(2, 18)}`, same: 'purchase-of-today' }[this.#naming]
    const payment = paymentOf({ from: this.payer, nonce, validBefore: seconds(world) + lifetime, id })
    this.signed.push(payment)
    this.#isUseless = false
    this.#isUnsure = false
    world.trace(
      this.payer.slice(0, 4),
      () => `signs ${short(payment.key)} for company ${this.companyNumber}, ${lifetime} s`,
    )
    if (this.signed.length > 1) world.count('state a buyer signs again')
  }

  #send(): void {
    const { world, servers } = this.#around
    const payment = this.current as SimulatedPayment
    this.#sends += 1
    this.isWaiting = true
    let isOver = false
    const over = (outcome: Outcome | undefined) => {
      if (isOver) return
      isOver = true
      this.isWaiting = false
      this.#take(payment, outcome)
    }
    const copies = world.fault('a request is doubled', 0.15) ? 2 : 1
    if (copies > 1) this.#isUnsure = true
    for (let copy = 0; copy < copies; copy += 1) this.#deliver(world.pick(servers), payment, over)
    // He gives up before the server may.
    const patience = world.fault('a buyer gives up waiting', 0.1) ? world.between(1_000, 40_000) : 200_000
    world.quietlyAfter(patience, () => over(undefined))
  }

  #deliver(server: SimulatedServer, payment: SimulatedPayment, over: (outcome: Outcome | undefined) => void): void {
    const { world, oracles } = this.#around
    const { companyNumber } = this
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    world.after(world.between(0, world.isStormy ? 2_000 : 50), () => {
      world.trace(server.name, () => `is asked with ${short(payment.key)}`)
      server.ask(operation, [payment.header], (outcome) => {
        if (outcome) {
          world.count(`answer ${describe(outcome)}`)
          world.trace(server.name, () => `answers ${describe(outcome)} to ${short(payment.key)}`)
          oracles.answered({ payment, isWrong: false, companyNumber }, outcome)
        }
        const isLost = outcome === undefined || world.fault('an answer is lost', 0.05)
        world.quietlyAfter(world.between(0, 200), () => over(isLost ? undefined : outcome))
      })
    })
  }

  #take(payment: SimulatedPayment, outcome: Outcome | undefined): void {
    const { world } = this.#around
    let wait = world.isStormy ? world.between(100, 30_000) : 5_000
    if (outcome?.kind === 'answer') this.body = outcome.body
    else if (!outcome) this.#isUnsure = true
    else {
      const { status } = replyTo(outcome)
      const { code } = outcome.refusal
      const isNameTaken = code === 'payment_replay_conflict' && this.#naming === 'same'
      if (isNameTaken) world.count('state a payment id is taken')
      if (status === 402 || isNameTaken) {
        const left = (Number(payment.authorization.validBefore) + 1) * 1_000 - world.now
        // Said of the record, or of a payment that nothing can happen to any more.
        const isSure = code === 'payment_failed' || !this.#isUnsure || left <= 0
        if (!isSure) wait = left
        else {
          this.#isUseless = true
          if (isNameTaken) this.#naming = 'each'
        }
      }
      // Not charged: the same payment buys something else.
      if (code === 'company_not_found' || code === 'source_data_conflict') this.companyNumber = world.pick(NUMBERS)
    }
    if (this.body === undefined) world.quietlyAfter(wait, () => this.go())
  }
}

export function describe(outcome: Outcome): string {
  const { status } = replyTo(outcome)
  return outcome.kind === 'answer' ? String(status) : `${status} ${outcome.refusal.code}`
}
