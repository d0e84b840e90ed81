/** A method for each single operation. It builds the URL, and types the answer. */
import type * as z from 'zod'
import { asOf } from '../../agent/operation/as-of.ts'
import { batch } from '../../agent/operation/operations.ts'
import { changes, type ChangesResponse } from '../../agent/operation/changes.ts'
import { history, type HistoryResponse } from '../../agent/operation/history.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { parseOperation, type OperationDefinition } from '../../agent/operation/operation.ts'
import { resolve, type ResolveResponse } from '../../agent/operation/resolve.ts'
import type { Candidate, companyResponseSchema, dataErrorSchema } from '../../agent/operation/result.ts'
import { search, type SearchResponse } from '../../agent/operation/search.ts'
import { readAnswer } from '../../agent/payment/receipt/read.ts'
import type { Buy, CallOptions } from './buy.ts'
import { describeAnswer, PurchaseError } from './purchase-error.ts'
import { restRequest, toBaseUrl, type PurchaseRequest } from './purchase-request.ts'
import { locationOf } from './storage.ts'

type CompanyResponse = z.infer<typeof companyResponseSchema>

type Input<Definition extends OperationDefinition> = z.input<Definition['inputSchema']>

/** A matched answer has a match, and no other has one. */
type ResolveAnswer = Omit<ResolveResponse, 'status' | 'match'> &
  ({ status: 'matched'; match: Candidate } | { status: Exclude<ResolveResponse['status'], 'matched'>; match: null })

/** The operations of which a batch has several inputs. */
interface BatchOperations {
  lookup: { input: Input<typeof lookup>; answer: Item<CompanyResponse> }
  as_of: { input: Input<typeof asOf>; answer: Item<CompanyResponse> }
  resolve: { input: Input<typeof resolve>; answer: Item<Omit<ResolveResponse, 'query' | 'match' | keyof Ranking>> }
}

/** What stands once in a batch of resolutions. */
type Ranking = Pick<ResolveResponse, 'matching_version' | 'score_definition'>

/** An item has its own source only if that is not the source of the batch. */
type Item<Answer extends Provenance> = Omit<Answer, keyof Provenance> & Partial<Provenance>
type Provenance = Pick<CompanyResponse, 'source' | 'snapshot_id'>

/** The result of an input, in the order of the inputs. */
type BatchResult<Name extends keyof BatchOperations> =
  | { http_status: 200; body: BatchOperations[Name]['answer'] }
  | { http_status: 404 | 409; body: Item<z.infer<typeof dataErrorSchema>> }

interface BatchAnswer<Name extends keyof BatchOperations> extends Provenance, Partial<Ranking> {
  results: BatchResult<Name>[]
}

/** Each throws a PurchaseError unless the answer was bought; a refusal has its code in `answer.code`. */
export interface BuyerMethods {
  lookup(companyNumber: string): Promise<CompanyResponse>
  search(input: string | Input<typeof search>): Promise<SearchResponse>
  resolve(input: Input<typeof resolve>): Promise<ResolveAnswer>
  history(companyNumber: string, options?: { before?: string }): Promise<HistoryResponse>
  /** @param date YYYY-MM-DD */
  asOf(companyNumber: string, date: string): Promise<CompanyResponse>
  changes(input: Input<typeof changes>): Promise<ChangesResponse>
  batch<Name extends keyof BatchOperations>(
    operation: Name,
    inputs: readonly BatchOperations[Name]['input'][],
  ): Promise<BatchAnswer<Name>>
}

export function createMethods(url: string | undefined, buy: Buy): BuyerMethods {
  const call = async <T>(definition: OperationDefinition, input: object): Promise<T> => {
    if (url === undefined) throw new Error('url is missing: the URL of the service')
    const present = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    const parsed = parseOperation(definition, present)
    if (parsed.kind === 'invalid') {
      const { field, rule } = parsed.fault
      throw new PurchaseError('request_unsupported', `${field ?? 'The input'} ${rule}. Nothing was signed`)
    }
    const { body } = await buyAnswer(buy, restRequest(toBaseUrl(url), parsed.operation))
    // The buyer has checked that the answer has the form of the operation.
    return readAnswer(body) as T
  }
  return {
    lookup: (company_number) => call(lookup, { company_number }),
    search: (input) => call(search, typeof input === 'string' ? { q: input } : input),
    resolve: (input) => call(resolve, input),
    history: (company_number, options) => call(history, { company_number, ...options }),
    asOf: (company_number, date) => call(asOf, { company_number, date }),
    changes: (input) => call(changes, input),
    batch: (operation, inputs) => call(batch, { operation, inputs }),
  }
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
