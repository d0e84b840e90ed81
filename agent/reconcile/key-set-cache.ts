/** Keeps the key set of a service for a minute, so that a list does not fetch it again for each of its receipts. */
import { FREE_PATHS } from '../operation/paths.ts'

/** A new key is in the key set for an hour before it signs. */
const AGE_MS_MAX = 60_000

type Fetch = typeof globalThis.fetch

export function withKeySetCache(fetch: Fetch, { baseUrl, now }: { baseUrl: string; now: () => Date }): Fetch {
  let kept: { text: string; at: number } | undefined
  return async (input, init) => {
    if (input !== `${baseUrl}${FREE_PATHS.jwks}`) return fetch(input, init)
    if (kept && now().getTime() - kept.at < AGE_MS_MAX) return new Response(kept.text)
    const response = await fetch(input, init)
    if (response.status !== 200) return response
    kept = { text: await response.text(), at: now().getTime() }
    return new Response(kept.text)
  }
}
