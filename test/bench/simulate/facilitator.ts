/**
 * The facilitator of the simulation: one for all servers, outlives them, and misbehaves in every way that was measured of
 * real ones. Whatever it says, the chain decides what it did.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import { seconds, short, type SimulatedChain, type Transaction } from './chain.ts'
import { keyOf } from './keys.ts'
import { signatureOf, type Authorization } from './payment.ts'
import type { Owner, World } from './world.ts'

interface Call {
  key: string
  authorization: Authorization
  signature: string
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
  // Errors of others hold what they were sent.
  ({ signature }) =>
    new Error(`${message}: ${signature}`)

/** Whether the transaction is sent: at once, up to two minutes later, or never. */
type Sending = 'now' | 'later' | 'never'
const MAYBE: readonly Sending[] = ['now', 'later', 'never']

interface Fault {
  name: string
  sends: readonly Sending[]
  /** Undefined: none ever comes. */
  reply: Reply | undefined
  /** No more likely than that a facilitator lies, which breaks what it is trusted with; kept apart by the oracles. */
  isLie?: boolean
}

const STRANGER = '0x00000000000000000000000000000000000000d3'

const FAULTS: readonly Fault[] = [
  {
    name: 'success on another network',
    sends: MAYBE,
    reply: (...of) => ({ ...success(...of), network: 'eip155:8453' }),
  },
  { name: 'success of another payer', sends: MAYBE, reply: (...of) => ({ ...success(...of), payer: STRANGER }) },
  { name: 'success of no payer', sends: MAYBE, reply: (...of) => ({ ...success(...of), payer: undefined }) },
  { name: 'success without a transaction', sends: MAYBE, reply: (call) => success(call, '') },
  { name: 'success with a word for a transaction', sends: MAYBE, reply: (call) => success(call, 'hello') },
  { name: 'success of another amount', sends: MAYBE, reply: (...of) => ({ ...success(...of), amount: '1' }) },
  { name: 'a refusal before broadcast', sends: ['never'], reply: failure('insufficient_funds') },
  { name: 'settlement pending', sends: ['now', 'later'], reply: failure('settlement_pending') },
  { name: 'nonce already used, said wrongly', sends: MAYBE, reply: failure('invalid_exact_evm_nonce_already_used') },
  { name: 'a failure for no known reason', sends: MAYBE, reply: failure('unexpected_settle_error') },
  { name: 'an error 500', sends: MAYBE, reply: thrown('STATUS_500') },
  { name: 'an error 502', sends: MAYBE, reply: thrown('STATUS_502') },
  { name: 'an error 504', sends: MAYBE, reply: thrown('STATUS_504') },
  { name: 'an error 429', sends: MAYBE, reply: thrown('STATUS_429') },
  { name: 'null', sends: MAYBE, reply: () => null },
  { name: 'an empty object', sends: MAYBE, reply: () => ({}) },
  { name: 'no JSON', sends: MAYBE, reply: thrown('NOT_JSON') },
  { name: 'a reply cut short', sends: MAYBE, reply: thrown('UND_ERR_SOCKET') },
  { name: 'a reset', sends: MAYBE, reply: thrown('ECONNRESET') },
  { name: 'a redirect', sends: ['never'], reply: thrown('STATUS_307') },
  { name: 'a refused connection', sends: ['never'], reply: thrown('ECONNREFUSED') },
  { name: 'no answer', sends: MAYBE, reply: undefined },
  { name: 'a true success, late', sends: ['now', 'later'], reply: success },
  {
    name: 'a success that is a lie',
    sends: ['never'],
    reply: (call) => success(call, `0x${'ee'.repeat(32)}`),
    isLie: true,
  },
  { name: 'a refusal that is a lie', sends: ['later'], reply: failure('insufficient_funds'), isLie: true },
]

const LIE_SHARE = 0.03
/** How long a sound facilitator waits for a transaction to be in a block. */
const RECEIPT_MS_MAX = 25_000
const POLL_MS = 1_000

export class SimulatedFacilitator {
  /** Payments that it has lied about. */
  readonly lied = new Set<string>()
  /** Payments that it has truly refused before it sent anything. */
  readonly refused = new Set<string>()
  /** Told when a call to settle begins and when the caller has its answer. */
  onSettle: (key: string, owner: Owner) => void = () => undefined
  onSettled: (key: string, owner: Owner) => void = () => undefined
  readonly #world: World
  readonly #chain: SimulatedChain
  readonly #faultShare: number
  /** Payers that it serves nothing, verification and settlement alike. */
  readonly #barred: ReadonlySet<string>

  constructor(world: World, chain: SimulatedChain, barred: ReadonlySet<string>) {
    this.#world = world
    this.#chain = chain
    this.#barred = barred
    this.#faultShare = world.pick([0, 0.2, 0.5, 0.8])
  }

  door(owner: Owner): FacilitatorClient {
    return {
      verify: (payload, requirements) =>
        this.#call(owner, (answer) => this.#verify(callOf(payload, requirements), answer)),
      settle: (payload, requirements) => {
        const call = callOf(payload, requirements)
        this.onSettle(call.key, owner)
        const done = this.#call(owner, (answer) => this.#settle(call, answer))
        const end = () => this.onSettled(call.key, owner)
        done.then(end, end)
        return done
      },
      getSupported: () => Promise.resolve({ kinds: [], extensions: [], signers: {} }),
    }
  }

  /** The request reaches the facilitator unless the caller dies before; its answer reaches only a caller that lives. */
  #call(owner: Owner, work: (answer: (reply: unknown) => void) => void): Promise<never> {
    const world = this.#world
    return new Promise((resolve, reject) => {
      const answer = (reply: unknown) =>
        void world.after(
          world.between(0, 50),
          () => {
            if (reply instanceof Error) reject(reply)
            else resolve(reply as never)
          },
          owner,
        )
      world.quietlyAfter(world.between(0, 50), () => {
        if (owner.alive || world.chance(0.5)) work(answer)
      })
    })
  }

  #verify(call: Call, answer: (reply: unknown) => void): void {
    const world = this.#world
    if (world.fault('verify: no answer', 0.02)) return
    if (world.fault('verify: an error', 0.04)) return answer(new Error('STATUS_502'))
    if (world.fault('verify: nonsense', 0.02)) return answer({ isValid: 'yes' })
    if (world.fault('verify: of another payer', 0.01)) return answer({ isValid: true, payer: STRANGER })
    const reason = this.#objection(call)
    const reply =
      reason === undefined
        ? { isValid: true, payer: call.authorization.from }
        : { isValid: false, invalidReason: reason }
    const delay = world.fault('verify: slow', 0.05) ? world.between(1_000, 60_000) : world.between(0, 300)
    world.quietlyAfter(delay, () => answer(reply))
  }

  #settle(call: Call, answer: (reply: unknown) => void): void {
    const world = this.#world
    if (world.isStormy && world.chance(this.#faultShare)) {
      const fault = world.pick(FAULTS)
      if (fault.isLie !== true || world.chance(LIE_SHARE)) return this.#misbehave(fault, call, answer)
    }
    const reason = this.#objection(call)
    if (reason !== undefined) {
      world.trace('facilitator', () => `refuses ${short(call.key)}: ${reason}`)
      this.refused.add(call.key)
      return answer(failure(reason)(call, ''))
    }
    this.#await(this.#send(call), world.now + RECEIPT_MS_MAX, { call, answer })
  }

  #misbehave({ name, sends, reply, isLie = false }: Fault, call: Call, answer: (reply: unknown) => void): void {
    const world = this.#world
    const sending = world.pick(sends)
    world.count(`fault settle: ${name}`)
    world.trace('facilitator', () => `${name}, sends ${sending}: ${short(call.key)}`)
    if (isLie) this.lied.add(call.key)
    else if (name === 'a refusal before broadcast') this.refused.add(call.key)
    const canSend = this.#objection(call) === undefined
    let hash = this.#chain.hash()
    if (sending === 'now' && canSend) hash = this.#send(call).hash
    if (sending === 'later')
      world.quietlyAfter(world.between(0, 120_000), () => void (this.#objection(call) ?? this.#send(call)))
    const delay = name.endsWith('late') || world.chance(0.2) ? world.between(0, 120_000) : world.between(0, 2_000)
    if (!reply) return
    if (name.endsWith('late') && (!canSend || sending === 'later')) return
    world.quietlyAfter(delay, () => {
      // A success is only said of what is in a block; short of that it would be a lie.
      const isTrue = !name.endsWith('late') || this.#chain.spends.get(call.key)?.hash === hash
      answer(isTrue ? reply(call, hash) : new Error('STATUS_504'))
    })
  }

  #await(
    transaction: Transaction,
    end: number,
    { call, answer }: { call: Call; answer: (reply: unknown) => void },
  ): void {
    const world = this.#world
    world.quietlyAfter(POLL_MS, () => {
      const spend = this.#chain.spends.get(call.key)
      if (spend?.hash === transaction.hash) answer(success(call, transaction.hash))
      else if (spend) answer(failure('invalid_exact_evm_transaction_failed')(call, transaction.hash))
      else if (world.now >= end) answer(failure('settlement_pending')(call, transaction.hash))
      else this.#await(transaction, end, { call, answer })
    })
  }

  /** What an honest facilitator has against a payment. */
  #objection({ key, authorization, signature }: Call): string | undefined {
    if (signature !== signatureOf(authorization)) return 'invalid_exact_evm_signature'
    if (this.#barred.has(authorization.from)) return 'insufficient_funds'
    if (this.#chain.spends.has(key)) return 'invalid_exact_evm_nonce_already_used'
    if (seconds(this.#world) + 6 >= Number(authorization.validBefore))
      return 'invalid_exact_evm_payload_authorization_valid_before'
    const balance = this.#chain.balances.get(authorization.from) ?? 0n
    return balance < BigInt(authorization.value) ? 'invalid_exact_evm_insufficient_balance' : undefined
  }

  #send({ key, authorization }: Call): Transaction {
    const transaction = transferOf(key, authorization, this.#chain.hash())
    this.#chain.broadcast(transaction)
    return transaction
  }
}

export function transferOf(key: string, authorization: Authorization, hash: string): Transaction {
  const { from, to, value, validAfter, validBefore } = authorization
  return {
    kind: 'transfer',
    hash,
    key,
    from,
    to,
    value: BigInt(value),
    validAfter: Number(validAfter),
    validBefore: Number(validBefore),
  }
}

function callOf(payload: { payload: object }, requirements: PaymentRequirements): Call {
  const { authorization, signature } = payload.payload as { authorization: Authorization; signature: string }
  return { key: keyOf(authorization.from, authorization.nonce), authorization, signature, requirements }
}
