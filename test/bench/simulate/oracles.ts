/**
 * What must hold of every run, whatever goes wrong: no second charge, no lost answer, no data for nothing. The chain is
 * the judge, not what anybody said. A broken promise ends the run.
 */
import { decodePaymentResponseHeader } from '@x402/core/http'
import { replyTo } from '../../../agent/executor/reply.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import type { ResponseRecord } from '../../../store/record.ts'
import { short, type SimulatedChain } from './chain.ts'
import type { SimulatedFacilitator } from './facilitator.ts'
import type { SimulatedLog } from './log.ts'
import { TERMS, type SimulatedPayment } from './payment.ts'
import { RETENTION_DAYS } from './server.ts'
import type { Owner, World } from './world.ts'

/** The product gives up on a facilitator after this. */
const FACILITATOR_TIMEOUT_MS = 30_000
/** What another server writes while one looks at the disk can't be known to it. */
const LOOK_MS_MAX = 10
const RETENTION_MS = RETENTION_DAYS * 24 * 60 * 60_000
/** A record's time is that of a clock that may be off by ten minutes. */
const SKEW_MS_MAX = 11 * 60_000

export class Broken extends Error {
  override name = 'Broken'
  /** The invariant, as in the list of docs/reliability.md. */
  readonly invariant: string

  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`)
    this.invariant = invariant
  }
}

interface Judged {
  world: World
  chain: SimulatedChain
  facilitator: SimulatedFacilitator
  log: SimulatedLog
}

/** What an answer was given to. */
export interface Asked {
  payment: SimulatedPayment | undefined
  /** A forged or changed payment, or one that was used for something else: never to be given data. */
  isWrong: boolean
  companyNumber: string
}

const PRICE = BigInt(TERMS.prices.lookup)

export class Oracles {
  /** The first broken promise. */
  broken: Broken | undefined
  readonly #judged: Judged
  /** Bodies that were given for a payment. */
  readonly #bodies = new Map<string, string>()
  readonly #everSettled = new Set<string>()
  /** How many settlements were begun, on disk, and how many were sent. */
  readonly #begun = new Map<string, number>()
  readonly #begunAt = new Map<string, number>()
  readonly #sent = new Map<string, number>()
  readonly #inFlight = new Map<string, { owner: Owner; since: number }[]>()
  readonly #everPaid = new Set<string>()
  /** Every record that was ever claimed under a payer's own id. */
  readonly #claimedUnder = new Map<string, string[]>()
  readonly #pruned = new Set<string>()

  constructor(judged: Judged) {
    this.#judged = judged
    const { log, facilitator, chain } = judged
    log.onWrite = (record, before) => this.#written(record, before)
    log.onPrune = (record) => this.#removed(record)
    facilitator.onSettle = (key, owner) => this.#settles(key, owner)
    facilitator.onSettled = (key, owner) => this.#settled(key, owner)
    chain.onPaid = (key) => this.#everPaid.add(key)
  }

  fail(invariant: string, what: string): void {
    this.broken ??= new Broken(invariant, what)
  }

  /** Whether the chain has the payment's money with the receiver, as it stands. */
  isPaid(key: string): boolean {
    const spend = this.#judged.chain.spends.get(key)
    return spend?.kind === 'transfer' && spend.to === TERMS.payTo && spend.value === PRICE
  }

  reported(line: string): void {
    if (/0x[0-9a-f]{8}|sign/i.test(line)) this.fail('I10 a secret in the log', line)
  }

  /** An orderly stop leaves nothing half done. */
  stopped(owner: Owner, unanswered: number): void {
    const { world, log } = this.#judged
    world.count('state a server has stopped in order')
    if (unanswered > 0) this.fail('L4 stopped over a request', owner.name)
    if (log.isWriting(owner)) this.fail('L4 stopped over a write', owner.name)
    for (const [key, calls] of this.#inFlight)
      if (calls.some((each) => each.owner === owner && world.now - each.since < FACILITATOR_TIMEOUT_MS))
        this.fail('L4 stopped over a settlement', short(key))
  }

  /** After the days of retention and a start, what ended before them is gone. */
  pruned(): void {
    const { world, log } = this.#judged
    for (const { identity, updated_at } of log.records.values())
      if (world.now - Date.parse(updated_at) > RETENTION_MS + SKEW_MS_MAX)
        this.fail('R2 an old record is kept', short(identity))
  }

  /** Whether a record holds its payment's id. */
  isHeldBy(identity: string): boolean {
    const state = this.#judged.log.records.get(identity)?.state
    return state !== undefined && state !== 'rejected' && state !== 'expired'
  }

  answered({ payment, isWrong, companyNumber }: Asked, outcome: Outcome): void {
    const { status, headers } = replyTo(outcome)
    if (headers['Cache-Control'] !== 'private, no-store') this.fail('I12 cacheable', String(status))
    if (outcome.kind === 'answer') this.#sold({ payment, isWrong, companyNumber }, outcome.body)
    else if (payment && !isWrong) this.#refused({ payment, isWrong, companyNumber }, status, outcome.refusal.code)
  }

  /** After the storm: the chain is final, and every payment was asked for again. */
  ended(payment: SimulatedPayment, outcome: Outcome): void {
    const { status } = replyTo(outcome)
    const { lied } = this.#judged.facilitator
    if (this.#pruned.has(payment.identity)) {
      if (outcome.kind === 'answer') this.fail('R3 sold again after it was removed', short(payment.key))
      return
    }
    if (this.isPaid(payment.key) !== (outcome.kind === 'answer')) {
      const isPaid = this.isPaid(payment.key)
      return this.fail(
        isPaid ? 'I3 a paid answer is lost' : 'I2 data for nothing',
        `${short(payment.key)} ends with ${status}`,
      )
    }
    if (outcome.kind !== 'answer') return
    const { transaction } = decodePaymentResponseHeader(outcome.paymentResponse)
    if (transaction !== this.#judged.chain.spends.get(payment.key)?.hash && !lied.has(payment.key))
      this.fail('I3 a receipt of no transfer', transaction)
  }

  #sold({ payment, isWrong, companyNumber }: Asked, body: string): void {
    const { facilitator, log } = this.#judged
    if (!payment) return this.fail('I2 data for nothing', 'without a payment')
    const { key, identity } = payment
    if (isWrong) return this.fail('I9 data for a payment of something else', short(key))
    if (!this.#everPaid.has(key) && !facilitator.lied.has(key)) this.fail('I2 data for nothing', short(key))
    if (!this.#everSettled.has(identity)) this.fail('I5 an answer before settled is on disk', short(key))
    const earlier = this.#bodies.get(key) ?? log.records.get(identity)?.body
    if (earlier !== body) this.fail('I3 other bytes than before', short(key))
    this.#bodies.set(key, body)
    if (companyIn(body) !== companyNumber) this.fail('I9 data of another request', short(key))
  }

  /** No 402 where money may have moved or may yet: its reader signs another payment. */
  #refused(
    { payment: { key, identity }, companyNumber }: Asked & { payment: SimulatedPayment },
    status: number,
    code: string,
  ): void {
    const { world, log, facilitator } = this.#judged
    if (facilitator.lied.has(key)) return
    const record = log.records.get(identity)
    if (code === 'payment_replay_conflict' && record && companyIn(record.body) === companyNumber)
      this.fail('I9 a conflict with itself', short(key))
    if (status !== 402) return
    const isLongBegun = world.now - (this.#begunAt.get(key) ?? world.now) > LOOK_MS_MAX
    if (isLongBegun && record && !['refused', 'rejected', 'expired'].includes(record.state))
      this.fail('I4 402 for an open payment', `${short(key)} is ${record.state}`)
    if (this.isPaid(key) && !this.#pruned.has(identity)) this.fail('I4 402 for a paid payment', short(key))
  }

  #removed({ identity, state, updated_at }: ResponseRecord): void {
    const { world } = this.#judged
    this.#pruned.add(identity)
    if (!['confirmed', 'rejected', 'expired'].includes(state))
      this.fail('R1 an unfinished record is removed', `${short(identity)} is ${state}`)
    if (world.now - Date.parse(updated_at) < RETENTION_MS - SKEW_MS_MAX)
      this.fail('R1 a young record is removed', short(identity))
  }

  /** The id is read from the payment itself, and not from what the product has made of it. */
  #claimed({ identity, payment }: ResponseRecord): void {
    const { extensions } = payment as { extensions?: Record<string, { info: { id?: string } }> }
    const id = extensions?.['payment-identifier']?.info.id
    if (id === undefined) return
    const name = `${identity.split('/').at(-2)}/${id}`
    const earlier = this.#claimedUnder.get(name) ?? []
    if (earlier.some((each) => this.isHeldBy(each))) this.fail('I13 a payment id names two purchases', short(identity))
    if (earlier.length > 0) this.#judged.world.count('state a payment id is free again')
    this.#claimedUnder.set(name, [...earlier, identity])
  }

  #written(record: ResponseRecord, before: ResponseRecord | undefined): void {
    const { chain, facilitator } = this.#judged
    const { identity, state } = record
    const key = identity.split('/').slice(-2).join('/')
    const spend = chain.spends.get(key)
    if (!before) this.#claimed(record)
    if (before && (before.body !== record.body || before.payment_hash !== record.payment_hash))
      this.fail('I1 a record changes hands', short(key))
    switch (state) {
      case 'prepared':
      case 'settling':
        this.#begun.set(key, (this.#begun.get(key) ?? 0) + 1)
        if (!this.#begunAt.has(key)) this.#begunAt.set(key, this.#judged.world.now)
        break
      case 'settled':
        this.#everSettled.add(identity)
        if (!this.#everPaid.has(key) && !facilitator.lied.has(key)) this.fail('I2 settled for nothing', short(key))
        break
      case 'confirmed':
        if (!spend || !this.isPaid(key) || !chain.isFinal(spend))
          this.fail('I2 confirmed before it is final', short(key))
        break
      case 'refused':
        if (!facilitator.refused.has(key) && !facilitator.lied.has(key))
          this.fail('I4 refused without a refusal', short(key))
        break
      case 'rejected':
        if (!spend || this.isPaid(key) || !chain.isFinal(spend)) this.fail('I4 rejected before it is final', short(key))
        break
      case 'expired': {
        const { validBefore } = (record.payment as { payload: { authorization: { validBefore: string } } }).payload
          .authorization
        // A nonce may still be cancelled afterwards, which moves nothing.
        if (this.isPaid(key) || chain.final.time < Number(validBefore))
          this.fail('I4 expired before it is final', short(key))
        break
      }
      case 'unknown':
    }
  }

  #settles(key: string, owner: Owner): void {
    const { world, log } = this.#judged
    const record = [...log.records.values()].find(({ identity }) => identity.endsWith(key))
    if (!record) return this.fail('I5 settles before the answer is on disk', short(key))
    const sent = (this.#sent.get(key) ?? 0) + 1
    this.#sent.set(key, sent)
    if (sent > (this.#begun.get(key) ?? 0)) this.fail('I6 settles without having begun', short(key))
    const others = (this.#inFlight.get(key) ?? []).filter(
      (each) => world.now - each.since < FACILITATOR_TIMEOUT_MS && each.owner.alive,
    )
    if (others.some((each) => each.owner === owner)) this.fail('I6 two settlements at once', short(key))
    if (others.length > 0) world.count('state a second server settles at the same time')
    this.#inFlight.set(key, [...others, { owner, since: world.now }])
  }

  #settled(key: string, owner: Owner): void {
    this.#inFlight.set(
      key,
      (this.#inFlight.get(key) ?? []).filter((each) => each.owner !== owner),
    )
  }
}

/** The company that an answer is about. */
export function companyIn(body: string): string {
  return (JSON.parse(body) as { company: { company_number: string } }).company.company_number
}
