/** A faulty HTTP facilitator, whose transfers are on the ledger, and the expected responses of the service. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json as readBody } from 'node:stream/consumers'
import { TRANSFER_REVERTED } from '../../agent/settlement/facilitator/facilitator.ts'
import { listen } from './listen.ts'
import { testTerms, type AuthorizationFields } from './payments.ts'
import { authorizationOf, facilitatorOf, type SentPayment } from './remotes/facilitator.ts'
import { transactionOf, type Ledger, type LedgerAccount } from './remotes/ledger.ts'

const OTHER_TRANSACTION = `0x${'99'.repeat(32)}`
const OTHER_PAYER = '0x00000000000000000000000000000000000000d3'

interface FacilitatorCall {
  payer: string
  /** The transaction of the payment, which need not exist. */
  transaction: string
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
  /** The payer from the settlement on. */
  account?: LedgerAccount
}

const success = ({ payer, transaction }: Pick<FacilitatorCall, 'payer' | 'transaction'>) => ({
  success: true,
  transaction,
  network: testTerms.network,
  payer,
})
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
  (body: (call: FacilitatorCall) => unknown, status = 200, type?: string): Answer =>
  (call) =>
    send(call.response, status, body(call), type)
const wrong = (change: object) => reply((call) => ({ ...success(call), ...change }))
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
/** Refused, and the payer has no money any more. */
const REFUSED = {
  chain: 'untouched',
  account: { balance: 0 },
  expected: [FAILED, FAILED, FAILED],
  transfers: 0,
} as const
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
    settle: wrong({ transaction: OTHER_TRANSACTION }),
  },
  { name: 'success without a payer', ...PAID, settle: wrong({ payer: undefined }) },
  { name: 'success with an invalid transaction hash', ...LOST, settle: wrong({ transaction: 'hello' }) },
  {
    name: 'success with a duplicate name',
    ...LOST,
    settle: reply((call) => JSON.stringify(success(call)).replace('{', '{"success":true,')),
  },
  { name: 'insufficient funds', ...REFUSED, settle: reply(() => failure('insufficient_funds')) },
  { name: 'insufficient funds as 400', ...REFUSED, settle: reply(() => failure('insufficient_funds'), 400) },
  { name: 'insufficient funds, but sent', ...PAID, settle: reply(() => failure('insufficient_funds')) },
  {
    name: 'insufficient funds, with its pending transaction',
    ...PENDING,
    settle: reply(({ transaction }) => failure('insufficient_funds', transaction)),
  },
  {
    name: 'no answer, then insufficient funds while the transaction is pending',
    ...PENDING,
    settle: (call) => (call.attempt === 1 ? reset(call) : reply(() => failure('insufficient_funds'))(call)),
  },
  {
    name: 'pending, and mined later',
    ...PAID,
    settle: reply(({ transaction }) => failure('settlement_pending', transaction)),
  },
  {
    name: 'pending, and dropped',
    ...LOST,
    settle: reply(({ transaction }) => failure('settlement_pending', transaction)),
  },
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
    account: { revert: 'Pausable: paused' },
  },
  {
    name: 'an invalid signature that the token accepts',
    ...LOST,
    settle: reply(() => failure('invalid_exact_evm_signature')),
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
  fault: FacilitatorFault
  settlements: number
  /** Sent to the facilitator to be settled. */
  authorization?: AuthorizationFields
}

/** One facilitator for many payments. The nonce of a payment selects its fault. */
export async function startFaultyFacilitator(ledger: Ledger) {
  const payments = new Map<string, TrackedPayment>()
  const unexpectedRequests: string[] = []
  const facilitator = facilitatorOf(ledger)
  let isCorrect = false

  function change({ chain, account = {} }: FacilitatorFault, authorization: AuthorizationFields): void {
    const { from } = authorization
    ledger.accounts.set(from.toLowerCase(), account)
    if (chain === 'paid') ledger.transfer(authorization)
    if (chain === 'burned') ledger.transfer({ ...authorization, to: from })
    if (chain === 'cancelled') ledger.cancel(authorization)
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const verb = request.url
    if (verb !== '/verify' && verb !== '/settle') {
      unexpectedRequests.push(`${request.method} ${verb}`)
      return send(response, 200, success({ payer: OTHER_PAYER, transaction: OTHER_TRANSACTION }))
    }
    const { paymentPayload, paymentRequirements } = (await readBody(request)) as SentPayment
    const authorization = authorizationOf(paymentPayload)
    const paid = payments.get(authorization.nonce)
    if (!paid) return send(response, 404, {})
    const { from: payer, nonce } = authorization
    const call = { payer, transaction: transactionOf(nonce), attempt: paid.settlements + 1, response, request }
    if (verb === '/verify')
      return !isCorrect && paid.fault.verify
        ? paid.fault.verify(call)
        : send(response, 200, await facilitator.verify(paymentPayload))
    if (isCorrect) return send(response, 200, await facilitator.settle(paymentPayload, paymentRequirements))
    paid.settlements += 1
    paid.authorization = authorization
    change(paid.fault, authorization)
    return paid.fault.settle(call)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const listening = await listen(server)

  return {
    url: listening.url,
    /** Requests for other paths, which only a followed redirect sends. */
    unexpectedRequests,
    add: (nonce: string, fault: FacilitatorFault) => void payments.set(nonce, { fault, settlements: 0 }),
    /** After this, the facilitator answers without faults, and the pending transactions are mined. */
    repair() {
      isCorrect = true
      for (const { fault, authorization } of payments.values())
        if (fault.chain === 'pending' && authorization) ledger.transfer(authorization)
    },
    stop: () => listening.close(),
  }
}
