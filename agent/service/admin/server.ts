/** The admin address: `/metrics`, `/livez` and `/readyz`, for the operator's own network only. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { isIP, type AddressInfo, type Socket } from 'node:net'
import { hostname } from 'node:os'
import type { Registry } from 'prom-client'
import type { Report, Timer } from '../../../store/base/runtime.ts'
import { datasetStatus, type Catalog } from '../../../store/dataset/catalog.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import type { Chain } from '../../settlement/chain/chain.ts'
import { withDeadline } from '../../settlement/rpc/deadline.ts'
import { toUrlHost } from '../../../store/base/url-policy.ts'

/** A scrape needs one connection. Above this limit the oldest idle connection is closed. */
const CONNECTIONS_MAX = 20
const REQUEST_MS_MAX = 10_000

interface AdminOptions {
  host: string
  port: number
  registry: Registry
  readiness: () => Promise<Record<string, boolean>>
  report: Report
}

/** @throws the system's error when the port cannot be used */
export async function startAdminServer({ host, port, registry, readiness, report }: AdminOptions) {
  const routes: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/livez': async (response) => send(response, 200, 'text/plain', 'ok\n'),
    '/readyz': async (response) => {
      const checks = await readiness()
      const isReady = Object.values(checks).every(Boolean)
      send(response, isReady ? 200 : 503, 'application/json', `${JSON.stringify({ ready: isReady, checks })}\n`)
    },
    '/metrics': async (response) => send(response, 200, registry.contentType, await registry.metrics()),
  }
  const connections = new Set<Socket>()
  const busy = new Set<Socket>()
  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX },
    (request, response) => {
      busy.add(request.socket)
      response.once('close', () => busy.delete(request.socket))
      if (!isOwnName(request.headers.host, host)) return send(response, 421, 'text/plain', 'wrong Host\n')
      const route = routes[request.url ?? '']
      if (!route) return send(response, 404, 'text/plain', 'not found\n')
      if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'text/plain', 'use GET\n')
      route(response).catch((cause: unknown) => {
        report('admin_request_failed', cause)
        send(response, 500, 'text/plain', 'failed\n')
      })
    },
  )
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
    if (connections.size <= CONNECTIONS_MAX) return
    // If no other connection is idle, the new one is closed.
    const surplus = [...connections].find((each) => !busy.has(each)) ?? socket
    connections.delete(surplus)
    surplus.destroy()
  })
  server.listen(port, host)
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${toUrlHost(host)}:${bound}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Refuses DNS rebinding, in which the host name of a web page resolves to this address. Such a name has a dot and is
 * not an IP address.
 */
function isOwnName(header: string | undefined, ownHost: string): boolean {
  // A browser always sends one.
  if (header === undefined) return true
  const name = header.replace(/:\d*$/, '').toLowerCase()
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
  return isAddress || /^[\w-]+$/.test(name) || name === ownHost.toLowerCase() || name === hostname().toLowerCase()
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  if (response.headersSent) return
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

/** Shorter than the usual time limit of a probe. */
const CHECK_MS_MAX = 2_000

interface ReadinessParts {
  catalog: Pick<Catalog, 'current'>
  log: ResponseLog
  /** Throws when the disk of the response log is nearly full. */
  checkDisk: () => void
  chain: Chain
  now: () => Date
  timer: Timer
  isStopping: () => boolean
}

/** Whether a service can sell: a fresh dataset, a response log that can be written, and a chain that answers. */
export async function checkServiceReadiness(parts: ReadinessParts): Promise<Record<string, boolean>> {
  const { catalog, log, checkDisk, chain, now, timer, isStopping } = parts
  const succeeds = (work: () => Promise<unknown>) =>
    withDeadline({ timer, milliseconds: CHECK_MS_MAX }, async () => work()).then(
      () => true,
      () => false,
    )
  const [response_log, chainAnswers] = await Promise.all([
    succeeds(async () => {
      checkDisk()
      await log.checkWritable()
    }),
    succeeds(() => chain.observe([])),
  ])
  const source = catalog.current()?.source
  const dataset = source !== undefined && datasetStatus(source, now()) === 'ready'
  return { dataset, response_log, chain: chainAnswers, running: !isStopping() }
}

/** An outage shows in the metrics after this time and that of a check, also while nothing is sold. */
export const MEASURE_MS = 10_000

/**
 * Runs `measure` at once, and `MEASURE_MS` after each run. Returns a function that ends this and waits for the last
 * run.
 * @param measure never rejects
 */
export function repeatMeasurement(measure: () => Promise<unknown>, timer: Timer): () => Promise<unknown> {
  let isStopped = false
  let cancel = () => {}
  const run = async () => {
    await measure()
    if (!isStopped) cancel = timer(() => void (running = run()), MEASURE_MS)
  }
  let running = run()
  return () => {
    isStopped = true
    cancel()
    return running
  }
}
