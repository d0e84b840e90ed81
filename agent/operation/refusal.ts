/** The table of all refusals: code, HTTP status, message, and what the client does next (contract 7.2). */
import type { Source } from '../../store/dataset/source.ts'
import { FREE_PATHS } from './endpoints.ts'

/** What the client does next, by its code. */
export const NEXT = {
  change_request: 'Change the request.',
  search: 'Search for the name.',
  history: 'Ask for the history of the number.',
  covered_day: 'Ask for a covered day: history says since when.',
  exact_number: 'Use the number exactly as the register writes it: 081615 and 81615 are two numbers.',
  newer_snapshot: 'Try again when a newer snapshot is available.',
  fewer_inputs: 'Send fewer inputs.',
  narrow: 'Use a more specific name, or add a filter.',
  pay: 'Sign the quote.',
  pay_again: 'Read the reason, then sign a new payment.',
  add_funds: 'Add USDC to the wallet, then sign a new payment.',
  repeat: 'Repeat the same request with the same payment.',
  wait: 'Wait, then repeat the same request with the same payment.',
  never_pay_again: 'Repeat the same request with the same payment. Never sign another.',
  repeat_original: 'Repeat the request that the payment was made for, with the payment as it was sent first.',
  contact_operator: 'Do not sign another payment. Keep this one and contact the operator.',
} as const

export type Next = keyof typeof NEXT

/**
 * After these statuses, and without an answer, the payment may be settled: the client repeats the same request with the
 * same payment. A proxy in front sends some of them too.
 */
export const UNCLEAR_STATUSES = [500, 502, 503, 504] as const

interface RefusalDefinition {
  status: number
  /** A fixed sentence. It never contains input, names, payment data or text of another party (contract 7.4). */
  message: string
  next: Next
  /** The sentence of `next`. */
  advice: string
  /**
   * `unknown`: a payment may have been settled, so the client must not sign another one. `earlier`: the payment was
   * settled before this request.
   */
  charged: 'no' | 'unknown' | 'earlier'
  /** `Retry-After` of a refusal that sets none itself. Every 503 has one (contract 7.8). */
  retryAfterSeconds?: number
}

function define(
  status: number,
  message: string,
  next: Next,
  charged: RefusalDefinition['charged'] = 'no',
): RefusalDefinition {
  return { status, message, next, advice: NEXT[next], charged }
}

function unavailable(
  retryAfterSeconds: number,
  message: string,
  next: Next,
  charged?: RefusalDefinition['charged'],
): RefusalDefinition {
  return { ...define(503, message, next, charged), retryAfterSeconds }
}

/** A failed retrieval is repeated after a minute at the earliest. */
const DATASET_RETRY_SECONDS = 60
/** Outages of a node, a facilitator or a registry often end within seconds. */
const REMOTE_RETRY_SECONDS = 5
/** The chain changes only with a new block, about every two seconds. */
const OUTCOME_RETRY_SECONDS = 5
/** A person must set the clock. */
const CLOCK_RETRY_SECONDS = 60
/** A sale, a start or a stop usually takes a few seconds, and several sales can end in one. */
const OVERLOAD_RETRY_SECONDS = 1

/** Codes are stable: clients depend on them. */
export const REFUSALS = {
  invalid_company_number: define(400, 'The company number is not valid.', 'change_request'),
  invalid_query: define(400, 'The query is not valid.', 'change_request'),
  invalid_body: define(400, 'The body is not valid.', 'change_request'),
  duplicate_parameter: define(400, 'A query parameter occurs twice.', 'change_request'),
  unexpected_input: define(400, 'This route does not accept a part of the request.', 'change_request'),
  query_too_broad: define(400, 'The query took too long.', 'narrow'),
  batch_too_large: define(400, 'The answer to the batch would be too large.', 'fewer_inputs'),
  payment_required: define(402, 'A payment is required.', 'pay'),
  payment_invalid: define(402, 'The payment is malformed or differs from the quote.', 'pay_again'),
  payment_rejected: define(402, 'The verification of the payment failed.', 'pay_again'),
  payment_failed: define(402, 'The payment was not settled.', 'pay_again'),
  company_not_found: define(404, 'No company has this number. Leading zeros are significant.', 'exact_number'),
  date_not_covered: define(404, 'No recorded file of the register covers this day.', 'covered_day'),
  origin_not_allowed: define(403, 'Web pages of other origins cannot use this path.', 'change_request'),
  not_found: define(404, `This path does not exist. See ${FREE_PATHS.llmsTxt}.`, 'change_request'),
  method_not_allowed: define(405, 'This path does not support the method.', 'change_request'),
  source_data_conflict: define(
    409,
    'The source has several different records with this number, so none is returned.',
    'newer_snapshot',
  ),
  payment_replay_conflict: define(
    409,
    'This payment, or its payment id, belongs to another request.',
    'repeat_original',
  ),
  payment_already_settled: define(
    409,
    'This payment was settled before, and no answer is stored for it here.',
    'contact_operator',
    'earlier',
  ),
  body_too_large: define(413, 'The body is too large.', 'change_request'),
  unsupported_media_type: define(
    415,
    'The body must be uncompressed JSON, sent as application/json.',
    'change_request',
  ),
  rate_limited: define(429, 'A limit of the service, of this address or of this payer is reached.', 'wait'),
  internal_error: define(500, 'The service failed.', 'repeat', 'unknown'),
  gateway_unavailable: define(502, 'The transport did not deliver the answer.', 'never_pay_again', 'unknown'),
  dataset_unavailable: unavailable(DATASET_RETRY_SECONDS, 'No dataset is loaded.', 'wait'),
  dataset_stale: unavailable(
    DATASET_RETRY_SECONDS,
    'The last successful retrieval of the dataset is more than 72 hours ago.',
    'wait',
  ),
  payment_verification_unavailable: unavailable(
    REMOTE_RETRY_SECONDS,
    'The payment cannot be verified at the moment.',
    'wait',
  ),
  clock_wrong: unavailable(
    CLOCK_RETRY_SECONDS,
    'The clock of the service is wrong, so it cannot check payments.',
    'wait',
  ),
  overloaded: unavailable(
    OVERLOAD_RETRY_SECONDS,
    'The service is starting, is stopping, has too many requests in progress, or too little space on its disk.',
    'wait',
  ),
  registry_unchecked: unavailable(REMOTE_RETRY_SECONDS, 'The registry cannot be read at the moment.', 'wait'),
  payment_outcome_unknown: unavailable(
    OUTCOME_RETRY_SECONDS,
    'The outcome of the payment is not known yet.',
    'never_pay_again',
    'unknown',
  ),
  malformed_request: define(
    400,
    'The request is not valid HTTP/1.1. Percent-encode characters outside ASCII in the URL.',
    'change_request',
  ),
  request_timeout: define(408, 'The request did not arrive in time.', 'repeat'),
  headers_too_large: define(431, 'The headers are too large or too many.', 'change_request'),
} satisfies Record<string, RefusalDefinition>

export type RefusalCode = keyof typeof REFUSALS

/** The next step in a special case of a code. In all other cases it is that of the code. */
export const NEXT_OF_CASE = {
  /** A name in place of the number. */
  invalid_company_number: 'search',
  /** An earlier file has the number. */
  company_not_found: 'history',
  /** The payer has too little money. */
  payment_rejected: 'add_funds',
} as const satisfies Partial<Record<RefusalCode, Next>>

/** Errors before a request is routed (contract 7.3). Every route can answer them. */
export const WIRE_CODES = ['malformed_request', 'request_timeout', 'headers_too_large'] as const

export interface Refusal {
  code: RefusalCode
  /** Instead of the next step of the code. */
  next?: (typeof NEXT_OF_CASE)[keyof typeof NEXT_OF_CASE]
  /** The member of the input, or of the payment, that is at fault. */
  field?: string | undefined
  /** Why a payment is refused, as in the quote. */
  reason?: string
  /** Replaces the message of the code, as another fixed sentence. */
  message?: string
  /** The field and the rule, as a fixed text that never repeats input. */
  detail?: string
  /** Default: the value of the code's definition. */
  retryAfterSeconds?: number
  /** The `Allow` header of a 405. */
  allow?: string
  /** Makes the body a `DataError` (contract 2.14). */
  provenance?: { source: Source; snapshot_id: string }
}

/** The conflicts that depend on the payment, and not on the data. */
export const PAYMENT_CONFLICTS: ReadonlySet<RefusalCode> = new Set([
  'payment_replay_conflict',
  'payment_already_settled',
])

const DATA_ERRORS: ReadonlySet<RefusalCode> = new Set([
  'company_not_found',
  'date_not_covered',
  'source_data_conflict',
  ...PAYMENT_CONFLICTS,
])

/** Whether the refusal of an item is a result of its batch (contract 4.11.3). Any other refuses the batch. */
export function isBatchResult(code: RefusalCode): boolean {
  return code === 'company_not_found' || code === 'source_data_conflict'
}

/** Whether the body is a `DataError`, so that the refusal needs a provenance (contract 2.14). */
export function isDataError(code: RefusalCode): boolean {
  return DATA_ERRORS.has(code)
}

/**
 * The response body of a refusal: `ErrorResponse` or `DataError` (contract 2.8).
 * @param charged of an item of a batch, which is charged with it
 */
export function refusalBody(refusal: Refusal, charged: RefusalDefinition['charged'] | 'yes' = chargedOf(refusal)) {
  const { code, detail, field, reason, provenance, allow } = refusal
  const { message = REFUSALS[code].message, next = REFUSALS[code].next } = refusal
  const more = detail ?? (allow === undefined ? undefined : `use ${allow}`)
  const error = {
    code,
    message: more === undefined ? message : `${message.slice(0, -1)}: ${more}.`,
    charged,
    next,
    ...(field !== undefined && { field }),
    ...(reason !== undefined && { reason }),
  }
  return provenance ? { company: null, error, ...provenance } : { error }
}

const chargedOf = ({ code }: Refusal) => REFUSALS[code].charged

/** The value of `Retry-After`. Undefined if the refusal has none. */
export function retryAfterOf({ code, retryAfterSeconds }: Refusal): number | undefined {
  return retryAfterSeconds ?? REFUSALS[code].retryAfterSeconds
}
