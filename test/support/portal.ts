/**
 * A fake of the register's portal on a loopback address. A test sets the answer of each path; requests are recorded.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { listen } from './listen.ts'

export type TestPortal = Awaited<ReturnType<typeof startPortal>>

export async function startPortal(host = '127.0.0.1') {
  const routes = new Map<string, RequestListener>()
  /** The requests so far. */
  const requests: { path: string; headers: IncomingMessage['headers'] }[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.push({ path, headers: request.headers })
    const answer = routes.get(path)
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  const listening = await listen(server)
  return {
    url: listening.url.replace('127.0.0.1', host),
    requests,
    /** Sets the answer of a path. */
    on: (path: string, answer: RequestListener) => void routes.set(path, answer),
    close: async () => listening.close(),
  }
}

/** Answers 200 with the body. */
export function sendBody(body: Buffer | string, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => void response.writeHead(200, headers).end(body)
}

/** Answers 304 to a conditional request with the current validators, otherwise 200 with the body. */
export function sendIfChanged(body: Buffer | string, headers: { etag?: string; 'last-modified'?: string }) {
  return ((request, response) => {
    const { 'if-none-match': etag, 'if-modified-since': since } = request.headers
    const isUnchanged =
      etag === undefined ? since !== undefined && since === headers['last-modified'] : etag === headers.etag
    if (isUnchanged) response.writeHead(304, headers).end()
    else response.writeHead(200, headers).end(body)
  }) satisfies RequestListener
}

export function redirectTo(to: string, status = 302): RequestListener {
  return (_request, response) => void response.writeHead(status, { location: to }).end()
}

/** Answers as the CKAN API does. */
export function sendCkanResult(result: object): RequestListener {
  return sendBody(JSON.stringify({ success: true, result }), { 'content-type': 'application/json' })
}
