/** What the service is measured beside: a server that does nothing but send given answers, on node:http or Express 5. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'

/** As long as one of the service's, in head and body. */
export interface PlainAnswer {
  path: string
  status: number
  headers: Record<string, string>
  bytes: number
}

process.on('message', (answers: PlainAnswer[]) => {
  const prepared = answers.map(({ bytes, ...rest }) => ({ ...rest, body: Buffer.alloc(bytes, 'x') }))
  const byPath = new Map(prepared.map((answer) => [answer.path, answer]))
  const app = express()
  for (const { path, status, headers, body } of prepared) {
    app.get(path, (_request, response) => void response.status(status).set(headers).send(body))
  }
  const server =
    process.argv[2] === 'express'
      ? createServer(app)
      : createServer((request, response) => {
          const answer = byPath.get(request.url ?? '')
          response.writeHead(answer?.status ?? 404, answer?.headers)
          response.end(answer?.body)
        })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
})
