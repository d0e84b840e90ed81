/**
 * The facilitator of the simulation. All servers share it, it survives their crashes, and it fails in every way that
 * was observed in real ones. Invariants are checked against the chain, not against its responses.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import { seconds, short, type SimulatedChain, type Transaction } from './chain.ts'
import type { AuthorizationFields } from '../../support/payments.ts'
import type { Invariants } from './invariants.ts'
import { keyOf } from './payment.ts'
import type { Owner, Simulator } from './simulator.ts'

interface Call {
  key: string
  authorization: AuthorizationFields
  requirements: PaymentRequirements
}

type Reply = (call: Call, transaction: string) => unknown

const success = ({ authorization, requirements }: Call, transaction: string) => ({
  success: true,
  transaction,
  network: requirements.network,
  payer: authorization.from,
})
const failure =
  (errorReason: string): Reply =>
  ({ requirements }, transaction) => ({ success: false, errorReason, transaction, network: requirements.network })
const thrown =
  (message: string): Reply =>
  () =>
    new Error(message)

/** Whether the transaction is sent: at once, up to two minutes later, or never. */
type Sending = 'now' | 'later' | 'never'
const MAYBE: readonly Sending[] = ['now', 'later', 'never']

interface Fault {
  name: string
  sends: readonly Sending[]
  /** Undefined if no response ever comes. */
  reply: Reply | undefined
  /** A false report breaks the trust in a facilitator. It is rare, and some invariants exclude its payments. */
  isFalseReport?: boolean
  /** The reply comes once the transfer is mined, and otherwise an error. */
  isAfterTransfer?: boolean
}

const OTHER_PAYER = '0x00000000000000000000000000000000000000d3'

/**
 * One of each kind that the service tells apart. test/support/facilitator-faults.ts has their variants over HTTP.
 */
const FAULTS: readonly Fault[] = [
  { name: 'success of another payer', sends: MAYBE, reply: (...of) => ({ ...success(...of), payer: OTHER_PAYER }) },
  { name: 'a refusal before broadcast', sends: ['never'], reply: (call) => failure('insufficient_funds')(call, '') },
  { name: 'a refusal with its pending transaction', sends: ['now', 'later'], reply: failure('insufficient_funds') },
  { name: 'settlement pending', sends: ['now', 'later'], reply: failure('settlement_pending') },
  {
    name: 'nonce already used, reported wrongly',
    sends: MAYBE,
    reply: failure('invalid_exact_evm_nonce_already_used'),
  },
  { name: 'a failure with an unknown reason', sends: MAYBE, reply: failure('unexpected_settle_error') },
  { name: 'an error 502', sends: MAYBE, reply: thrown('STATUS_502') },
  { name: 'a refused connection', sends: ['never'], reply: thrown('ECONNREFUSED') },
  { name: 'no response', sends: MAYBE, reply: undefined },
  { name: 'a true success, late', sends: ['now', 'later'], reply: success, isAfterTransfer: true },
  { name: 'a refusal after the transfer', sends: ['now'], reply: failure('insufficient_funds'), isAfterTransfer: true },
  {
    name: 'a false success',
    sends: ['never'],
    reply: (call) => success(call, `0x${'ee'.repeat(32)}`),
    isFalseReport: true,
  },
  { name: 'a false refusal', sends: ['later'], reply: (call) => failure('invalid_exact_evm_signature')(call, '') },
  {
    name: 'a failure without a transaction',
    sends: MAYBE,
    reply: (call) => failure('unexpected_settle_error')(call, ''),
  },
]

const FALSE_REPORT_SHARE = 0.03
/** How long a correct facilitator waits for a transaction to be mined. */
const RECEIPT_MS_MAX = 25_000
const POLL_MS = 1_000

export class SimulatedFacilitator {
  /**
   * Whether a clock was behind the chain or the nodes followed a fork. A block that seems newer than a refusal then
   * need not show the transfers of older blocks (docs/reliability.md, assumptions).
   */
  wereRefusalsUncheckable = false
  /** Payments that it refused without a transaction. */
  readonly refused = new Set<string>()
  readonly #misreported = new Set<string>()
  /** Refused although they were transferred, or could be later. */
  readonly #refusedWrongly = new Set<string>()
  readonly #sim: Simulator
  readonly #chain: SimulatedChain
  readonly #faultShare: number
  /** Whether it checks the balance before the nonce. A payment that was transferred can then seem not to be covered. */
  readonly #checksBalanceFirst: boolean

  constructor(sim: Simulator, chain: SimulatedChain) {
    this.#sim = sim
    this.#chain = chain
    this.#faultShare = sim.pick([0, 0.2, 0.5, 0.8])
    this.#checksBalanceFirst = sim.chance(0.5)
  }

  /** Whether it made a false report, or refused a transfer that a server could not find afterwards. */
  hasMisreported(key: string): boolean {
    if (this.#misreported.has(key)) return true
    const couldMiss = this.wereRefusalsUncheckable || this.#chain.everUndone.has(key)
    return couldMiss && this.#refusedWrongly.has(key)
  }

  /** The client of one server process. The invariants see when a call to settle begins and when it has its response. */
  client(owner: Owner, invariants: Pick<Invariants, 'onSettle' | 'onSettled'>): FacilitatorClient {
    return {
      verify: (payload, requirements) =>
        this.#call(owner, (answer) => this.#verify(callOf(payload, requirements), answer)),
      settle: (payload, requirements) => {
        const call = callOf(payload, requirements)
        invariants.onSettle(call.key, owner)
        const done = this.#call(owner, (answer) => this.#settle(call, answer))
        const end = () => invariants.onSettled(call.key, owner)
        done.then(end, end)
        return done
      },
      getSupported: () => Promise.resolve({ kinds: [], extensions: [], signers: {} }),
    }
  }

  /** If the caller crashes first, its request may be lost. The response reaches only a live caller. */
  #call(owner: Owner, work: (answer: (reply: unknown) => void) => void): Promise<never> {
    const sim = this.#sim
    return new Promise((resolve, reject) => {
      const answer = (reply: unknown) =>
        void sim.after(
          sim.between(0, 50),
          () => {
            if (reply instanceof Error) reject(reply)
            else resolve(reply as never)
          },
          owner,
        )
      sim.afterNoFlush(sim.between(0, 50), () => {
        if (owner.alive || sim.chance(0.5)) work(answer)
      })
    })
  }

  #verify(call: Call, answer: (reply: unknown) => void): void {
    const sim = this.#sim
    if (sim.fault('verify: no response', 0.02)) return
    if (sim.fault('verify: an error', 0.04)) return answer(new Error('STATUS_502'))
    if (sim.fault('verify: a malformed response', 0.02)) return answer({ isValid: 'yes' })
    if (sim.fault('verify: another payer', 0.01)) return answer({ isValid: true, payer: OTHER_PAYER })
    const reason = this.#objection(call)
    const reply =
      reason === undefined
        ? { isValid: true, payer: call.authorization.from }
        : { isValid: false, invalidReason: reason }
    const delay = sim.fault('verify: slow', 0.05) ? sim.between(1_000, 60_000) : sim.between(0, 300)
    sim.afterNoFlush(delay, () => answer(reply))
  }

  #settle(call: Call, answer: (reply: unknown) => void): void {
    const sim = this.#sim
    if (sim.injectsFaults && sim.chance(this.#faultShare)) {
      const fault = sim.pick(FAULTS)
      if (fault.isFalseReport !== true || sim.chance(FALSE_REPORT_SHARE)) return this.#fail(fault, call, answer)
    }
    const reason = this.#objection(call)
    if (reason !== undefined) {
      sim.trace('facilitator', () => `refuses ${short(call.key)}: ${reason}`)
      this.refused.add(call.key)
      if (this.#chain.spends.has(call.key)) this.#refusedWrongly.add(call.key)
      return answer(failure(reason)(call, ''))
    }
    this.#await(this.#send(call), sim.now + RECEIPT_MS_MAX, { call, answer })
  }

  #fail(fault: Fault, call: Call, answer: (reply: unknown) => void): void {
    const sim = this.#sim
    const { name, sends, reply, isFalseReport = false, isAfterTransfer = false } = fault
    const sending = sim.pick(sends)
    sim.count(`fault settle: ${name}`)
    sim.trace('facilitator', () => `${name}, sends ${sending}: ${short(call.key)}`)
    if (isFalseReport) this.#misreported.add(call.key)
    else if (/refusal|without a transaction/.test(name)) this.refused.add(call.key)
    if (/false refusal|refusal after|without a transaction/.test(name)) this.#refusedWrongly.add(call.key)
    // Its payer has moved the money elsewhere since the verification.
    if (name === 'a refusal before broadcast' && sim.chance(0.5))
      this.#chain.balances.set(call.authorization.from, BigInt(call.authorization.value) - 1n)
    const canSend = this.#objection(call) === undefined
    let hash = this.#chain.hash()
    if (sending === 'now' && canSend) hash = this.#send(call).hash
    if (sending === 'later')
      sim.afterNoFlush(sim.between(0, 120_000), () => void (this.#objection(call) ?? this.#send(call)))
    // A node that lags by one block shows the nonce as free for some time after this reply.
    if (name === 'a refusal after the transfer') return this.#answerOnceMined(call, () => answer(reply?.(call, hash)))
    const delay = isAfterTransfer || sim.chance(0.2) ? sim.between(0, 120_000) : sim.between(0, 2_000)
    if (!reply) return
    if (isAfterTransfer && (!canSend || sending === 'later')) return
    sim.afterNoFlush(delay, () => {
      const isTrue = !isAfterTransfer || this.#chain.spends.get(call.key)?.hash === hash
      answer(isTrue ? reply(call, hash) : new Error('STATUS_504'))
    })
  }

  #answerOnceMined(call: Call, answer: () => void): void {
    this.#sim.afterNoFlush(POLL_MS, () => {
      if (this.#chain.spends.has(call.key)) answer()
      else if (seconds(this.#sim) < Number(call.authorization.validBefore)) this.#answerOnceMined(call, answer)
    })
  }

  #await(
    transaction: Transaction,
    end: number,
    { call, answer }: { call: Call; answer: (reply: unknown) => void },
  ): void {
    const sim = this.#sim
    sim.afterNoFlush(POLL_MS, () => {
      const spend = this.#chain.spends.get(call.key)
      if (spend?.hash === transaction.hash) answer(success(call, transaction.hash))
      else if (spend) answer(failure('invalid_exact_evm_transaction_failed')(call, transaction.hash))
      else if (sim.now >= end) answer(failure('settlement_pending')(call, transaction.hash))
      else this.#await(transaction, end, { call, answer })
    })
  }

  /** Why a correct facilitator refuses a payment. */
  #objection({ key, authorization }: Call): string | undefined {
    const balance = this.#chain.balances.get(authorization.from) ?? 0n
    const uncovered = balance < BigInt(authorization.value) ? 'invalid_exact_evm_insufficient_balance' : undefined
    if (uncovered !== undefined && this.#checksBalanceFirst) return uncovered
    if (this.#chain.spends.has(key)) return 'invalid_exact_evm_nonce_already_used'
    if (seconds(this.#sim) + 6 >= Number(authorization.validBefore))
      return 'invalid_exact_evm_payload_authorization_valid_before'
    return uncovered
  }

  #send({ key, authorization }: Call): Transaction {
    const transaction = transferOf(key, authorization, this.#chain.hash())
    this.#chain.broadcast(transaction)
    return transaction
  }
}

export function transferOf(key: string, authorization: AuthorizationFields, hash: string): Transaction {
  const { from, to, value, nonce, validAfter, validBefore } = authorization
  return {
    kind: 'transfer',
    hash,
    key,
    from,
    to,
    value: BigInt(value),
    nonce,
    validAfter: Number(validAfter),
    validBefore: Number(validBefore),
  }
}

function callOf(payload: { payload: object }, requirements: PaymentRequirements): Call {
  const { authorization } = payload.payload as { authorization: AuthorizationFields }
  return { key: keyOf(authorization.from, authorization.nonce), authorization, requirements }
}
