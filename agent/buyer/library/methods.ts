/** A method for each single operation. It builds the URL, and types the answer. */
import type * as z from 'zod'
import { asOf } from '../../operation/as-of.ts'
import { batch } from '../../operation/operations.ts'
import { changes, type ChangesResponse } from '../../operation/changes.ts'
import { history, type HistoryResponse } from '../../operation/history.ts'
import { lookup } from '../../operation/lookup.ts'
import { parseOperation, type OperationDefinition } from '../../operation/operation.ts'
import { resolve, type ResolveResponse } from '../../operation/resolve.ts'
import type { Candidate, companyResponseSchema, dataErrorSchema } from '../../operation/result.ts'
import { search, type SearchResponse } from '../../operation/search.ts'
import { readAnswer } from '../../payment/receipt/read.ts'
import { PAYMENT_HEADERS } from '../../payment/terms.ts'
import type { BoughtAnswer } from './buy.ts'
import type { Charged, Outcome } from './outcome.ts'
import { describeAnswer, PurchaseError } from './purchase-error.ts'
import { restRequest, type PurchaseRequest } from './purchase-request.ts'

type BuyerFetch = (url: string, init: RequestInit) => Promise<Response>

type CompanyResponse = z.infer<typeof companyResponseSchema>

type Input<Definition extends OperationDefinition> = z.input<Definition['inputSchema']>

/** A matched answer has a match, and no other has one. */
type ResolveAnswer = Omit<ResolveResponse, 'status' | 'match'> &
  ({ status: 'matched'; match: Candidate } | { status: Exclude<ResolveResponse['status'], 'matched'>; match: null })

/** The operations of which a batch has several inputs. */
interface BatchOperations {
  lookup: { input: Input<typeof lookup>; answer: CompanyResponse }
  as_of: { input: Input<typeof asOf>; answer: CompanyResponse }
  resolve: { input: Input<typeof resolve>; answer: ResolveAnswer }
}

/** The result of an input, in the order of the inputs. */
type BatchResult<Name extends keyof BatchOperations> =
  { status: 200; body: BatchOperations[Name]['answer'] } | { status: 404 | 409; body: z.infer<typeof dataErrorSchema> }

interface BatchAnswer<Name extends keyof BatchOperations> extends Omit<CompanyResponse, 'company'> {
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

export function createMethods(baseUrl: string | undefined, fetch: BuyerFetch): BuyerMethods {
  const buy = async <T>(definition: OperationDefinition, input: object): Promise<T> => {
    if (baseUrl === undefined) throw new Error('url is missing: the URL of the service')
    const present = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    const parsed = parseOperation(definition, present)
    if (parsed.kind === 'invalid') {
      const { field, rule } = parsed.fault
      throw new PurchaseError('request_unsupported', `${field ?? 'The input'} ${rule}. Nothing was signed`)
    }
    const { body, receipt, purchase: file } = await buyThrough(fetch, restRequest(baseUrl, parsed.operation))
    if (receipt === 'missing') throw new PurchaseError('receipt_invalid', 'The answer has no receipt', { file })
    // The buyer has checked that the answer has the form of the operation.
    return readAnswer(body) as T
  }
  return {
    lookup: (company_number) => buy(lookup, { company_number }),
    search: (input) => buy(search, typeof input === 'string' ? { q: input } : input),
    resolve: (input) => buy(resolve, input),
    history: (company_number, options) => buy(history, { company_number, ...options }),
    asOf: (company_number, date) => buy(asOf, { company_number, date }),
    changes: (input) => buy(changes, input),
    batch: (operation, inputs) => buy(batch, { operation, inputs }),
  }
}

/** A bought answer, and the settlement response with its receipt. */
interface Bought {
  body: string
  receipt: BoughtAnswer['receipt']
  settlement: string | undefined
  /** The entry of the purchase. */
  purchase: string
}

/** @throws a PurchaseError, with the code of the answer, for a refusal */
export async function buyThrough(fetch: BuyerFetch, { url, ...init }: PurchaseRequest): Promise<Bought> {
  const response = await fetch(url, init)
  const { status, headers } = response
  const body = await response.text()
  const file = headers.get('Purchase') ?? undefined
  if (status !== 200) {
    const answer = describeAnswer({ status, body })
    const text = `The service answered ${[status, answer.code].filter(Boolean).join(' ')}`
    throw new PurchaseError('service_refused', text, {
      answer,
      outcome: readOutcome(headers),
      ...(file !== undefined && { file }),
    })
  }
  const settlement = headers.get(PAYMENT_HEADERS.response) ?? undefined
  const check = headers.get('Receipt-Check') as BoughtAnswer['receipt']
  return { body, receipt: settlement === undefined ? 'missing' : check, settlement, purchase: file ?? '' }
}

/** The outcome in the headers of an answer of `buyer.fetch`. */
function readOutcome(headers: Headers): Outcome {
  const from = headers.get('Certain-From')
  if (from !== null) return { kind: 'not_sold_later', certainFrom: new Date(from) }
  const kinds = { yes: 'sold', no: 'not_sold', unknown: 'unknown' } as const
  return { kind: kinds[headers.get('Charged') as Charged] }
}
