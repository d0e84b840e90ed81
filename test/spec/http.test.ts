/** What HTTP clients, proxies and browsers rely on, on every route. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { startFakedService, type FakedService } from '../support/faked-service.ts'

const HOST = 'Host: 127.0.0.1\r\n'

/** Requests that get every kind of answer, with its status. */
const REQUESTS: [status: number, request: string][] = [
  [200, `GET /api/v1/meta HTTP/1.1\r\n${HOST}\r\n`],
  [200, `GET /docs HTTP/1.1\r\n${HOST}\r\n`],
  [200, `HEAD /openapi.json HTTP/1.1\r\n${HOST}\r\n`],
  [200, `GET /.well-known/agent-card.json HTTP/1.1\r\n${HOST}\r\n`],
  [200, `POST /a2a HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{`],
  [204, `OPTIONS /docs HTTP/1.1\r\n${HOST}\r\n`],
  [400, `GET /api/v1/company/none HTTP/1.1\r\n${HOST}\r\n`],
  [400, `nonsense\r\n\r\n`],
  [402, `GET /api/v1/company/1 HTTP/1.1\r\n${HOST}\r\n`],
  [404, `GET /nowhere HTTP/1.1\r\n${HOST}\r\n`],
  [405, `PUT /docs HTTP/1.1\r\n${HOST}\r\n`],
  [405, `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`],
  [413, `POST /api/v1/resolve HTTP/1.1\r\n${HOST}Content-Length: 5000\r\n\r\n`],
  [431, `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`],
]

/** The head of the first answer. */
async function headOf({ url }: { url: string }, request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(request)
  let heard = ''
  while (!heard.includes('\r\n\r\n')) {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    heard += bytes.toString('latin1')
  }
  socket.destroy()
  return heard.slice(0, heard.indexOf('\r\n\r\n'))
}

describe('the headers of every answer', () => {
  for (const [scheme, policy] of [
    ['https', 'max-age=31536000'],
    ['http', undefined],
  ] as const) {
    describe(`with an ${scheme} BASE_URL`, () => {
      let service: FakedService
      before(async () => {
        service = await startFakedService({ environment: { BASE_URL: `${scheme}://companies.example` } })
      })
      after(() => service.stop())

      for (const [status, request] of REQUESTS) {
        it(`[7.5, 7.8] restrict browsers: ${status} to ${request.slice(0, 40).split(' HTTP')[0]}`, async () => {
          const [first = '', ...lines] = (await headOf(service, request)).split('\r\n')
          expect(first).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
          const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.replace(/^[^:]*: /, '')]))
          expect(headers.size).to.equal(lines.length)
          expect(headers.get('Content-Security-Policy')).to.match(/^default-src 'none';.* frame-ancestors 'none'$/)
          expect(headers.get('X-Content-Type-Options')).to.equal('nosniff')
          expect(headers.get('Access-Control-Allow-Origin')).to.equal('*')
          expect(headers.get('Strict-Transport-Security')).to.equal(policy)
        })
      }
    })
  }
})
