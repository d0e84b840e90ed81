/** Plays the register's portal on a loopback address: each path answers as a test says, and what was asked is kept. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Portal {
  url: string
  /** The requests so far, as method and path, with their headers. */
  asked: { path: string; headers: IncomingMessage['headers'] }[]
  /** What the path answers from now on. */
  on(path: string, answer: RequestListener): void
  close(): Promise<void>
}

export async function startPortal(host = '127.0.0.1'): Promise<Portal> {
  const routes = new Map<string, RequestListener>()
  const asked: Portal['asked'] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push({ path, headers: request.headers })
    const answer = routes.get(path)
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => void server.listen(0, host, resolve))
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    asked,
    on: (path, answer) => void routes.set(path, answer),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The whole body at once. */
export function sends(body: Buffer | string, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => void response.writeHead(200, headers).end(body)
}

/** An archive whose server knows whether it has changed. */
export function sendsUnlessKnown(body: Buffer | string, headers: { etag?: string; 'last-modified'?: string }) {
  return ((request, response) => {
    const { 'if-none-match': etag, 'if-modified-since': since } = request.headers
    const isKnown =
      etag === undefined ? since !== undefined && since === headers['last-modified'] : etag === headers.etag
    if (isKnown) response.writeHead(304, headers).end()
    else response.writeHead(200, headers).end(body)
  }) satisfies RequestListener
}

export function redirects(to: string, status = 302): RequestListener {
  return (_request, response) => void response.writeHead(status, { location: to }).end()
}

export function answers(result: object): RequestListener {
  return sends(JSON.stringify({ success: true, result }), { 'content-type': 'application/json' })
}
