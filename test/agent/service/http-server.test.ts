/** The HTTP server with clients that are slow, exceed limits or send invalid HTTP, observed on the connection. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import type { HttpServerLimits } from '../../../agent/service/http-server.ts'
import { refusalBody, REFUSALS, type RefusalCode } from '../../../agent/operation/refusal.ts'
import { startFakedService, type FakedService } from '../../support/faked-service.ts'

/** Text that no answer may repeat. */
const MARK = 'Qz7foreign'
const HOST = 'Host: 127.0.0.1\r\n'
const GOOD = `GET /attribution HTTP/1.1\r\n${HOST}\r\n`
const RESOLVE = `POST /api/v1/resolve HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`

const headerLines = (count: number) => 'b: 1\r\n'.repeat(count)

/** Sends the texts and returns what the server sends until it closes the connection. */
async function talk(service: FakedService, ...texts: string[]): Promise<string> {
  const socket = await dial(service)
  const heard = hear(socket)
  for (const text of texts) socket.write(text)
  return heard
}

async function dial({ url }: FakedService): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

function hear(socket: Socket): Promise<string> {
  let heard = ''
  socket.on('data', (bytes: Buffer) => void (heard += bytes.toString('latin1')))
  socket.on('error', () => undefined)
  return new Promise((resolve) => void socket.once('close', () => resolve(heard)))
}

/** The error codes of the received answers in order; the status of an answer without a code. */
function answers(heard: string): (string | number)[] {
  return heard
    .split(/(?=HTTP\/1\.1 [0-9]{3} )/)
    .filter((each) => each !== '')
    .map((each) => /"error":\{"code":"(\w+)"/.exec(each)?.[1] ?? Number(each.slice('HTTP/1.1 '.length, 12)))
}

/** Expects one JSON error and a closed connection. */
function expectOnly(heard: string, code: RefusalCode): void {
  const { status } = REFUSALS[code]
  const [head = '', body = ''] = heard.split('\r\n\r\n')
  const headers = head.toLowerCase().split('\r\n')
  expect(headers[0]).to.match(new RegExp(`^http/1\\.1 ${status} `))
  expect(headers).to.include.members([
    'connection: close',
    'content-type: application/json; charset=utf-8',
    'access-control-allow-origin: *',
    `content-length: ${body.length}`,
  ])
  expect(body).to.equal(JSON.stringify(refusalBody({ code })))
  expect(heard).not.to.include(MARK)
}

describe('the HTTP server', () => {
  let service: FakedService

  function useService(limits: Partial<HttpServerLimits>): void {
    before(async () => void (service = await startFakedService({ limits })))
    after(() => service.stop())
  }

  describe('with the default limits', () => {
    useService({})

    const MALFORMED: [name: string, text: string][] = [
      ['not HTTP', `${MARK}\r\n\r\n`],
      ['TLS', '\x16\x03\x01\x02\x00\x01\x00'],
      ['no Host', `GET /attribution HTTP/1.1\r\nX: ${MARK}\r\n\r\n`],
      ['two Hosts', `GET /attribution HTTP/1.1\r\n${HOST}host: ${MARK}.example\r\n\r\n`],
      ['a Host with a path', `GET /attribution HTTP/1.1\r\nHost: 127.0.0.1/${MARK}\r\n\r\n`],
      ['the same length twice', `${RESOLVE}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
      ['a target that is not a path', `GET ${MARK} HTTP/1.1\r\n${HOST}\r\n`],
      ['an absolute target without a valid host', `GET http://[::${MARK}/docs HTTP/1.1\r\n${HOST}\r\n`],
      ['a chunk without a size', `${RESOLVE}Transfer-Encoding: chunked\r\n\r\n${MARK}\r\n{}\r\n`],
    ]
    for (const [name, text] of MALFORMED)
      it(`[7.3] answers 400 and closes: ${name}`, async () =>
        expectOnly(await talk(service, text), 'malformed_request'))

    it('[7.3, 8.10] answers 431 to headers of more than 16 KiB, in one header or many', async () => {
      for (const flood of [`X: ${'a'.repeat(16_384)}`, headerLines(3_000), `${MARK.repeat(2_000)}: a`])
        expectOnly(await talk(service, `GET / HTTP/1.1\r\n${HOST}`, flood, '\r\n\r\n'), 'headers_too_large')
      expectOnly(await talk(service, `GET /${'a'.repeat(16_384)} HTTP/1.1\r\n${HOST}\r\n`), 'headers_too_large')
    })

    it('[8.10] accepts 100 headers and answers 431 to 101', async () => {
      const close = 'Connection: close\r\n'
      const ask = (count: number) => `GET /attribution HTTP/1.1\r\n${HOST}${close}${headerLines(count - 2)}\r\n`
      expect(answers(await talk(service, ask(100)))).to.deep.equal([200])
      expectOnly(await talk(service, ask(101)), 'headers_too_large')
      expectOnly(await talk(service, ask(2_100)), 'headers_too_large')
    })

    it('accepts the hosts that clients send', async () => {
      for (const host of ['', 'localhost', '[::1]:4021', 'a_b.example.:80', '%41.example']) {
        const heard = await talk(service, `GET /attribution HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
        expect(answers(heard), host).to.deep.equal([200])
      }
    })

    it('answers 405 to CONNECT and ignores unknown Expect values', async () => {
      expect(answers(await talk(service, `CONNECT ${MARK}:443 HTTP/1.1\r\n${HOST}\r\n`))).to.deep.equal([
        'method_not_allowed',
      ])
      const expecting = `GET /attribution HTTP/1.1\r\n${HOST}Expect: ${MARK}\r\nConnection: close\r\n\r\n`
      expect(answers(await talk(service, expecting))).to.deep.equal([200])
    })

    it('answers pipelined requests in order until the first fault', async () => {
      const quote = `GET /api/v1/company/73848 HTTP/1.1\r\n${HOST}\r\n`
      const heard = await talk(service, `${GOOD}${quote}GET /none HTTP/1.1\r\n${HOST}\r\n${MARK}\r\n\r\n${GOOD}`)
      expect(answers(heard)).to.deep.equal([200, 'payment_required', 'not_found', 'malformed_request'])
    })

    it('answers the request in progress before a later fault', async () => {
      const body = '{"name":"Plain Fixture Limited"}'
      const heard = await talk(service, `${RESOLVE}Content-Length: ${body.length}\r\n\r\n${body}${MARK}\r\n\r\n`)
      expect(answers(heard)).to.deep.equal(['payment_required', 'malformed_request'])
    })

    for (const coding of ['gzip', 'gzip, chunked', 'identity']) {
      it(`[7.3] answers 400 once and closes: Transfer-Encoding: ${coding}`, async () => {
        const heard = await talk(service, GOOD.replace('\r\n\r\n', `\r\nTransfer-Encoding: ${coding}\r\n\r\n`))
        expect(answers(heard)).to.deep.equal(['malformed_request'])
      })
    }

    for (const [name, text] of [
      ['nothing', ''],
      ['the start of a request', 'GET /attribution HTTP/1.1\r\nHo'],
      ['a body', `${RESOLVE}Content-Length: 99\r\n\r\n{`],
      ['chunks', `${RESOLVE}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam`],
      ['a second body', `${GOOD}${RESOLVE}Content-Length: 99\r\n\r\n{`],
    ] as const) {
      it(`[14.19] ends ${name} at a stop, at the latest after the time limit of a request`, async () => {
        // Without a request in progress the stop does not wait.
        const bodyMs = text.includes('Content-') || text.includes('chunked') ? 500 : 600_000
        const stopping = await startFakedService({
          limits: { headersMs: bodyMs, requestMs: bodyMs, checkMs: 60_000 },
        })
        const socket = await dial(stopping)
        const heard = hear(socket)
        socket.write(text)
        // The answer on another connection shows that the server has accepted this one.
        await talk(stopping, GOOD.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
        await stopping.stop()
        expect(answers(await heard)).to.deep.equal(text.startsWith(GOOD) ? [200] : [])
      })
    }

    after(() => expect([service.failures(), service.counts()]).to.deep.equal([[], { recorded: 0, settled: 0 }]))
  })

  describe('with short time limits', () => {
    useService({ headersMs: 40, requestMs: 80, keepAliveMs: 40, checkMs: 10 })

    for (const [name, text] of [
      ['no data', ''],
      ['headers without an end', `GET / HTTP/1.1\r\n${HOST}X: ${MARK}`],
      ['a body without an end', `${RESOLVE}Content-Length: 99\r\n\r\n{"name":"${MARK}`],
      ['chunks without an end', `${RESOLVE}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam`],
    ] as const)
      it(`[7.3, 8.10] answers 408 and closes: ${name}`, async () =>
        expectOnly(await talk(service, text), 'request_timeout'))

    it('[8.10] closes an idle connection without an answer', async () => {
      expect(answers(await talk(service, GOOD))).to.deep.equal([200])
    })
  })
})
