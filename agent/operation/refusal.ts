/** Every refusal of the service on one page: status, sentence, whether it can have cost money, and what a client does. */
import type { Source } from '../../store/source.ts'
import type { InputFault, OperationName } from './schema.ts'

type Charged = 'no' | 'unknown'

interface Row {
  status: number
  message: string
  charged: Charged
  /** What the client does next. */
  advice: string
}

const CHANGE = 'Change the request.'
const WAIT = 'Wait, then repeat the same request with the same payment.'
const SIGN_AGAIN = 'Read the reason in the quote; a new signature is needed.'

/** Codes are stable. A sentence never repeats input, names, payment data or another party's text. */
export const REFUSALS = {
  invalid_company_number: { status: 400, message: 'The company number is not valid.', charged: 'no', advice: CHANGE },
  invalid_query: { status: 400, message: 'The query is not valid.', charged: 'no', advice: CHANGE },
  invalid_body: { status: 400, message: 'The body is not valid.', charged: 'no', advice: CHANGE },
  duplicate_parameter: { status: 400, message: 'A query parameter is given twice.', charged: 'no', advice: CHANGE },
  unexpected_input: {
    status: 400,
    message: 'A query string or a body was sent where this route accepts none.',
    charged: 'no',
    advice: CHANGE,
  },
  query_too_broad: {
    status: 400,
    message: 'The query took too long; narrow the name or add a filter.',
    charged: 'no',
    advice: CHANGE,
  },
  payment_required: { status: 402, message: 'A payment is required.', charged: 'no', advice: 'Sign the quote.' },
  payment_invalid: {
    status: 402,
    message: 'The payment cannot be read or differs from the quote.',
    charged: 'no',
    advice: SIGN_AGAIN,
  },
  payment_rejected: {
    status: 402,
    message: 'The payment was refused on verification.',
    charged: 'no',
    advice: SIGN_AGAIN,
  },
  payment_failed: { status: 402, message: 'The payment was not settled.', charged: 'no', advice: SIGN_AGAIN },
  company_not_found: {
    status: 404,
    message: 'The current snapshot has no company with this number.',
    charged: 'no',
    advice: 'Use the number as the register writes it, without leading zeros.',
  },
  not_found: { status: 404, message: 'There is nothing at this address.', charged: 'no', advice: CHANGE },
  method_not_allowed: { status: 405, message: 'This method is not supported here.', charged: 'no', advice: CHANGE },
  source_data_conflict: {
    status: 409,
    message: 'The source holds several records for this number; none is selected.',
    charged: 'no',
    advice: 'Try again when a newer snapshot is out.',
  },
  payment_replay_conflict: {
    status: 409,
    message: 'This payment already belongs to another request.',
    charged: 'no',
    advice: 'Repeat the request that the payment was made for, or sign a new payment.',
  },
  body_too_large: { status: 413, message: 'The body is too large.', charged: 'no', advice: CHANGE },
  unsupported_media_type: {
    status: 415,
    message: 'The body must be JSON, sent as application/json and not compressed.',
    charged: 'no',
    advice: CHANGE,
  },
  rate_limited: { status: 429, message: 'The shared request limit is reached.', charged: 'no', advice: WAIT },
  internal_error: {
    status: 500,
    message: 'The service failed.',
    charged: 'unknown',
    advice: 'Repeat the same request with the same payment.',
  },
  gateway_unavailable: {
    status: 502,
    message: 'The answer did not arrive in time.',
    charged: 'unknown',
    advice: 'Repeat the same request with the same payment; never sign another.',
  },
  dataset_unavailable: { status: 503, message: 'No dataset is available.', charged: 'no', advice: WAIT },
  dataset_stale: {
    status: 503,
    message: 'The last successful retrieval of the dataset is over 72 hours old.',
    charged: 'no',
    advice: WAIT,
  },
  payment_verification_unavailable: {
    status: 503,
    message: 'The payment could not be verified now.',
    charged: 'no',
    advice: WAIT,
  },
  overloaded: { status: 503, message: 'Too many requests are in progress.', charged: 'no', advice: WAIT },
  registry_unchecked: { status: 503, message: 'The registry could not be read.', charged: 'no', advice: WAIT },
  payment_outcome_unknown: {
    status: 503,
    message: 'The outcome of the payment is not known yet.',
    charged: 'unknown',
    advice: 'Keep the payment and repeat the same request with it; never sign another.',
  },
} as const satisfies Record<string, Row>

export type RefusalCode = keyof typeof REFUSALS

/** What is refused before there is a request to route: no operation has these, and no description of a route names them. */
export const WIRE_REFUSALS: ReadonlyMap<string, { status: number; message: string }> = new Map([
  [
    'malformed_request',
    { status: 400, message: 'The request is not valid HTTP/1.1; a URL has its letters beyond ASCII percent-encoded.' },
  ],
  ['request_timeout', { status: 408, message: 'The request did not arrive in time.' }],
  ['headers_too_large', { status: 431, message: 'The headers are too large or too many.' }],
])

/** A refusal as a value. `detail` is a fixed text of ours; `provenance` makes the body a DataError (spec 2.8). */
export interface Refusal {
  code: RefusalCode
  detail?: string
  retryAfterSeconds?: number
  allow?: string
  provenance?: { source: Source; snapshot_id: string }
}

const INPUT_CODE = {
  lookup: 'invalid_company_number',
  search: 'invalid_query',
  resolve: 'invalid_body',
} as const satisfies Record<OperationName, RefusalCode>

/** The refusal of an operation's input: its code, with the field and the rule. */
export function inputRefusal(operation: OperationName, { field, rule }: InputFault): Refusal {
  return { code: INPUT_CODE[operation], detail: field === null ? rule : `${field} ${rule}` }
}

/** The one body shape of a refusal (spec 2.8). */
export function refusalBody({ code, detail, provenance }: Refusal) {
  const { message } = REFUSALS[code]
  const error = { code, message: detail === undefined ? message : `${message.slice(0, -1)}: ${detail}.` }
  return provenance ? { company: null, error, ...provenance } : { error }
}
