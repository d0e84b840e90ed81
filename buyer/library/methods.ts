/** A method for each operation. It builds the request, and types the answer. */
import type * as z from 'zod'
import { asOf } from '../../agent/operation/as-of.ts'
import { batch } from '../../agent/operation/operations.ts'
import { changes, type ChangesResponse } from '../../agent/operation/changes.ts'
import { history, type HistoryResponse } from '../../agent/operation/history.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { parseOperation, type Operation, type OperationDefinition } from '../../agent/operation/operation.ts'
import { resolve, type ResolveResponse as ResolveJson } from '../../agent/operation/resolve.ts'
import type { Candidate, companyResponseSchema, dataErrorSchema } from '../../agent/operation/result.ts'
import { search, type SearchResponse } from '../../agent/operation/search.ts'
import { readAnswer, readSettlementResponse, receiptOf } from '../../agent/payment/receipt/read.ts'
import type { Buy, CallOptions } from './buy.ts'
import {
  createPages,
  toCall,
  type AnswerWithReceipt,
  type MethodOptions,
  type Next,
  type PageOptions,
  type PagesCall,
  type PurchaseCall,
} from './method-call.ts'
import { ConfigurationError, describeAnswer, PurchaseError } from './purchase-error.ts'
import { restRequest, toBaseUrl, type PurchaseRequest } from './purchase-request.ts'
import { locationOf } from './storage.ts'

export type CompanyResponse = z.infer<typeof companyResponseSchema>

export type { Candidate, ChangesResponse, HistoryResponse, SearchResponse }
export type Company = CompanyResponse['company']

type Input<Definition extends OperationDefinition> = z.input<Definition['inputSchema']>

/** A matched answer has a match, and no other has one. */
export type ResolveResponse = Omit<ResolveJson, 'status' | 'match'> &
  ({ status: 'matched'; match: Candidate } | { status: Exclude<ResolveJson['status'], 'matched'>; match: null })

/** The operations of which a batch has several inputs. */
interface BatchOperations {
  lookup: { input: Input<typeof lookup>; answer: Item<CompanyResponse> }
  as_of: { input: Input<typeof asOf>; answer: Item<CompanyResponse> }
  resolve: { input: Input<typeof resolve>; answer: Item<Omit<ResolveJson, 'query' | 'match' | keyof Ranking>> }
}

/** What stands once in a batch of resolutions. */
type Ranking = Pick<ResolveJson, 'matching_version' | 'score_definition'>

/** An item has its own source only if that is not the source of the batch. */
type Item<Answer extends Provenance> = Omit<Answer, keyof Provenance> & Partial<Provenance>
type Provenance = Pick<CompanyResponse, 'source' | 'snapshot_id'>

/** The result of an input, in the order of the inputs. */
type BatchResult<Name extends keyof BatchOperations> =
  | { http_status: 200; body: BatchOperations[Name]['answer'] }
  | { http_status: 404 | 409; body: Item<z.infer<typeof dataErrorSchema>> }

export interface BatchResponse<Name extends keyof BatchOperations> extends Provenance, Partial<Ranking> {
  results: BatchResult<Name>[]
}

type LookupInput = Input<typeof lookup>['company_number']

/**
 * Each rejects with a {@link PurchaseError} unless the answer was bought. Of a refusal, `answer.code` is the code of
 * the service: one that the method names, or that any purchase can have. A missing or wrong option is a
 * {@link ConfigurationError}. Prices are those of mainnet; a testnet takes a tenth.
 */
export interface BuyerMethods {
  /**
   * The record of a company. Costs 0.01 USDC.
   * @throws `company_not_found`, `source_data_conflict`: nothing is charged
   * @example
   * const { company } = await buyer.lookup('249885')
   * @example
   * const { answer, receipt, amountCharged, file } = await buyer.lookup('249885').withReceipt()
   */
  lookup(companyNumber: LookupInput, options?: MethodOptions): PurchaseCall<CompanyResponse>
  /**
   * Companies whose names are like a text. Costs 0.01 USDC, also without a result.
   * @throws `query_too_broad`: nothing is charged
   * @example
   * const { candidates } = await buyer.search('sample trading', { timeoutMs: 30_000 })
   */
  search(input: string | Input<typeof search>, options?: MethodOptions): PurchaseCall<SearchResponse>
  /**
   * Which company a name or number, with an address or Eircode, means. Costs 0.02 USDC, also without a match.
   * @throws `company_not_found`, `source_data_conflict`, `query_too_broad`: nothing is charged
   * @example
   * const answer = await buyer.resolve({ name: 'Sample Trading Ltd', eircode: 'D02 X285' })
   * if (answer.status === 'matched') console.log(answer.match.company.company_number)
   */
  resolve(input: Input<typeof resolve>, options?: MethodOptions): PurchaseCall<ResolveResponse>
  /**
   * The newest versions of the record of a company, and with `before` those before. Costs 0.01 USDC for each page.
   * @throws `company_not_found`: nothing is charged. `allowance_used`: the next page would exceed `totalMax`
   * @example
   * const { versions, next_before } = await buyer.history('249885')
   * @example
   * for await (const { versions } of buyer.history('249885', { totalMax: 50_000 })) console.log(versions)
   */
  history(companyNumber: LookupInput, options: HistoryOptions & PageOptions): PagesCall<HistoryResponse>
  history(companyNumber: LookupInput, options?: HistoryOptions & MethodOptions): PurchaseCall<HistoryResponse>
  /**
   * The record of a company on a day. Costs 0.01 USDC.
   * @param date YYYY-MM-DD
   * @throws `company_not_found`, `date_not_covered`, `source_data_conflict`: nothing is charged
   * @example
   * const { company } = await buyer.asOf('249885', '2026-02-01')
   */
  asOf(companyNumber: LookupInput, date: string, options?: MethodOptions): PurchaseCall<CompanyResponse>
  /**
   * What changed in the register since a day. Costs 0.01 USDC for each page, also for an empty one.
   * @throws `date_not_covered`: nothing is charged. `allowance_used`: the next page would exceed `totalMax`
   * @example
   * for await (const { changes } of buyer.changes({ since: '2026-02-01' }, { totalMax: 100_000 })) console.log(changes)
   */
  changes(input: Input<typeof changes>, options: PageOptions): PagesCall<ChangesResponse>
  changes(input: Input<typeof changes>, options?: MethodOptions): PurchaseCall<ChangesResponse>
  /**
   * The results of several inputs of `lookup`, `as_of` or `resolve`. Costs the sum of their prices.
   * @throws `company_not_found`, if it is that of every input, `batch_too_large`, `date_not_covered`,
   * `query_too_broad`: nothing is charged
   * @example
   * const { results } = await buyer.batch('lookup', [{ company_number: '249885' }, { company_number: '143157' }])
   */
  batch<Name extends keyof BatchOperations>(
    operation: Name,
    inputs: readonly BatchOperations[Name]['input'][],
    options?: MethodOptions,
  ): PurchaseCall<BatchResponse<Name>>
}

interface HistoryOptions {
  /** `next_before` of an earlier answer: the versions before those. */
  before?: string | undefined
}

/** Without a URL, each method rejects. */
export function createMethods(url: string | undefined, buy: Buy, now: () => Date): BuyerMethods {
  const buyTyped = async <T>(
    definition: OperationDefinition,
    input: object,
    options: CallOptions,
  ): Promise<AnswerWithReceipt<T>> => {
    if (url === undefined) throw new ConfigurationError('url', 'is missing: the URL of the service')
    const request = restRequest(toBaseUrl(url), parseInput(definition, input))
    const { body, entry, receipt, amount, paymentResponse } = await buyAnswer(buy, request, options)
    const response = readSettlementResponse(paymentResponse ?? '')
    const file = locationOf(entry)
    if (!response) throw new PurchaseError('receipt_invalid', 'The answer has no receipt', { file })
    // The buyer has checked that the answer has the form of the operation.
    const answer = readAnswer(body) as T
    return { answer, receipt: receiptOf(response), receiptCheck: receipt, amountCharged: amount, file }
  }
  const call = <T>(definition: OperationDefinition, input: object, options: MethodOptions = {}): PurchaseCall<T> =>
    toCall(buyTyped<T>(definition, input, options))
  const pages = <T>(definition: OperationDefinition, input: object, options: Partial<PageOptions>, next: Next<T>) => {
    const buyPage = (page: object, limits: CallOptions) => buyTyped<T>(definition, page, limits)
    return createPages({ input, options, next, buyPage, now })
  }
  const pagesOfHistory = (company_number: string, { before, ...options }: HistoryOptions & Partial<PageOptions> = {}) =>
    pages<HistoryResponse>(history, { company_number, before }, options, ({ next_before }) =>
      next_before === null ? undefined : { before: next_before },
    )
  const pagesOfChanges = (input: Input<typeof changes>, options: Partial<PageOptions> = {}) =>
    pages<ChangesResponse>(changes, input, options, ({ next_cursor }) =>
      next_cursor === null ? undefined : { cursor: next_cursor },
    )
  return {
    lookup: (company_number, options) => call(lookup, { company_number }, options),
    search: (input, options) => call(search, typeof input === 'string' ? { q: input } : input, options),
    resolve: (input, options) => call(resolve, input, options),
    history: pagesOfHistory,
    asOf: (company_number, date, options) => call(asOf, { company_number, date }, options),
    changes: pagesOfChanges,
    batch: (operation, inputs, options) => call(batch, { operation, inputs }, options),
  }
}

/** @throws a PurchaseError that names the field */
function parseInput(definition: OperationDefinition, input: object): Operation {
  const present = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
  const fields = Object.keys(definition.inputSchema.shape)
  const unknown = Object.keys(present).find((name) => !fields.includes(name))
  if (unknown !== undefined) {
    const advice = `Remove the field ${unknown}. The fields are ${fields.join(', ')}.`
    throw new PurchaseError('request_unsupported', `${unknown} is no field of the input. Nothing was signed`, {
      advice,
    })
  }
  const parsed = parseOperation(definition, present)
  if (parsed.kind === 'valid') return parsed.operation
  const { field, rule } = parsed.fault
  const message = `${field ?? 'The input'} ${rule}. Nothing was signed`
  const advice = field === null ? `Change the input: ${rule}.` : `Change the field ${field}: it ${rule}.`
  throw new PurchaseError('request_unsupported', message, { advice })
}

/** @throws a PurchaseError for a refusal, which has its code, and for an answer without a payment or a receipt */
export async function buyAnswer(buy: Buy, request: PurchaseRequest, options?: CallOptions) {
  const bought = await buy(request, options)
  const { status, entry, outcome, receipt } = bought
  const file = entry && locationOf(entry)
  if (status !== 200) {
    const answer = describeAnswer(bought)
    const text = `The service answered ${[status, answer.code].filter(Boolean).join(' ')}`
    throw new PurchaseError('service_refused', text, { answer, outcome, file })
  }
  if (!entry) throw new PurchaseError('quote_unexpected', 'The service asks for no payment')
  if (receipt === 'missing') throw new PurchaseError('receipt_invalid', 'The answer has no receipt', { file })
  return { ...bought, entry, receipt }
}
