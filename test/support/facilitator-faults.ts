/** A facilitator over HTTP that misbehaves in every known way, the chain that is the truth about it, and what must follow. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as readBody } from 'node:stream/consumers'
import type { Chain, Evidence } from '../../agent/payments/chain.ts'
import { testTerms, type AuthorizationFields } from './payments.ts'

const TRANSACTION = `0x${'cd'.repeat(32)}`
const STRANGER = '0x00000000000000000000000000000000000000d3'

interface Settling {
  payer: string
  response: ServerResponse
  request: IncomingMessage
}

interface Fault {
  name: string
  /** What becomes of the authorization when the facilitator is asked to settle. */
  chain: 'untouched' | 'paid' | 'burned' | 'cancelled'
  settle: (settling: Settling) => void
  verify?: (settling: Settling) => void
  /** Status and code of the first try, of a retry from the same process, and of one after a restart that finds a sound facilitator. */
  expected: readonly [first: string, retry: string, restarted: string]
  /** What was moved to the receiver in the end, by however many tries. */
  transfers: 0 | 1
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

type Answer = (settling: Settling) => void
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
const begin = ({ response }: Settling, length: number) =>
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': length })

const UNKNOWN = '503 payment_outcome_unknown'
const FAILED = '402 payment_failed'
const AWAY = '503 payment_verification_unavailable'
const DONE = '200'

/** Paid although nobody said so: the chain tells the retry. */
const PAID = { chain: 'paid', expected: [UNKNOWN, DONE, DONE], transfers: 1 } as const
/** Nothing was sent: settled again, which helps once the facilitator is sound. */
const LOST = { chain: 'untouched', expected: [UNKNOWN, UNKNOWN, DONE], transfers: 1 } as const
/** Refused before broadcast. */
const REFUSED = { chain: 'untouched', expected: [FAILED, FAILED, FAILED], transfers: 0 } as const
const SPENT = { expected: [UNKNOWN, FAILED, FAILED], transfers: 0 } as const

export const FAULTS: Fault[] = [
  { name: 'none', chain: 'paid', settle: wrong({}), expected: [DONE, DONE, DONE], transfers: 1 },
  { name: 'a success that never happened', ...LOST, settle: wrong({}), expected: [DONE, DONE, DONE] },
  {
    name: 'a success of another transaction',
    ...PAID,
    settle: wrong({ transaction: `0x${'99'.repeat(32)}` }),
    expected: [DONE, DONE, DONE],
  },
  { name: 'success on another network', ...PAID, settle: wrong({ network: 'eip155:8453' }) },
  { name: 'success of another payer', ...LOST, settle: wrong({ payer: STRANGER }) },
  { name: 'success of no payer', ...LOST, settle: wrong({ payer: undefined }) },
  { name: 'success of another amount', ...LOST, settle: wrong({ amount: '1' }) },
  { name: 'success without a transaction', ...PAID, settle: wrong({ transaction: '' }) },
  { name: 'success with a word for a transaction', ...LOST, settle: wrong({ transaction: 'hello' }) },
  {
    name: 'success said twice',
    ...LOST,
    settle: ({ payer, response }) =>
      send(response, 200, JSON.stringify(success(payer)).replace('{', '{"success":true,')),
  },
  { name: 'insufficient funds', ...REFUSED, settle: reply(() => failure('insufficient_funds')) },
  { name: 'insufficient funds as 400', ...REFUSED, settle: reply(() => failure('insufficient_funds'), 400) },
  { name: 'insufficient funds, and sent all the same', ...PAID, settle: reply(() => failure('insufficient_funds')) },
  { name: 'a reason nobody knows as 400', ...LOST, settle: reply(() => failure('something_new'), 400) },
  { name: 'success as 400', ...PAID, settle: reply(success, 400) },
  { name: 'pending, and mined later', ...PAID, settle: reply(() => failure('settlement_pending', TRANSACTION)) },
  { name: 'pending, and dropped', ...LOST, settle: reply(() => failure('settlement_pending', TRANSACTION)) },
  { name: 'pending as 500', ...PAID, settle: reply(() => failure('settlement_pending', TRANSACTION), 500) },
  {
    name: 'nonce used, by a third party that paid us',
    ...PAID,
    settle: reply(() => failure('invalid_exact_evm_nonce_already_used')),
  },
  {
    name: 'nonce used, by the payer for himself',
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
  { name: 'success as 500', ...PAID, settle: reply(success, 500) },
  { name: 'insufficient funds as 500', ...LOST, settle: reply(() => failure('insufficient_funds'), 500) },
  { name: 'insufficient funds as 429', ...LOST, settle: reply(() => failure('insufficient_funds'), 429) },
  { name: '502 from a proxy', ...PAID, settle: reply(() => '<h1>Bad Gateway</h1>', 502, 'text/html') },
  { name: '504 from a proxy', ...PAID, settle: reply(() => '', 504) },
  { name: 'malformed JSON', ...PAID, settle: reply(() => '{"success":tru') },
  { name: 'an empty body', ...LOST, settle: reply(() => '') },
  { name: 'null', ...PAID, settle: reply(() => 'null') },
  { name: 'success that calls itself HTML', ...PAID, settle: reply(success, 200, 'text/html') },
  {
    name: 'success in 64 KiB and more',
    ...PAID,
    settle: reply((payer) => ({ ...success(payer), extra: 'x'.repeat(65_536) })),
  },
  {
    name: 'a body cut short',
    ...PAID,
    settle: (settling) => void begin(settling, 500).write('{', () => settling.request.socket.destroy()),
  },
  { name: 'silence', ...LOST, settle: () => undefined },
  { name: 'a body that never ends', ...PAID, settle: (settling) => drip(settling) },
  { name: 'a reset, after it was sent', ...PAID, settle: reset },
  { name: 'a reset, before it was sent', ...LOST, settle: reset },
  { name: 'a redirect (302)', ...LOST, settle: redirect(302) },
  { name: 'a redirect (307)', ...LOST, settle: redirect(307) },
  { name: 'a redirect (308)', ...LOST, settle: redirect(308) },
  { name: 'a reset of the verification', ...LOST, settle: reset, verify: reset, expected: [AWAY, AWAY, DONE] },
  {
    name: 'a redirect of the verification',
    ...LOST,
    settle: reset,
    verify: redirect(307),
    expected: [AWAY, AWAY, DONE],
  },
  {
    name: '500 for the verification',
    ...LOST,
    settle: reset,
    verify: reply(() => ({ isValid: true }), 500),
    expected: [AWAY, AWAY, DONE],
  },
]

function drip(settling: Settling): void {
  begin(settling, 1_000_000)
  const timer = setInterval(() => settling.response.write(' '), 50)
  settling.response.on('close', () => clearInterval(timer))
}

interface Paid {
  payTo: string
  fault: Fault
  /** What the chain has of it. */
  evidence: Evidence
  transfers: number
}

/** One facilitator and one chain for many payments, each with its own fault, known by the payment's nonce. */
export async function startFaultyFacilitator() {
  const payments = new Map<string, Paid>()
  const foreign: string[] = []
  let isSound = false

  const free = (): Evidence => ({ nonce: 'free', time: BigInt(Math.floor(Date.now() / 1000) + 2), finalTime: 0n })

  function settle(paid: Paid, { from, value }: AuthorizationFields): void {
    const kind = isSound ? 'paid' : paid.fault.chain
    if (paid.evidence.nonce !== 'free' || kind === 'untouched') return
    if (kind === 'paid') paid.transfers += 1
    const to = kind === 'paid' ? paid.payTo : from
    const transfer = { from, to, value: BigInt(value), transaction: TRANSACTION }
    paid.evidence = kind === 'cancelled' ? { nonce: kind, isFinal: true } : { nonce: 'used', transfer, isFinal: true }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const verb = request.url
    if (verb !== '/verify' && verb !== '/settle') {
      foreign.push(`${request.method} ${verb}`)
      return send(response, 200, success(STRANGER))
    }
    const body = (await readBody(request)) as { paymentPayload: { payload: { authorization: AuthorizationFields } } }
    const { authorization } = body.paymentPayload.payload
    const paid = payments.get(authorization.nonce)
    if (!paid) return send(response, 404, {})
    const settling = { payer: authorization.from, response, request }
    if (verb === '/verify') {
      const verify = isSound ? undefined : paid.fault.verify
      return verify ? verify(settling) : send(response, 200, { isValid: true, payer: settling.payer })
    }
    settle(paid, authorization)
    if (!isSound) return paid.fault.settle(settling)
    return send(response, 200, paid.transfers === 1 ? success(settling.payer) : failure('invalid_transaction_state'))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))

  const evidenceOf = (nonce: string): Evidence => payments.get(nonce)?.evidence ?? free()
  const chain: Chain = {
    head: async () => 100n,
    isNonceFree: async ({ authorization }) => evidenceOf(authorization.nonce).nonce === 'free',
    evidence: async ({ authorization }) => {
      const found = evidenceOf(authorization.nonce)
      return found.nonce === 'free' ? free() : found
    },
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    chain,
    /** What was asked of it that it should not have been: where a redirect led. */
    foreign,
    add: (nonce: string, fault: Fault, payTo: string) =>
      void payments.set(nonce, { fault, payTo, evidence: free(), transfers: 0 }),
    transfers: (nonce: string) => payments.get(nonce)?.transfers,
    /** From now on it does what it should. */
    mend: () => void (isSound = true),
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
