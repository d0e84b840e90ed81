/** Signs for the page of a sandbox, with the sandbox's account. No other service has the route (contract 4.4.2). */
import type { RequestHandler } from 'express'
import { authorizationSchema, type TransferAuthorization } from '../agent/payment/headers.ts'
import { isSameAddress } from '../agent/payment/accounts.ts'
import { SINGLE_OPERATIONS } from '../agent/operation/operations.ts'
import { endsLate } from '../agent/payment/payment-checks.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { headerValues, isJsonRequest, readBody } from '../agent/transport/http/request.ts'
import { PRIVATE_JSON, refuse, renderOutcome, sendResponse } from '../agent/transport/http/response.ts'
import { parseStrictJson } from '../base/strict-json.ts'

/** An authorization has less than 500 bytes. */
const BODY_BYTES_MAX = 1_024
/** The highest price of a request. */
const AMOUNT_MAX = Math.max(
  ...SINGLE_OPERATIONS.map(({ prices, batchInputsMax = 1 }) => prices.testnet * batchInputsMax),
)

interface SandboxOptions {
  account: { address: string; sign: (authorization: TransferAuthorization) => Promise<string> }
  baseUrl: string
  clients: Clients
  payTo: string
  now: () => Date
}

/** Signs only payments that a quote of this service can ask for, and only for a page of its own origin. */
export function sandboxAccountHandler(options: SandboxOptions): RequestHandler {
  const { account, baseUrl, clients, payTo, now } = options
  return async (request, response) => {
    const client = clients.of(request)
    const limited = client.budget.admit({ mayReplay: false })
    if (limited) return sendResponse(response, renderOutcome(limited))
    const body = await readBody(request, { bytesMax: BODY_BYTES_MAX, client })
    const [origin, ...more] = headerValues(request, 'Origin')
    if (origin !== new URL(baseUrl).origin || more.length > 0) return refuse(response, { code: 'origin_not_allowed' })
    if (body.kind === 'refused') return sendResponse(response, renderOutcome(body))
    if (!isJsonRequest(request)) return refuse(response, { code: 'unsupported_media_type' })
    const json = parseStrictJson(body.bytes)
    const { data } = authorizationSchema.safeParse(json.kind === 'valid' ? json.value : undefined)
    if (!data || !isSameAddress(data.from, account.address) || !isSameAddress(data.to, payTo))
      return refuse(response, { code: 'invalid_body', detail: 'it must be an authorization of this account' })
    if (Number(data.value) > AMOUNT_MAX || endsLate(data, now()))
      return refuse(response, { code: 'invalid_body', detail: 'no quote asks for this amount or this time' })
    const signature = await account.sign(data)
    sendResponse(response, { status: 200, headers: PRIVATE_JSON, body: JSON.stringify({ signature }) })
  }
}
