/** A method for each operation, in place of its URL. Answers have the types of the operations. */
import type * as z from 'zod'
import { asOf } from '../../operation/as-of.ts'
import { changes, type ChangesResponse } from '../../operation/changes.ts'
import { history, type HistoryResponse } from '../../operation/history.ts'
import { lookup } from '../../operation/lookup.ts'
import { parseOperation, type OperationDefinition } from '../../operation/operation.ts'
import { resolve, type ResolveResponse } from '../../operation/resolve.ts'
import type { companyResponseSchema } from '../../operation/result.ts'
import { search, type SearchResponse } from '../../operation/search.ts'
import { readAnswer } from '../../payment/receipt/read.ts'
import { describeAnswer, PurchaseError, type Charged } from './purchase-error.ts'
import { answersOperation, restRequest } from './purchase-request.ts'

type CompanyResponse = z.infer<typeof companyResponseSchema>

type Input<Definition extends OperationDefinition> = z.input<Definition['inputSchema']>

/** Each throws a PurchaseError unless the answer was bought; a refusal has its code in `answer.code`. */
export interface BuyerMethods {
  lookup(companyNumber: string): Promise<CompanyResponse>
  search(input: string | Input<typeof search>): Promise<SearchResponse>
  resolve(input: Input<typeof resolve>): Promise<ResolveResponse>
  history(companyNumber: string, options?: { before?: string }): Promise<HistoryResponse>
  /** @param date YYYY-MM-DD */
  asOf(companyNumber: string, date: string): Promise<CompanyResponse>
  changes(input: Input<typeof changes>): Promise<ChangesResponse>
}

export function createMethods(
  baseUrl: string | undefined,
  fetch: (url: string, init: RequestInit) => Promise<Response>,
): BuyerMethods {
  const buy = async <T>(definition: OperationDefinition, input: object): Promise<T> => {
    if (baseUrl === undefined) throw new Error('url is missing: the URL of the service')
    const present = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    const parsed = parseOperation(definition, present)
    if (parsed.kind === 'invalid') {
      const { field, rule } = parsed.fault
      throw new PurchaseError('request_unsupported', `${field ?? 'The input'} ${rule}. Nothing was signed`)
    }
    const { url, ...init } = restRequest(baseUrl, parsed.operation)
    const response = await fetch(url, init)
    const body = await response.text()
    requireBought(response, body)
    const answer = readAnswer(body)
    if (answersOperation(parsed.operation, answer)) return answer as T
    throw new PurchaseError('answer_unexpected', 'The answer has another form or another subject')
  }
  return {
    lookup: (company_number) => buy(lookup, { company_number }),
    search: (input) => buy(search, typeof input === 'string' ? { q: input } : input),
    resolve: (input) => buy(resolve, input),
    history: (company_number, options) => buy(history, { company_number, ...options }),
    asOf: (company_number, date) => buy(asOf, { company_number, date }),
    changes: (input) => buy(changes, input),
  }
}

function requireBought({ status, headers }: Response, body: string): void {
  const file = headers.get('Purchase') ?? undefined
  const of = file === undefined ? {} : { file }
  if (status !== 200) {
    const answer = describeAnswer({ status, body })
    const text = `The service answered ${[status, answer.code].filter(Boolean).join(' ')}`
    const charged = headers.get('Charged') as Charged
    throw new PurchaseError('service_refused', text, { answer, charged, ...of })
  }
  if (headers.get('Receipt-Check') === 'missing')
    throw new PurchaseError('receipt_invalid', 'The answer has no receipt', of)
}
