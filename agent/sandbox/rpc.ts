/** One JSON-RPC call to the embedded chain, which is on this machine and answers at once or not at all. */
import { z } from 'zod'

const RPC_MS_MAX = 5_000

const Reply = z.object({ result: z.unknown(), error: z.object({ message: z.string() }).optional() })

/** @throws when the chain is silent for RPC_MS_MAX, or answers with an error */
export async function rpc(url: string, method: string, ...params: unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(RPC_MS_MAX),
  })
  const { result, error } = Reply.parse(await response.json())
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}
