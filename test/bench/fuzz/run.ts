/** Sends generated requests to a whole service and gathers what was wrong with the answers. */
import fc from 'fast-check'
import type { Description } from '../../support/described.ts'
import type { FakedService } from '../../support/faked-service.ts'
import { signedPayment } from '../../support/payments.ts'
import { judge } from './judge.ts'
import { requestsOf, type FuzzRequest } from './requests.ts'
import { Wire } from './wire.ts'

export interface FuzzResult {
  requests: number
  replies: Map<number, number>
  /** By what was wrong: how often, and the first request that showed it, as text. */
  faults: Map<string, { count: number; first: string }>
}

const CONNECTIONS = 16
/** How many are generated at once. */
const BATCH = 1_000
const SHOWN_CHARACTERS_MAX = 600

interface FuzzOptions {
  runs: number
  seed: number
  /** After each batch, with what was sent so far. */
  onBatch?: (sent: number) => void
}

export async function fuzz(service: FakedService, { runs, seed, onBatch }: FuzzOptions): Promise<FuzzResult> {
  const description = await descriptionOf(service)
  const payment = await signedPayment({ signed: { nonce: `0x${'77'.repeat(32)}` } })
  const paths = Object.keys(description.paths)
  const requests = requestsOf({ paths, payment, extensionUri: `${service.url}/docs#http-x402-v1` })
  const result: FuzzResult = { requests: 0, replies: new Map(), faults: new Map() }
  const wires = Array.from({ length: CONNECTIONS }, () => new Wire(Number(new URL(service.url).port)))

  function note(fault: string | undefined, { bytes }: FuzzRequest): void {
    if (fault === undefined) return
    const known = result.faults.get(fault)
    const first = known?.first ?? JSON.stringify(bytes.toString('latin1')).slice(0, SHOWN_CHARACTERS_MAX)
    result.faults.set(fault, { count: (known?.count ?? 0) + 1, first })
  }

  async function one(wire: Wire, request: FuzzRequest): Promise<void> {
    const { bytes, method, isFramed } = request
    const reply = isFramed ? await wire.ask(bytes, method) : undefined
    const replies = isFramed ? (reply ? [reply] : []) : await wire.provoke(bytes, method)
    if (isFramed && !reply) note('there is no answer', request)
    for (const each of replies) {
      result.replies.set(each.status, (result.replies.get(each.status) ?? 0) + 1)
      note(judge(description, request, each), request)
    }
    result.requests += 1
  }

  for (let sent = 0; sent < runs; sent += BATCH) {
    const batch = fc.sample(requests, { numRuns: Math.min(BATCH, runs - sent), seed: seed + sent })
    const worker = async (wire: Wire) => {
      for (let request = batch.pop(); request; request = batch.pop()) await one(wire, request)
    }
    await Promise.all(wires.map(worker))
    onBatch?.(result.requests)
  }
  for (const wire of wires) wire.close()
  return result
}

/** Without what it describes and this version does not have yet. */
async function descriptionOf({ url }: FakedService): Promise<Description> {
  const description = (await (await fetch(`${url}/openapi.json`)).json()) as Description
  for (const path of Object.keys(description.paths)) {
    if ((await fetch(url + path)).status === 404) delete description.paths[path]
  }
  return description
}
