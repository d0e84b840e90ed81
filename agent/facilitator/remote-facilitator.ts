/**
 * HTTP client for a remote facilitator (x402 v2). It returns explicit answers only, which payments/facilitator.ts then
 * checks. Otherwise it throws, and the outcome is unknown. Unlike the x402 client library, it follows no redirect, bounds
 * the reply, and has a time limit.
 */
import type { FacilitatorClient } from '@x402/core/server'
import { postJson, ReplyError } from '../rpc/post-json.ts'
import { FACILITATOR_TIMEOUT_MS } from './facilitator.ts'
import { X402_VERSION } from '../payment/terms.ts'

const REPLY_BYTES_MAX = 64 * 1024

/** Facilitators refuse with these statuses. Any other error status may come from a proxy or after broadcast. */
const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 402, 422])

type FacilitatorEndpoint = 'verify' | 'settle'

export interface RemoteFacilitatorOptions {
  /** Without a trailing slash. */
  url: string
  /** Returns the `Authorization` header of one call, if needed. Called each time, because tokens can be short-lived. */
  authorization?: (endpoint: FacilitatorEndpoint) => string | undefined
  timeoutMs?: number
}

export function openRemoteFacilitator(options: RemoteFacilitatorOptions): FacilitatorClient {
  const { url, timeoutMs = FACILITATOR_TIMEOUT_MS } = options
  async function post(endpoint: FacilitatorEndpoint, payment: unknown, requirements: unknown): Promise<unknown> {
    const authorization = options.authorization?.(endpoint)
    const { status, json } = await postJson({
      url: `${url}/${endpoint}`,
      headers: authorization === undefined ? {} : { Authorization: authorization },
      body: { x402Version: X402_VERSION, paymentPayload: payment, paymentRequirements: requirements },
      timeoutMs,
      bytesMax: REPLY_BYTES_MAX,
      isTypeChecked: true,
    })
    if (status === 200 || (REFUSAL_STATUSES.has(status) && isRefusal(json))) return json
    throw new ReplyError(`STATUS_${status}`)
  }
  return {
    // The replies are not validated here: payments/facilitator.ts parses them.
    verify: async (payment, requirements) => (await post('verify', payment, requirements)) as never,
    settle: async (payment, requirements) => (await post('settle', payment, requirements)) as never,
    // Never requested: quotes are built from constants, so that they do not depend on a facilitator.
    getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
  }
}

function isRefusal(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false
  return ('success' in json && json.success === false) || ('isValid' in json && json.isValid === false)
}
