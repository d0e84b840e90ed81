/** Each paid route sends each refusal that its description lists, except those that are listed as reserved. */
import { expect } from 'chai'
import { HOUR_MS } from '../../base/day.ts'
import { CALL_MS_MAX } from '../../agent/settlement/rpc/time-limits.ts'
import { isDataError, NEXT, REFUSALS, type RefusalCode } from '../../agent/operation/refusal.ts'
import { amountOf, buildRequirements } from '../../agent/payment/terms.ts'
import type { Company } from '../../store/dataset/company.ts'
import { ANY_ROUTE } from '../../rest-facade/documents/description.ts'
import { describeRoutes } from '../../rest-facade/routes.ts'
import { replaceMethods } from '../support/replace-methods.ts'
import { header, signedPayment, testTerms, type WirePayment } from '../support/payments.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { TRANSACTION } from '../support/sale-harness.ts'
import { BATCH, COMPANY, requestOverTransports, type Operation } from '../support/transports.ts'
import { startScriptedApp, type ScriptedApp } from './scripted-app.ts'
import { deploymentOf } from '../support/deployment.ts'
import { operationOf } from '../support/operations.ts'
import { openIdentities } from '../support/records.ts'
import { countOpen } from '../../store/log/responses.ts'

const looking = (company_number: string): Operation => ({ operation: 'lookup', input: { company_number } })
const SEARCH: Operation = { operation: 'search', input: { q: 'plain fixture' } }
const today = () => new Date().toISOString().slice(0, 10)
const RESOLVE: Operation = { operation: 'resolve', input: { name: 'plain fixture' } }

const onDay = (company_number: string, date: string): Operation => ({
  operation: 'as_of',
  input: { company_number, date },
})
const batchOf = ({ operation, input }: Operation, count = 1): Operation => ({
  operation: 'batch',
  input: { operation, inputs: Array<Operation['input']>(count).fill(input) },
})
const listing = (number?: string) => batchOf(looking(number ?? ''), number === undefined ? 0 : 1)
const LIST = batchOf(looking('73848'), 50)
const NAMES = batchOf(RESOLVE)

async function paymentFor(operation: Operation): Promise<string> {
  const requirements = buildRequirements(testTerms, amountOf(testTerms, operationOf(operation)))
  return header(await signedPayment({ requirements }))
}

type Send = (operation: Operation, payment?: string) => Promise<RawReply>
type Ask = (payment?: string) => Promise<RawReply>

let app: ScriptedApp
let sale: ScriptedApp['sale']

/**
 * A refusal that is not charged leaves no record and settles nothing. A replay conflict has the record of the first
 * sale.
 */
async function expectUncharged(code: RefusalCode): Promise<void> {
  const isSold = code === 'payment_replay_conflict' || code === 'payment_failed'
  if (REFUSALS[code].charged !== 'no' || isSold) return
  const unfinished = await openIdentities(sale.context.services.log)
  expect([sale.count('settle'), unfinished.length]).to.deep.equal([0, openPayments])
}

let original: Pick<ScriptedApp['sale'], 'script' | 'context' | 'budgets' | 'now'>
let openPayments: number

async function start(): Promise<void> {
  app = await startScriptedApp()
  ;({ sale } = app)
  const { script, context, budgets, now } = sale
  original = { script: { ...script }, context: { ...context }, budgets, now }
}
const stop = () => app.stop()

/** Undoes what a test has replaced. */
async function reset(): Promise<void> {
  Object.assign(sale.script, original.script)
  Object.assign(sale.context, original.context)
  sale.budgets = original.budgets
  sale.now = original.now
  sale.calls.length = 0
  openPayments = await countOpen(sale.context.services.log)
}

const { get, lookup, search, resolve, rest, a2a, mcp } = requestOverTransports(() => app)
const gzip = { headers: { 'Content-Encoding': 'gzip' } }
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  get(path, undefined, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })

/** Requests that every transport supports. A REST route overrides those that differ. */
const anyOperation = (ask: Send) => ({
  sells: 'lookup',
  valid: ((payment) => ask(looking('73848'), payment)) as Ask,
  /** Another operation at the same price. */
  other: ((payment) => ask(SEARCH, payment)) as Ask,
  byNumber:
    (number: string): Ask =>
    (payment) =>
      ask(looking(number), payment),
  byName: ((payment) => ask(SEARCH, payment)) as Ask,
  byDate:
    (date: string): Ask =>
    (payment) =>
      ask(onDay('73848', date), payment),
  byList: async () => ask(LIST, await paymentFor(LIST)),
})

type Requests = ReturnType<typeof anyOperation> & { invalid: Partial<Record<RefusalCode, Ask>> }

const REST = anyOperation(rest)
const priced = (path: string) => (payment?: string) => get(path, payment)

const ROUTES: Record<string, Requests> = {
  lookupCompany: {
    ...REST,
    invalid: { invalid_company_number: () => lookup('x'), unexpected_input: () => lookup('1?a=1') },
  },
  searchCompanies: {
    ...REST,
    sells: 'search',
    valid: REST.byName,
    other: REST.valid,
    invalid: {
      invalid_query: () => search('q=x'),
      duplicate_parameter: () => search('q=abc&q=abc'),
      unexpected_input: () => search('q=abc', undefined, { body: 'x' }),
    },
  },
  resolveCompany: {
    ...REST,
    sells: 'resolve',
    valid: (payment) => rest(RESOLVE, payment),
    other: (payment) => rest({ operation: 'resolve', input: { name: 'other' } }, payment),
    byNumber: (company_number) => (payment) => rest({ operation: 'resolve', input: { company_number } }, payment),
    byName: (payment) => rest(RESOLVE, payment),
    invalid: {
      invalid_body: () => resolve({}),
      unexpected_input: () => post('/api/v1/resolve?a=1', '{"name":"abc"}'),
      body_too_large: () => resolve(' '.repeat(4_097)),
      unsupported_media_type: () => resolve({ name: 'abc' }, undefined, gzip),
    },
  },
  companyHistory: {
    ...REST,
    sells: 'history',
    valid: priced(`${COMPANY}/73848/history`),
    other: REST.valid,
    byNumber: (number) => priced(`${COMPANY}/${number}/history`),
    invalid: {
      invalid_company_number: () => get(`${COMPANY}/x/history`),
      invalid_query: () => get(`${COMPANY}/1/history?before=x`),
      duplicate_parameter: () => get(`${COMPANY}/1/history?before=1&before=2`),
      unexpected_input: () => get(`${COMPANY}/1/history`, undefined, { body: 'x' }),
    },
  },
  companyOnDay: {
    ...REST,
    sells: 'as_of',
    valid: (payment) => rest(onDay('73848', today()), payment),
    other: REST.valid,
    byNumber: (number) => (payment) => rest(onDay(number, today()), payment),
    invalid: {
      invalid_company_number: () => get(`${COMPANY}/x/as-of/${today()}`),
      invalid_query: () => get(`${COMPANY}/1/as-of/2026-02-29`),
      unexpected_input: () => get(`${COMPANY}/1/as-of/${today()}?a=1`),
    },
  },
  companyChanges: {
    ...REST,
    sells: 'changes',
    valid: priced('/api/v1/changes?since=2026-01-02'),
    other: REST.valid,
    byDate: (date) => priced(`/api/v1/changes?since=2000-01-01&until=${date}`),
    invalid: {
      invalid_query: () => get('/api/v1/changes'),
      duplicate_parameter: () => get('/api/v1/changes?since=2026-01-02&since=2026-01-02'),
      unexpected_input: () => get('/api/v1/changes?since=2026-01-02', undefined, { body: 'x' }),
    },
  },
  batchCompanies: {
    ...REST,
    valid: (payment) => rest(listing('73848'), payment),
    other: (payment) => rest(listing('1001'), payment),
    byNumber: (number) => (payment) => rest(listing(number), payment),
    byDate: (date) => (payment) => rest(batchOf(onDay('73848', date)), payment),
    byName: async () => rest(NAMES, await paymentFor(NAMES)),
    invalid: {
      invalid_body: () => rest(listing()),
      unexpected_input: () => post(`${BATCH}?a=1`, JSON.stringify(listing('1').input)),
      body_too_large: () => post(BATCH, ' '.repeat(65_537)),
      unsupported_media_type: () => post(BATCH, '{}', gzip.headers),
    },
  },
  sendMessage: {
    ...anyOperation(a2a),
    invalid: {
      invalid_company_number: () => a2a(looking('x')),
      invalid_query: () => a2a({ operation: 'search', input: {} }),
      invalid_body: () => a2a({}),
      body_too_large: () => a2a(' '.repeat(16_385)),
      unsupported_media_type: () => post('/a2a', '{}', { 'Content-Encoding': 'gzip' }),
    },
  },
}

/** The `field` of an error, by its code. An error with another code has no `field`. */
const FIELDS: Partial<Record<RefusalCode, RegExp>> = {
  invalid_company_number: /^company_number$/,
  invalid_query: /^(?:q|before|date|since)$/,
  duplicate_parameter: /^(?:q|before|since)$/,
  date_not_covered: /^(?:date|until|inputs\[0\])$/,
  payment_replay_conflict: /^request$/,
}
/** A batch names the item or the list. */
const FIELDS_OF_BATCH: typeof FIELDS = { query_too_broad: /^inputs\[0\]$/, invalid_body: /^inputs$/ }
/** Neither name nor number is at fault if both are missing. An operation is, if it is unknown. */
const NO_FIELD_OR: typeof FIELDS = { invalid_body: /^operation$/ }

/** Why a payment is refused. Each 402 says it. */
const REASONS: Partial<Record<RefusalCode, string>> = {
  payment_required: 'Payment is required',
  payment_invalid: 'invalid_payload',
  payment_rejected: 'insufficient_funds',
  payment_failed: 'settlement_refused',
}
/** The next step of each case here, as the documents publish it. No earlier file has the number that is not found. */
const NEXT_OF: Partial<Record<RefusalCode, string>> = {
  invalid_company_number: 'search',
  invalid_query: 'change_request',
  invalid_body: 'change_request',
  duplicate_parameter: 'change_request',
  unexpected_input: 'change_request',
  query_too_broad: 'narrow',
  batch_too_large: 'fewer_inputs',
  payment_required: 'pay',
  payment_invalid: 'pay_again',
  payment_rejected: 'add_funds',
  payment_failed: 'pay_again',
  company_not_found: 'exact_number',
  date_not_covered: 'covered_day',
  source_data_conflict: 'newer_snapshot',
  payment_replay_conflict: 'repeat_original',
  payment_already_settled: 'contact_operator',
  body_too_large: 'change_request',
  unsupported_media_type: 'change_request',
  rate_limited: 'wait',
  gateway_unavailable: 'never_pay_again',
  dataset_unavailable: 'wait',
  dataset_stale: 'wait',
  payment_verification_unavailable: 'wait',
  clock_wrong: 'wait',
  payment_outcome_unknown: 'never_pay_again',
}

/** The members that a client acts on. */
function expectAdvice(reply: RawReply, code: RefusalCode, sells = ''): void {
  const { next, field, reason } = reply.json['error'] as { next: string; field?: string; reason?: string }
  const given = { next, reason }
  expect(given).to.deep.equal({ next: NEXT_OF[code], reason: REASONS[code] })
  const expected = (sells === 'batch' ? FIELDS_OF_BATCH[code] : undefined) ?? FIELDS[code]
  if (expected) expect(field).to.match(expected)
  else expect(field === undefined || NO_FIELD_OR[code]?.test(field), `${code} names ${field}`).to.equal(true)
}

const unclear = () => Promise.reject(new Error('reset'))

/** Makes the route send each refusal. The payment is valid and new. */
const PROVOKE: Partial<Record<RefusalCode, (requests: Requests, payment: string) => Promise<RawReply>>> = {
  payment_required: ({ valid }) => valid(),
  payment_invalid: ({ valid }) => valid('x'),
  payment_rejected({ valid }, payment) {
    sale.script.verify = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
    return valid(payment)
  },
  payment_failed({ valid }, payment) {
    const errorReason = 'invalid_exact_evm_insufficient_balance'
    sale.script.settle = async () => ({ success: false, transaction: '', network: testTerms.network, errorReason })
    return valid(payment)
  },
  async payment_replay_conflict({ valid, other }, payment) {
    expect((await valid(payment)).status).to.equal(200)
    return other(payment)
  },
  payment_already_settled({ valid }, payment) {
    const { payload } = JSON.parse(Buffer.from(payment, 'base64').toString()) as WirePayment
    const { from, to, value } = payload.authorization
    const transfer = { from, to, value: BigInt(value), transaction: TRANSACTION }
    sale.script.observe = async () => ({ isNonceUsed: true })
    sale.script.nonceState = async () => ({ nonce: 'used', transfer, isFinal: true })
    return valid(payment)
  },
  async rate_limited({ valid }) {
    sale.budgetOf(1)
    await valid()
    return valid()
  },
  dataset_unavailable({ valid }, payment) {
    sale.context.catalog = replaceMethods(sale.context.catalog, { current: () => undefined })
    return valid(payment)
  },
  dataset_stale({ valid }, payment) {
    sale.now = () => new Date(Date.now() + 73 * HOUR_MS)
    return valid(payment)
  },
  payment_verification_unavailable({ valid }, payment) {
    sale.script.verify = unclear
    return valid(payment)
  },
  clock_wrong({ valid }, payment) {
    sale.context.services = {
      ...sale.context.services,
      chain: { ...sale.context.services.chain, isClockWrong: () => true },
    }
    return valid(payment)
  },
  payment_outcome_unknown({ valid }, payment) {
    sale.script.settle = unclear
    return valid(payment)
  },
  company_not_found: ({ byNumber }, payment) => byNumber('999')(payment),
  date_not_covered: ({ byDate }, payment) => byDate('2001-02-03')(payment),
  source_data_conflict: ({ byNumber }, payment) => byNumber('2001')(payment),
  batch_too_large({ byList }) {
    const dataset = sale.context.catalog.current()!
    const { snapshot } = dataset
    const company = snapshot.find('73848') as Company
    const registered_address = { lines: ['A'.repeat(30_000)], eircode: null }
    const current = { ...dataset, snapshot: { ...snapshot, find: () => ({ ...company, registered_address }) } }
    sale.context.catalog = replaceMethods(sale.context.catalog, { current: () => current })
    return byList()
  },
  query_too_broad({ byName }, payment) {
    // The clock advances by more than the time limit of a query at each reading.
    let time = Date.now()
    sale.now = () => new Date((time += 3_000))
    return byName(payment)
  },
  async gateway_unavailable({ valid }, payment) {
    const settlement = sale.block('settle')
    const reply = valid(payment)
    await settlement.arrived(1)
    app.clock.pass(CALL_MS_MAX)
    settlement.release()
    return reply
  },
}

for (const route of describeRoutes(deploymentOf('testnet')).filter(({ refusals }) =>
  refusals.includes('payment_required'),
)) {
  describe(`[7.9] ${route.method.toUpperCase()} ${route.path}`, () => {
    const requests = ROUTES[route.operationId]!
    const isOwn = (code: string) => code === 'rate_limited' || !(ANY_ROUTE as readonly string[]).includes(code)
    const own = route.refusals.filter(isOwn)

    before(start)
    beforeEach(reset)
    after(stop)

    it('sells', async () => {
      const payment = header(await signedPayment({ operation: requests.sells }))
      expect((await requests.valid(payment)).status).to.equal(200)
    })

    for (const code of own) {
      it(`[5.5.1] sends ${code}`, async () => {
        const payment = header(await signedPayment({ operation: requests.sells }))
        const invalid = requests.invalid[code]
        const reply = invalid ? await invalid() : await PROVOKE[code]!(requests, payment)
        expectRefusal(reply, code)
        expectAdvice(reply, code, route.operationId === 'batchCompanies' ? 'batch' : requests.sells)
        await expectUncharged(code)
      })
    }

    it('lists no reserved code that it sends', () => {
      for (const code of route.reserved ?? []) expect(own).not.to.include(code)
    })
  })
}

describe('[4.6.4, 4.6.5, 7.10] a tool of MCP', () => {
  const requests: Requests = {
    ...anyOperation(mcp),
    invalid: {
      invalid_company_number: () => mcp(looking('x')),
      invalid_query: () => mcp({ operation: 'search', input: {} }),
      invalid_body: () => mcp({ operation: 'resolve', input: {} }),
    },
  }
  const codes = [...Object.keys(PROVOKE), ...Object.keys(requests.invalid)] as RefusalCode[]

  before(start)
  beforeEach(reset)
  after(stop)

  for (const code of codes) {
    it(`answers ${code} with the body of REST and the next step`, async () => {
      const payment = header(await signedPayment())
      const reply = await (requests.invalid[code]?.() ?? PROVOKE[code]!(requests, payment))
      expectAdvice(reply, code)
      const { status, message, charged } = REFUSALS[code]
      const { error, ...others } = reply.json as { error: { code: string; message: string } }
      expect(reply.status).to.equal(status)
      expect(error.message.startsWith(message.slice(0, -1))).to.equal(true)
      expect(error).to.include({ code, charged }).and.to.have.property('next').that.is.oneOf(Object.keys(NEXT))
      expect(Object.keys(others)).to.have.members([
        ...(status === 429 || status === 503 ? ['retry_after_seconds'] : []),
        ...(isDataError(code) ? ['company', 'source', 'snapshot_id'] : []),
        ...(status === 402 ? ['cannot_pay'] : []),
      ])
      expect('payment-required' in reply.headers).to.equal(status === 402)
      expect('payment-response' in reply.headers).to.equal(code === 'payment_failed')
    })
  }
})
