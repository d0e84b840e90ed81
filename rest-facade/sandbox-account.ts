/** Signs for the page of a sandbox, with the sandbox's account. No other service has the route (contract 4.4.2). */
import { Router } from 'express'
import { authorizationSchema, type TransferAuthorization } from '../agent/payment/headers.ts'
import { isSameAddress } from '../agent/payment/accounts.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { headerValues, isJsonRequest, readBody } from '../agent/transport/http/request.ts'
import { methodNotAllowed, refuse, sendResponse } from '../agent/transport/http/response.ts'
import { renderOutcome } from '../agent/transport/http/render-outcome.ts'
import { parseStrictJson } from '../store/base/strict-json.ts'

const PATH = '/sandbox/signature'
/** An authorization has less than 500 bytes. */
const BODY_BYTES_MAX = 1_024

export interface SandboxAccount {
  address: string
  payTo: string
  sign: (authorization: TransferAuthorization) => Promise<string>
}

interface RouteOptions {
  account: SandboxAccount
  baseUrl: string
  clients: Clients
}

/** Signs only payments to the service itself, for a page of its own origin. */
export function sandboxAccountRoute({ account, baseUrl, clients }: RouteOptions): Router {
  const router = Router({ caseSensitive: true })
  router.post(PATH, async (request, response) => {
    const client = clients.of(request)
    const limited = client.budget.admit({ mayReplay: false })
    if (limited) return sendResponse(response, renderOutcome(limited))
    const body = await readBody(request, { bytesMax: BODY_BYTES_MAX, client })
    const [origin, ...more] = headerValues(request, 'Origin')
    if (origin !== new URL(baseUrl).origin || more.length > 0) return refuse(response, { code: 'origin_not_allowed' })
    if (typeof body === 'string') return refuse(response, { code: body })
    if (!isJsonRequest(request)) return refuse(response, { code: 'unsupported_media_type' })
    const json = parseStrictJson(body)
    const { data } = authorizationSchema.safeParse(json.kind === 'valid' ? json.value : undefined)
    if (!data || !isSameAddress(data.from, account.address) || !isSameAddress(data.to, account.payTo))
      return refuse(response, { code: 'invalid_body', detail: 'it must be an authorization of this account' })
    const signature = await account.sign(data)
    const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'private, no-store' }
    sendResponse(response, { status: 200, headers, body: JSON.stringify({ signature }) })
  })
  router.all(PATH, (_request, response) => refuse(response, methodNotAllowed('POST')))
  return router
}
