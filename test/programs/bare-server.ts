/**
 * The baselines of the HTTP benchmarks: a server of node:http, or of Express, that sends fixed responses. Run by `fork`
 * with the responses as JSON; sends its URL to the parent process.
 */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { readArguments } from '../support/arguments.ts'

export interface BareResponse {
  path: string
  status: number
  headers: Record<string, string>
  bytes: number
}

const [json = '[]', framework] = readArguments('[RESPONSES] [express]')
const responses = new Map(
  (JSON.parse(json) as BareResponse[]).map(({ path, bytes, ...rest }) => [
    path,
    { ...rest, body: Buffer.alloc(bytes, 'x') },
  ]),
)

const answer: RequestListener = (request, response) => {
  const found = responses.get(request.url ?? '')
  response.writeHead(found?.status ?? 404, found?.headers).end(found?.body)
}

const server = createServer(framework === 'express' ? express().get('/:path', answer) : answer)
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.on('SIGTERM', () => process.exit())
