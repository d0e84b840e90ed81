/**
 * A facilitator elsewhere, asked over HTTP (x402 v2, facilitator interface). x402's own client follows redirects, takes
 * bodies of any size and waits 90 s; this one does none of that. It hands on what was answered explicitly, which
 * payments/facilitator then checks field by field, and throws for everything else: the outcome is then not known.
 */
import type { FacilitatorClient } from '@x402/core/server'
import { X402_VERSION } from './terms.ts'
import { postJson, ReplyError } from './post-json.ts'

/** Over connection, headers and body of one call; below the 65 s that an A2A call may take in all (spec 8). */
const FACILITATOR_TIMEOUT_MS = 30_000
const REPLY_BYTES_MAX = 64 * 1024

/**
 * Statuses with which facilitators say a refusal. Any other failure of theirs comes from somewhere on the way or from
 * the middle of their work, whatever its body says.
 */
const REFUSING: ReadonlySet<number> = new Set([400, 402, 422])

type Verb = 'verify' | 'settle'

export interface RemoteFacilitator {
  /** Without a slash at its end. */
  url: string
  /** The `Authorization` header of a call, if it needs one; asked for each time, as some are good for a minute only. */
  authorization?: (verb: Verb) => string | undefined
  timeoutMs?: number
}

export function openRemoteFacilitator(remote: RemoteFacilitator): FacilitatorClient {
  async function ask(verb: Verb, payment: unknown, requirements: unknown): Promise<unknown> {
    const authorization = remote.authorization?.(verb)
    const { status, json } = await postJson({
      url: `${remote.url}/${verb}`,
      headers: { Accept: 'application/json', ...(authorization !== undefined && { Authorization: authorization }) },
      body: { x402Version: X402_VERSION, paymentPayload: payment, paymentRequirements: requirements },
      timeoutMs: remote.timeoutMs ?? FACILITATOR_TIMEOUT_MS,
      bytesMax: REPLY_BYTES_MAX,
      isTypeChecked: true,
    })
    if (status === 200 || (REFUSING.has(status) && isRefusal(json))) return json
    throw new ReplyError(`STATUS_${status}`)
  }
  return {
    // What these hold is not what their types say, and is treated so: payments/facilitator parses it.
    verify: async (payment, requirements) => (await ask('verify', payment, requirements)) as never,
    settle: async (payment, requirements) => (await ask('settle', payment, requirements)) as never,
    // Quotes are made from constants and must not depend on a facilitator, so it is never asked what it supports.
    getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
  }
}

function isRefusal(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false
  return ('success' in json && json.success === false) || ('isValid' in json && json.isValid === false)
}
