/** The admin address: `/metrics`, `/livez` and `/readyz`, for the operator's own network only. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { isIP, type AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import express, { type ErrorRequestHandler } from 'express'
import type { Registry } from 'prom-client'
import type { Report } from '../../../base/runtime.ts'
import { toUrlHost } from '../../../base/url-policy.ts'

/** A scrape needs one connection. A connection that sends no request is closed after `REQUEST_MS_MAX`. */
export const CONNECTIONS_MAX = 200
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
  const app = express().disable('x-powered-by').disable('etag')
  app.use((request, response, next) => {
    response.set('Cache-Control', 'no-store')
    if (isOwnName(request.headers.host, host)) next()
    else response.status(421).type('txt').send('wrong Host\n')
  })
  app.get('/livez', (_, response) => void response.type('txt').send('ok\n'))
  app.get('/readyz', async (_, response) => {
    const checks = await readiness()
    const ready = Object.values(checks).every(Boolean)
    response.status(ready ? 200 : 503).json({ ready, checks })
  })
  app.get('/metrics', async (_, response) => void response.type(registry.contentType).send(await registry.metrics()))
  const onError: ErrorRequestHandler = (cause, _, response, _next) => {
    report('admin_request_failed', cause)
    response.status(500).type('txt').send('failed\n')
  }
  app.use(onError)
  const times = { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX, connectionsCheckingInterval: 1_000 }
  const server = createServer(times, app)
  server.maxConnections = CONNECTIONS_MAX
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
