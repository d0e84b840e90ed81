/** A faulty HTTP facilitator, a chain with the true outcome, and the expected responses of the service. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json as readBody } from 'node:stream/consumers'
import type { TransferTrial } from '../../agent/settlement/chain/token.ts'
import type { NonceState } from '../../agent/settlement/decide.ts'
import { TRANSFER_REVERTED } from '../../agent/settlement/facilitator/facilitator.ts'
import { chainOf } from './fake-chain.ts'
import { listen } from './listen.ts'
import { testTerms, type AuthorizationFields } from './payments.ts'

const TRANSACTION = `0x${'cd'.repeat(32)}`
const OTHER_PAYER = '0x00000000000000000000000000000000000000d3'

interface FacilitatorCall {
  payer: string
  /** Counts the settlements of the payment, from 1. */
  attempt: number
  response: ServerResponse
  request: IncomingMessage
}

interface FacilitatorFault {
  name: string
  /**
   * What happens to the authorization on chain when the facilitator is called. `pending` is mined before the restart.
   */
  chain: 'untouched' | 'paid' | 'pending' | 'burned' | 'cancelled'
  settle: (call: FacilitatorCall) => void
  verify?: (call: FacilitatorCall) => void
  /** Status and code of the first request, of a retry, and of a retry after a restart with a correct facilitator. */
  expected: readonly [first: string, retry: string, restarted: string]
  /** Transfers to the receiver in the end. */
  transfers: 0 | 1
  /** What the token does with the transfer when a refusal is checked. Default: it lacks the funds. */
  trial?: TransferTrial
}

const success = (payer: string) => ({ success: true, transaction: TRANSACTION, network: testTerms.network, payer })
const failure = (errorReason: string, transaction = '') => ({
  success: false,
  errorReason,
  transaction,
  network: testTerms.network,
})

function send(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  response.writeHead(status, { 'Content-Type': type }).end(typeof body === 'string' ? body : JSON.stringify(body))
}

type Answer = (call: FacilitatorCall) => void
const reply =
  (body: (payer: string) => unknown, status = 200, type?: string): Answer =>
  ({ payer, response }) =>
    send(response, status, body(payer), type)
const wrong = (change: object) => reply((payer) => ({ ...success(payer), ...change }))
const redirect =
  (status: number): Answer =>
  ({ response, request }) =>
    response.writeHead(status, { Location: `http://${request.headers.host}/elsewhere` }).end()
const reset: Answer = ({ request }) => void request.socket.resetAndDestroy()

const UNKNOWN = '503 payment_outcome_unknown'
const FAILED = '402 payment_failed'
const AWAY = '503 payment_verification_unavailable'
const DONE = '200'

/** Paid without a valid answer. The payment is read from the chain before the first answer. */
const PAID = { chain: 'paid', expected: [DONE, DONE, DONE], transfers: 1 } as const
/** Nothing was sent. A retry settles again, which succeeds with a correct facilitator. */
const LOST = { chain: 'untouched', expected: [UNKNOWN, UNKNOWN, DONE], transfers: 1 } as const
/** Refused, and the token reverts the transfer. */
const REFUSED = { chain: 'untouched', expected: [FAILED, FAILED, FAILED], transfers: 0 } as const
/** Never paid. The refusal needs two observations of the chain that are a minute apart. */
const SPENT = { expected: [UNKNOWN, UNKNOWN, UNKNOWN], transfers: 0 } as const

/** The transaction is sent at the first settlement and mined before the restart. */
const PENDING = { chain: 'pending', expected: [UNKNOWN, UNKNOWN, DONE], transfers: 1 } as const

/** test/agent/settlement/facilitator has the replies that count as unclear for another reason. */
export const FAULTS: FacilitatorFault[] = [
  { name: 'no fault', chain: 'paid', settle: wrong({}), expected: [DONE, DONE, DONE], transfers: 1 },
  { name: 'success without a transfer', ...LOST, settle: wrong({}), expected: [DONE, DONE, DONE] },
  {
    name: 'success with another transaction',
    ...PAID,
    settle: wrong({ transaction: `0x${'99'.repeat(32)}` }),
  },
  { name: 'success without a payer', ...PAID, settle: wrong({ payer: undefined }) },
  { name: 'success with an invalid transaction hash', ...LOST, settle: wrong({ transaction: 'hello' }) },
  {
    name: 'success with a duplicate name',
    ...LOST,
    settle: ({ payer, response }) =>
      send(response, 200, JSON.stringify(success(payer)).replace('{', '{"success":true,')),
  },
  { name: 'insufficient funds', ...REFUSED, settle: reply(() => failure('insufficient_funds')) },
  { name: 'insufficient funds as 400', ...REFUSED, settle: reply(() => failure('insufficient_funds'), 400) },
  { name: 'insufficient funds, but sent', ...PAID, settle: reply(() => failure('insufficient_funds')) },
  {
    name: 'insufficient funds, with its pending transaction',
    ...PENDING,
    settle: reply(() => failure('insufficient_funds', TRANSACTION)),
  },
  {
    name: 'no answer, then insufficient funds while the transaction is pending',
    ...PENDING,
    settle: (call) => (call.attempt === 1 ? reset(call) : reply(() => failure('insufficient_funds'))(call)),
  },
  { name: 'pending, and mined later', ...PAID, settle: reply(() => failure('settlement_pending', TRANSACTION)) },
  { name: 'pending, and dropped', ...LOST, settle: reply(() => failure('settlement_pending', TRANSACTION)) },
  {
    name: 'nonce used by a third party for the payment',
    ...PAID,
    settle: reply(() => failure('invalid_exact_evm_nonce_already_used')),
  },
  {
    name: 'nonce used by the payer for another receiver',
    ...SPENT,
    chain: 'burned',
    settle: reply(() => failure('invalid_exact_evm_nonce_already_used')),
  },
  {
    name: 'nonce cancelled',
    ...SPENT,
    chain: 'cancelled',
    settle: reply(() => failure('invalid_exact_evm_nonce_already_used')),
  },
  {
    name: 'a transfer that the token reverts for an unknown reason',
    chain: 'untouched',
    settle: reply(() => failure(TRANSFER_REVERTED)),
    expected: [UNKNOWN, UNKNOWN, UNKNOWN],
    transfers: 0,
    trial: 'other',
  },
  {
    name: 'an invalid signature that the token accepts',
    ...LOST,
    settle: reply(() => failure('invalid_exact_evm_signature')),
    trial: 'made',
  },
  { name: 'a refusal for a policy', ...LOST, settle: reply(() => failure('address_kyt_denied')) },
  { name: 'success as 500', ...PAID, settle: reply(success, 500) },
  { name: 'insufficient funds as 500', ...LOST, settle: reply(() => failure('insufficient_funds'), 500) },
  { name: '502 from a proxy', ...PAID, settle: reply(() => '<h1>Bad Gateway</h1>', 502, 'text/html') },
  { name: 'malformed JSON', ...PAID, settle: reply(() => '{"success":tru') },
  { name: 'success with content type HTML', ...PAID, settle: reply(success, 200, 'text/html') },
  { name: 'no reply', ...LOST, settle: () => undefined },
  { name: 'a reset after broadcast', ...PAID, settle: reset },
  { name: 'a reset before broadcast', ...LOST, settle: reset },
  { name: 'a redirect (307)', ...LOST, settle: redirect(307) },
  { name: 'a reset of the verification', ...LOST, settle: reset, verify: reset, expected: [AWAY, AWAY, DONE] },
  {
    name: '500 for the verification',
    ...LOST,
    settle: reset,
    verify: reply(() => ({ isValid: true }), 500),
    expected: [AWAY, AWAY, DONE],
  },
]

interface TrackedPayment {
  payTo: string
  fault: FacilitatorFault
  /** The nonce on chain. */
  nonceState: NonceState
  settlements: number
  transfers: number
  /** Sent to the facilitator to be settled. */
  authorization?: AuthorizationFields
  /** How often its nonce was read. */
  reads: number
}

/** One facilitator and one chain for many payments. The nonce of a payment selects its fault. */
export async function startFaultyFacilitator(now: () => Date) {
  const payments = new Map<string, TrackedPayment>()
  const unexpectedRequests: string[] = []
  let isCorrect = false

  function settle(paid: TrackedPayment, authorization: AuthorizationFields): void {
    const kind = isCorrect ? 'paid' : paid.fault.chain
    paid.authorization = authorization
    if (paid.nonceState.nonce !== 'free' || kind === 'untouched' || kind === 'pending') return
    const { from, value } = authorization
    if (kind === 'paid') paid.transfers += 1
    const to = kind === 'paid' ? paid.payTo : from
    const transfer = { from, to, value: BigInt(value), transaction: TRANSACTION }
    paid.nonceState = kind === 'cancelled' ? { nonce: kind, isFinal: true } : { nonce: 'used', transfer, isFinal: true }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const verb = request.url
    if (verb !== '/verify' && verb !== '/settle') {
      unexpectedRequests.push(`${request.method} ${verb}`)
      return send(response, 200, success(OTHER_PAYER))
    }
    const body = (await readBody(request)) as { paymentPayload: { payload: { authorization: AuthorizationFields } } }
    const { authorization } = body.paymentPayload.payload
    const paid = payments.get(authorization.nonce)
    if (!paid) return send(response, 404, {})
    const call = { payer: authorization.from, attempt: 0, response, request }
    if (verb === '/verify') {
      const verify = isCorrect ? undefined : paid.fault.verify
      return verify ? verify(call) : send(response, 200, { isValid: true, payer: call.payer })
    }
    settle(paid, authorization)
    if (!isCorrect) return paid.fault.settle({ ...call, attempt: (paid.settlements += 1) })
    return send(response, 200, paid.transfers === 1 ? success(call.payer) : failure('invalid_transaction_state'))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const listening = await listen(server)

  return {
    url: listening.url,
    chain: chainOf(now, (nonce) => {
      const payment = payments.get(nonce)
      if (payment) payment.reads += 1
      const found = payment?.nonceState ?? freeAt(now())
      return found.nonce === 'free' ? { ...freeAt(now()), trial: payment?.fault.trial } : found
    }),
    /** Requests for other paths, which only a followed redirect sends. */
    unexpectedRequests,
    add: (nonce: string, fault: FacilitatorFault, payTo: string) =>
      void payments.set(nonce, { fault, payTo, nonceState: freeAt(now()), settlements: 0, transfers: 0, reads: 0 }),
    transfers: (nonce: string) => payments.get(nonce)?.transfers,
    reads: (nonce: string) => payments.get(nonce)?.reads ?? 0,
    /** After this, the facilitator answers without faults, and the pending transactions are mined. */
    repair() {
      isCorrect = true
      for (const paid of payments.values())
        if (paid.fault.chain === 'pending' && paid.authorization) settle(paid, paid.authorization)
    },
    stop: () => listening.close(),
  }
}

/** A free nonce, read in a block that is two seconds ahead of the clock and therefore newer than every record. */
function freeAt(now: Date): Extract<NonceState, { nonce: 'free' }> {
  return { nonce: 'free', time: BigInt(Math.floor(now.getTime() / 1000) + 2), finalTime: 0n }
}
