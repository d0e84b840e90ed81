/**
 * The invariants of every run: no second charge, no lost response, no data without payment. They compare with the chain
 * and the records on disk, not with reports. A broken invariant ends the run.
 */
import { decodePaymentResponseHeader } from '@x402/core/http'
import { renderOutcome } from '../../../agent/transport/http/response.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { claimsOf, receiptIn } from '../../support/unsigned-receipt.ts'
import { short, type SimulatedChain } from './chain.ts'
import type { SimulatedFacilitator } from './facilitator.ts'
import type { SimulatedLog } from './log.ts'
import type { SimulatedNodes } from './node.ts'
import { PRICE, TERMS, type Purchase, type SimulatedPayment } from './payment.ts'
import type { Owner, Simulator } from './simulator.ts'
import { FACILITATOR_MS_MAX } from '../../../agent/settlement/rpc/time-limits.ts'

/** A server may miss what another one writes while it reads. */
const LOOK_MS_MAX = 10

interface Observed {
  sim: Simulator
  chain: SimulatedChain
  facilitator: SimulatedFacilitator
  log: SimulatedLog
  nodes: Pick<SimulatedNodes, 'haveMisled'>
}

export class Invariants {
  /** The first broken invariant, as in the list of docs/reliability.md. */
  broken: { invariant: string; detail: string } | undefined
  readonly #observed: Observed
  /** The body that each payment got. */
  readonly #bodies = new Map<string, string>()
  /** The receipt that each payment got last. */
  readonly #receipts = new Map<string, { transaction: string; receipt: string }>()
  readonly #receiptsOnDisk = new Set<string>()
  readonly #everSettled = new Set<string>()
  /** Settlements that were recorded on disk and that were sent, by payment. */
  readonly #begun = new Map<string, number>()
  readonly #begunAt = new Map<string, number>()
  readonly #sent = new Map<string, number>()
  readonly #inFlight = new Map<string, { owner: Owner; since: number }[]>()

  constructor(observed: Observed) {
    this.#observed = observed
    const { log } = observed
    log.onWrite = (record, before) => this.#written(record, before)
  }

  fail(invariant: string, detail: string): void {
    this.broken ??= { invariant, detail }
  }

  /** Whether the current chain has the transfer of the payment to the receiver. */
  isPaid(key: string): boolean {
    const spend = this.#observed.chain.spends.get(key)
    return spend?.kind === 'transfer' && spend.to === TERMS.payTo && spend.value === PRICE
  }

  answered(purchase: Purchase, outcome: Outcome): void {
    if (outcome.kind === 'answer') this.#sold(purchase, outcome)
    else this.#refused(purchase, renderOutcome(outcome).status, outcome.refusal.code)
  }

  /** Checks the last retry of a payment, when the chain is final. */
  ended(payment: SimulatedPayment, outcome: Outcome): void {
    const { status } = renderOutcome(outcome)
    const { chain, facilitator } = this.#observed
    const { key } = payment
    const isOwed = this.isPaid(key)
    if (isOwed !== (outcome.kind === 'answer'))
      return this.fail(
        isOwed ? 'I3 a paid response is lost' : 'I2 data without payment',
        `${short(key)} ends with ${status}`,
      )
    if (outcome.kind !== 'answer') return
    const { transaction } = decodePaymentResponseHeader(outcome.paymentResponse)
    if (transaction !== chain.spends.get(key)?.hash && !facilitator.hasMisreported(key))
      this.fail('I3 a receipt without a transfer', transaction)
  }

  #sold({ payment, number }: Purchase, { body, paymentResponse }: Extract<Outcome, { kind: 'answer' }>): void {
    const { chain, facilitator, log } = this.#observed
    const { key, identity } = payment
    if (!chain.everPaid.has(key) && !facilitator.hasMisreported(key)) this.fail('I2 data without payment', short(key))
    if (!this.#everSettled.has(identity)) this.fail('I5 a response before settled is on disk', short(key))
    const earlier = this.#bodies.get(key) ?? log.store.records.get(identity)?.body
    if (earlier !== body) this.fail('I3 another body than before', short(key))
    this.#bodies.set(key, body)
    if (numberIn(body) !== number) this.fail('I9 data of another request', short(key))
    this.#checkReceipt(key, paymentResponse)
  }

  /** A receipt is delivered only if it is on disk, and every later answer for the same transaction has it. */
  #checkReceipt(key: string, paymentResponse: string): void {
    const { transaction } = decodePaymentResponseHeader(paymentResponse)
    const receipt = receiptIn(paymentResponse)
    const earlier = this.#receipts.get(key)
    if (earlier?.transaction === transaction && earlier.receipt !== receipt)
      this.fail('I14 another receipt than before', short(key))
    if (receipt === undefined) return
    this.#receipts.set(key, { transaction, receipt })
    if (claimsOf(receipt).payment.transaction !== transaction)
      this.fail('I14 a receipt of another transaction', short(key))
    if (!this.#receiptsOnDisk.has(receipt)) this.fail('I14 a receipt that is not on disk', short(key))
  }

  /** A 402 makes the buyer sign again, so it must not be sent while a transfer has happened or may happen. */
  #refused({ payment: { key, identity }, number }: Purchase, status: number, code: string): void {
    const { sim, log, facilitator, nodes } = this.#observed
    if (facilitator.hasMisreported(key)) return
    const record = log.store.records.get(identity)
    if (code === 'payment_replay_conflict' && record && numberIn(record.body) === number)
      this.fail('I9 a conflict with itself', short(key))
    if (code === 'payment_already_settled') this.fail('I3 a paid response is lost', `${short(key)} has no record`)
    if (status !== 402) return
    const isLongBegun = sim.now - (this.#begunAt.get(key) ?? sim.now) > LOOK_MS_MAX
    if (isLongBegun && record && !['refused', 'rejected', 'expired'].includes(record.state))
      this.fail('I4 402 for an open payment', `${short(key)} is ${record.state}`)
    if (this.isPaid(key) && !nodes.haveMisled) this.fail('I15 402 for a paid payment', short(key))
  }

  #written(record: ResponseRecord, before: ResponseRecord | undefined): void {
    const { chain, facilitator, nodes } = this.#observed
    const { identity, state } = record
    const key = identity.split('/').slice(-2).join('/')
    const spend = chain.spends.get(key)
    if (record.receipt !== undefined) this.#receiptsOnDisk.add(record.receipt)
    if (before && (before.body !== record.body || before.payment_hash !== record.payment_hash))
      this.fail('I1 a record changes its purchase', short(key))
    switch (state) {
      case 'prepared':
      case 'settling':
        this.#begun.set(key, (this.#begun.get(key) ?? 0) + 1)
        if (!this.#begunAt.has(key)) this.#begunAt.set(key, this.#observed.sim.now)
        break
      case 'settled':
        this.#everSettled.add(identity)
        if (!chain.everPaid.has(key) && !facilitator.hasMisreported(key))
          this.fail('I2 settled without a transfer', short(key))
        break
      case 'confirmed':
        if (!spend || !this.isPaid(key) || !chain.isFinal(spend))
          this.fail('I2 confirmed before it is final', short(key))
        break
      case 'refused':
        if (!facilitator.refused.has(key) && !facilitator.hasMisreported(key))
          this.fail('I4 refused without a refusal', short(key))
        if (before?.state !== state && !spend && (chain.balances.get(key.slice(0, key.indexOf('/'))) ?? 0n) >= PRICE)
          this.fail('I4 refused although the token makes the transfer', short(key))
        break
      case 'rejected':
        if ((!spend || this.isPaid(key) || !chain.isFinal(spend)) && !nodes.haveMisled)
          this.fail('I4 rejected before it is final', short(key))
        break
      case 'expired': {
        const { validBefore } = (record.payment as { payload: { authorization: { validBefore: string } } }).payload
          .authorization
        // The payer may still cancel the nonce afterwards. That transfers nothing.
        if ((this.isPaid(key) && !nodes.haveMisled) || chain.final.time < Number(validBefore))
          this.fail('I4 expired before it is final', short(key))
        break
      }
      case 'unknown':
    }
  }

  readonly onSettle = (key: string, owner: Owner): void => {
    const { sim, log } = this.#observed
    const record = [...log.store.records.values()].find(({ identity }) => identity.endsWith(key))
    if (!record) return this.fail('I5 settles before the record is on disk', short(key))
    const sent = (this.#sent.get(key) ?? 0) + 1
    this.#sent.set(key, sent)
    if (sent > (this.#begun.get(key) ?? 0)) this.fail('I6 settles more often than recorded', short(key))
    const others = (this.#inFlight.get(key) ?? []).filter(
      (each) => sim.now - each.since < FACILITATOR_MS_MAX && each.owner.alive,
    )
    if (others.some((each) => each.owner === owner)) this.fail('I6 two settlements at once by one server', short(key))
    if (others.length > 0) sim.count('state a second server settles at the same time')
    this.#inFlight.set(key, [...others, { owner, since: sim.now }])
  }

  readonly onSettled = (key: string, owner: Owner): void => {
    this.#inFlight.set(
      key,
      (this.#inFlight.get(key) ?? []).filter((each) => each.owner !== owner),
    )
  }
}

/** The number of the company that an answer is about. */
export function numberIn(body: string): string {
  return (JSON.parse(body) as { company: { company_number: string } }).company.company_number
}
