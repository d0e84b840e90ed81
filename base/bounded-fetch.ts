/** Every request of the buyer: limited in time and size, without redirects. Errors contain no text of the answer. */
import type { z } from 'zod'
import { readUpTo } from './read-body.ts'
import { parseDocument } from './strict-json.ts'

export type Fetch = typeof globalThis.fetch

/**
 * The longest answer over REST: verification and settlement take up to 30 s each, and the reads of the chain before,
 * between and after them about 30 s together. After this time the same payment is sent again.
 */
export const REQUEST_TIMEOUT_MS = 120_000

/** An A2A result has at most 1 MiB (contract 4.5.10). The rest is for the message around it. */
export const ANSWER_BYTES_MAX = 2 * 1024 * 1024

/** undici accepts statuses up to 999; the constructor of `Response` does not. */
const STATUS_MAX = 599

/** @throws if no answer arrives, if it is too large, or if its status is above 599 */
export async function fetchText(
  fetch: Fetch,
  url: string,
  init: RequestInit = {},
): Promise<{ response: Response; text: string }> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  const response = await fetch(url, { ...init, redirect: 'error', signal }).catch((cause: unknown) => {
    throw new Error(`Cannot reach ${new URL(url).origin}`, { cause })
  })
  const bytes = await readUpTo(response.body ?? new Blob([]).stream(), ANSWER_BYTES_MAX).catch((cause: unknown) => {
    throw new Error('The answer did not arrive completely', { cause })
  })
  if (!bytes) throw new Error(`The answer is larger than ${ANSWER_BYTES_MAX} bytes`)
  if (response.status > STATUS_MAX) throw new Error(`The answer has the status ${response.status}`)
  return { response, text: new TextDecoder().decode(bytes) }
}

/**
 * Reads JSON of a known form.
 * @throws an error that names the path, if the answer does not have this form
 */
export async function fetchDocument<T>(
  fetch: Fetch,
  url: string,
  schema: z.ZodType<T>,
  init?: RequestInit,
): Promise<T> {
  const { text } = await fetchText(fetch, url, init)
  const parsed = schema.safeParse(parseDocument(text))
  if (!parsed.success) throw new Error(`The answer of ${new URL(url).pathname} does not have the expected form`)
  return parsed.data
}
