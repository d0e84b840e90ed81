/** Sends generated requests to the whole service and collects the faults of its responses. */
import fc from 'fast-check'
import type { OpenApiDescription } from '../../support/openapi-check.ts'
import type { FakedService } from '../../support/faked-service.ts'
import { signedPayment } from '../../support/payments.ts'
import { findFault } from './find-fault.ts'
import { requestsOf, type FuzzRequest } from './requests.ts'
import { RawConnection } from './raw-connection.ts'

export interface FuzzResult {
  requests: number
  responses: Map<number, number>
  /** By fault: how often it occurred, and the first request as text. */
  faults: Map<string, { count: number; first: string }>
}

const CONNECTIONS = 16
/** Requests that are generated at a time. */
const BATCH = 1_000
const SHOWN_CHARACTERS_MAX = 600

interface FuzzOptions {
  runs: number
  seed: number
  /** Called after each batch with the number of requests sent. */
  onBatch?: (sent: number) => void
}

export async function fuzz(service: FakedService, { runs, seed, onBatch }: FuzzOptions): Promise<FuzzResult> {
  const description = await descriptionOf(service)
  const payment = await signedPayment({ signed: { nonce: `0x${'77'.repeat(32)}` } })
  const paths = Object.keys(description.paths)
  const requests = requestsOf({ paths, payment, extensionUri: `${service.url}/docs#http-x402-v1` })
  const result: FuzzResult = { requests: 0, responses: new Map(), faults: new Map() }
  const connections = Array.from({ length: CONNECTIONS }, () => new RawConnection(Number(new URL(service.url).port)))

  function note(fault: string | undefined, { bytes }: FuzzRequest): void {
    if (fault === undefined) return
    const known = result.faults.get(fault)
    const first = known?.first ?? JSON.stringify(bytes.toString('latin1')).slice(0, SHOWN_CHARACTERS_MAX)
    result.faults.set(fault, { count: (known?.count ?? 0) + 1, first })
  }

  async function one(connection: RawConnection, request: FuzzRequest): Promise<void> {
    const { bytes, method, isFramed } = request
    const response = isFramed ? await connection.send(bytes, method) : undefined
    const responses = isFramed ? (response ? [response] : []) : await connection.sendUnframed(bytes, method)
    if (isFramed && !response) note('there is no response', request)
    for (const each of responses) {
      result.responses.set(each.status, (result.responses.get(each.status) ?? 0) + 1)
      note(findFault(description, request, each), request)
    }
    result.requests += 1
  }

  for (let sent = 0; sent < runs; sent += BATCH) {
    const batch = fc.sample(requests, { numRuns: Math.min(BATCH, runs - sent), seed: seed + sent })
    const worker = async (connection: RawConnection) => {
      for (let request = batch.pop(); request; request = batch.pop()) await one(connection, request)
    }
    await Promise.all(connections.map(worker))
    onBatch?.(result.requests)
  }
  for (const connection of connections) connection.close()
  return result
}

/** The OpenAPI description without paths that this deployment does not serve. */
async function descriptionOf({ url }: FakedService): Promise<OpenApiDescription> {
  const description = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDescription
  for (const path of Object.keys(description.paths)) {
    if ((await fetch(url + path)).status === 404) delete description.paths[path]
  }
  return description
}
