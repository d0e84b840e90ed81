/** The table of all refusals: code, HTTP status, message, and what the client does next (contract 7.2). */
import type { Source } from '../../store/dataset/source.ts'

interface RefusalDefinition {
  status: number
  /** A fixed sentence. It never contains input, names, payment data or text of another party (contract 7.1). */
  message: string
  advice: string
  /**
   * `unknown`: a payment may have been settled, so the client must not sign another one. `earlier`: the payment was
   * settled before this request.
   */
  charged: 'no' | 'unknown' | 'earlier'
  /** `Retry-After` of a refusal that sets none itself. Every 503 has one (contract 7.7). */
  retryAfterSeconds?: number
}

const CHANGE = 'Change the request.'
const WAIT = 'Wait, then repeat the same request with the same payment.'
const SIGN_AGAIN = 'Read the reason in the quote, then sign a new payment.'
const REPEAT = 'Repeat the same request with the same payment.'
const NEVER_SIGN_AGAIN = 'Repeat the same request with the same payment. Never sign another.'

function define(
  status: number,
  message: string,
  advice: string,
  charged: RefusalDefinition['charged'] = 'no',
): RefusalDefinition {
  return { status, message, advice, charged }
}

function unavailable(
  retryAfterSeconds: number,
  message: string,
  advice: string,
  charged?: RefusalDefinition['charged'],
): RefusalDefinition {
  return { ...define(503, message, advice, charged), retryAfterSeconds }
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
  invalid_company_number: define(400, 'The company number is not valid.', CHANGE),
  invalid_query: define(400, 'The query is not valid.', CHANGE),
  invalid_body: define(400, 'The body is not valid.', CHANGE),
  duplicate_parameter: define(400, 'A query parameter occurs twice.', CHANGE),
  unexpected_input: define(400, 'This route accepts no query string or no body, but the request has one.', CHANGE),
  query_too_broad: define(400, 'The query took too long. Use a more specific name or add a filter.', CHANGE),
  batch_too_large: define(400, 'The answer to the batch would be too large.', 'Send fewer inputs.'),
  payment_required: define(402, 'A payment is required.', 'Sign the quote.'),
  payment_invalid: define(402, 'The payment is malformed or differs from the quote.', SIGN_AGAIN),
  payment_rejected: define(402, 'The verification of the payment failed.', SIGN_AGAIN),
  payment_failed: define(402, 'The payment was not settled.', SIGN_AGAIN),
  company_not_found: define(
    404,
    'The current snapshot has no company with this number. Leading zeros are significant.',
    'Use the number exactly as the register writes it: 081615 and 81615 are two numbers.',
  ),
  date_not_covered: define(
    404,
    'No recorded file of the register covers this day.',
    'Ask for a day from the first recorded file to today.',
  ),
  origin_not_allowed: define(403, 'Web pages of other origins cannot use this path.', CHANGE),
  not_found: define(404, 'This path does not exist.', CHANGE),
  method_not_allowed: define(405, 'This path does not support the method.', CHANGE),
  source_data_conflict: define(
    409,
    'The source has several different records with this number, so none is returned.',
    'Try again when a newer snapshot is available.',
  ),
  payment_replay_conflict: define(
    409,
    'This payment belongs to another request.',
    'Repeat the request that the payment was made for, or sign a new payment.',
  ),
  payment_already_settled: define(
    409,
    'This payment was settled before, and no answer is stored for it here.',
    'Do not sign another payment. Keep this one and contact the operator.',
    'earlier',
  ),
  body_too_large: define(413, 'The body is too large.', CHANGE),
  unsupported_media_type: define(415, 'The body must be uncompressed JSON, sent as application/json.', CHANGE),
  rate_limited: define(429, 'The shared request limit is reached.', WAIT),
  internal_error: define(500, 'The service failed.', REPEAT, 'unknown'),
  gateway_unavailable: define(502, 'The transport did not deliver the answer.', NEVER_SIGN_AGAIN, 'unknown'),
  dataset_unavailable: unavailable(DATASET_RETRY_SECONDS, 'No dataset is loaded.', WAIT),
  dataset_stale: unavailable(
    DATASET_RETRY_SECONDS,
    'The last successful retrieval of the dataset is more than 72 hours ago.',
    WAIT,
  ),
  payment_verification_unavailable: unavailable(
    REMOTE_RETRY_SECONDS,
    'The payment cannot be verified at the moment.',
    WAIT,
  ),
  clock_wrong: unavailable(
    CLOCK_RETRY_SECONDS,
    'The clock of the service is wrong, so it cannot check payments.',
    'Repeat the same request with the same payment while the payment is valid. Its operator must set the clock.',
  ),
  overloaded: unavailable(
    OVERLOAD_RETRY_SECONDS,
    'The service is starting, is stopping, or has too many requests in progress.',
    WAIT,
  ),
  registry_unchecked: unavailable(REMOTE_RETRY_SECONDS, 'The registry cannot be read at the moment.', WAIT),
  payment_outcome_unknown: unavailable(
    OUTCOME_RETRY_SECONDS,
    'The outcome of the payment is not known yet.',
    NEVER_SIGN_AGAIN,
    'unknown',
  ),
  malformed_request: define(
    400,
    'The request is not valid HTTP/1.1. Percent-encode characters outside ASCII in the URL.',
    CHANGE,
  ),
  request_timeout: define(408, 'The request did not arrive in time.', REPEAT),
  headers_too_large: define(431, 'The headers are too large or too many.', CHANGE),
} satisfies Record<string, RefusalDefinition>

export type RefusalCode = keyof typeof REFUSALS

/** Errors before a request is routed (contract 7.3). Every route can answer them. */
export const WIRE_CODES = ['malformed_request', 'request_timeout', 'headers_too_large'] as const

export interface Refusal {
  code: RefusalCode
  /** Replaces the message of the code, as another fixed sentence. */
  message?: string
  /** The field and the rule, as a fixed text that never repeats input. */
  detail?: string
  /** Default: the value of the code's definition. */
  retryAfterSeconds?: number
  /** The `Allow` header of a 405. */
  allow?: string
  /** Makes the body a `DataError` (contract 2.8). */
  provenance?: { source: Source; snapshot_id: string }
}

const DATA_ERRORS: ReadonlySet<RefusalCode> = new Set([
  'company_not_found',
  'date_not_covered',
  'source_data_conflict',
  'payment_replay_conflict',
  'payment_already_settled',
])

/** Whether the refusal of an item is a result of its batch (contract 4.11.3). Any other refuses the batch. */
export function isBatchResult(code: RefusalCode): boolean {
  return code === 'company_not_found' || code === 'source_data_conflict'
}

/** Whether the body is a `DataError`, so that the refusal needs a provenance (contract 2.8). */
export function isDataError(code: RefusalCode): boolean {
  return DATA_ERRORS.has(code)
}

/** The response body of a refusal: `ErrorResponse` or `DataError` (contract 2.8). */
export function refusalBody({ code, message = REFUSALS[code].message, detail, provenance }: Refusal) {
  const error = { code, message: detail === undefined ? message : `${message.slice(0, -1)}: ${detail}.` }
  return provenance ? { company: null, error, ...provenance } : { error }
}
