/**
 * HTTP client for a remote facilitator (x402 v2). It returns explicit answers only, which `facilitator.ts` then checks.
 * Otherwise it throws, and the outcome is unknown. Unlike the x402 client library, it follows no redirect, bounds the
 * reply, and has a time limit.
 */
import type { FacilitatorClient } from '@x402/core/server'
import { postJson, ReplyError } from '../rpc/post-json.ts'
import { FACILITATOR_MS_MAX } from '../rpc/time-limits.ts'
import { X402_VERSION } from '../../payment/terms.ts'

const REPLY_BYTES_MAX = 64 * 1024

/** Facilitators refuse with these statuses. Any other error status may come from a proxy or after broadcast. */
const REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 402, 422])

/** Returns the `Authorization` header of a call, or undefined if the facilitator needs none. */
type Authorization = (method: 'GET' | 'POST', url: string) => Promise<string | undefined>

interface RemoteFacilitatorOptions {
  /** Without a trailing slash. */
  url: string
  /** The `Authorization` header of one call. Called each time, because tokens can be short-lived. */
  authorization?: Authorization
  timeoutMs?: number
  /** For `verify`. Default: `timeoutMs`. */
  verifyTimeoutMs?: number
}

export function openRemoteFacilitator(options: RemoteFacilitatorOptions): Pick<FacilitatorClient, 'verify' | 'settle'> {
  const { url, timeoutMs = FACILITATOR_MS_MAX, verifyTimeoutMs = timeoutMs } = options
  async function post(endpoint: 'verify' | 'settle', payment: unknown, requirements: unknown): Promise<unknown> {
    const authorization = await options.authorization?.('POST', `${url}/${endpoint}`)
    const { status, json } = await postJson({
      url: `${url}/${endpoint}`,
      headers: authorization === undefined ? {} : { Authorization: authorization },
      body: { x402Version: X402_VERSION, paymentPayload: payment, paymentRequirements: requirements },
      timeoutMs: endpoint === 'verify' ? verifyTimeoutMs : timeoutMs,
      bytesMax: REPLY_BYTES_MAX,
      // A settlement that is sent twice could be refused because of itself.
      isRepeatable: endpoint === 'verify',
    })
    if (status === 200 || (REFUSAL_STATUSES.has(status) && isRefusal(json))) return json
    throw new ReplyError(`STATUS_${status}`)
  }
  return {
    // The replies are not validated here: `facilitator.ts` parses them.
    verify: async (payment, requirements) => (await post('verify', payment, requirements)) as never,
    settle: async (payment, requirements) => (await post('settle', payment, requirements)) as never,
  }
}

function isRefusal(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false
  return ('success' in json && json.success === false) || ('isValid' in json && json.isValid === false)
}
