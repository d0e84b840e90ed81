/** What the HTTP server does with clients that are slow, greedy or wrong, seen on the wire. Its limits are shortened. */
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { WIRE_REFUSALS } from '../../agent/operation/refusal.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'

const MARK = 'Qz7foreign'
const HOST = 'Host: 127.0.0.1\r\n'
const GOOD = `GET /attribution HTTP/1.1\r\n${HOST}\r\n`
const RESOLVE = `POST /api/v1/resolve HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`

const headerLines = (count: number) => 'b: 1\r\n'.repeat(count)

/** Everything that the server sends until it closes. */
async function talk(service: FakedService, ...texts: (string | Buffer)[]): Promise<string> {
  const socket = await dial(service)
  const heard = hear(socket)
  for (const text of texts) socket.write(text)
  return heard
}

async function dial({ url }: FakedService): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: false })
  await new Promise<void>((resolve) => void socket.once('connect', () => resolve()))
  return socket
}

function hear(socket: Socket): Promise<string> {
  let heard = ''
  socket.on('data', (bytes: Buffer) => void (heard += bytes.toString('latin1')))
  socket.on('error', () => undefined)
  return new Promise((resolve) => void socket.once('close', () => resolve(heard)))
}

/** The codes of the answers in a conversation, in order; the status of one that has none. */
function answers(heard: string): (string | number)[] {
  return heard
    .split(/(?=HTTP\/1\.1 [0-9]{3} )/)
    .filter((each) => each !== '')
    .map((each) => /"error":\{"code":"(\w+)"/.exec(each)?.[1] ?? Number(each.slice('HTTP/1.1 '.length, 12)))
}

/** One answer, the last of its connection, as JSON in our words. */
function expectOnly(heard: string, code: string): void {
  const { status, message } = WIRE_REFUSALS.get(code)!
  const [head = '', body = ''] = heard.split('\r\n\r\n')
  const headers = head.toLowerCase().split('\r\n')
  expect(headers[0]).to.match(new RegExp(`^http/1\\.1 ${status} `))
  expect(headers).to.include.members([
    'connection: close',
    'content-type: application/json; charset=utf-8',
    'access-control-allow-origin: *',
    `content-length: ${body.length}`,
  ])
  expect(body).to.equal(JSON.stringify({ error: { code, message } }))
  expect(heard).not.to.include(MARK)
}

describe('the entrance', () => {
  let service: FakedService

  describe('with limits as they are', () => {
    before(async () => {
      service = await startFakedService()
    })
    after(() => service.stop())

    const MALFORMED: [name: string, text: string][] = [
      ['no HTTP at all', `${MARK}\r\n\r\n`],
      ['TLS', '\x16\x03\x01\x02\x00\x01\x00'],
      ['an unknown method', `${MARK} / HTTP/1.1\r\n${HOST}\r\n`],
      ['a method in small letters', `get / HTTP/1.1\r\n${HOST}\r\n`],
      ['another version', `GET / HTTP/9.9\r\n${HOST}\r\n`],
      ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['bare CRs', `GET / HTTP/1.1\r${HOST.trim()}\rX: ${MARK}\r\r`],
      ['a bare CR in a header', `GET / HTTP/1.1\r\n${HOST}X: a\rSet-Cookie: ${MARK}\r\n\r\n`],
      ['a NUL in a header', `GET / HTTP/1.1\r\n${HOST}X: \0${MARK}\r\n\r\n`],
      ['a blank in a header’s name', `GET / HTTP/1.1\r\n${HOST}${MARK} : a\r\n\r\n`],
      ['a control character in the target', `GET /\x01${MARK} HTTP/1.1\r\n${HOST}\r\n`],
      ['no Host', `GET /attribution HTTP/1.1\r\nX: ${MARK}\r\n\r\n`],
      ['two Hosts', `GET /attribution HTTP/1.1\r\n${HOST}host: ${MARK}.example\r\n\r\n`],
      ['the same Host twice', `GET /attribution HTTP/1.1\r\n${HOST}X: a\r\n${HOST}\r\n`],
      ['two Hosts in HTTP/1.0', `GET /attribution HTTP/1.0\r\n${HOST}${HOST}\r\n`],
      ['the same length twice', `${RESOLVE}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
      ['two lengths', `${RESOLVE}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
      ['a length and chunks', `${RESOLVE}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
      ['a length below zero', `${RESOLVE}Content-Length: -2\r\n\r\n{}`],
      ['a chunk without a size', `${RESOLVE}Transfer-Encoding: chunked\r\n\r\n${MARK}\r\n{}\r\n`],
    ]
    for (const [name, text] of MALFORMED)
      it(`${name} is 400, and the end`, async () => expectOnly(await talk(service, text), 'malformed_request'))

    it('headers of more than 16 KiB are 431, however they come', async () => {
      for (const flood of [`X: ${'a'.repeat(16_384)}`, headerLines(3_000), `${MARK.repeat(2_000)}: a`])
        expectOnly(await talk(service, `GET / HTTP/1.1\r\n${HOST}`, flood, '\r\n\r\n'), 'headers_too_large')
      expectOnly(await talk(service, `GET /${'a'.repeat(16_384)} HTTP/1.1\r\n${HOST}\r\n`), 'headers_too_large')
    })

    it('100 headers are good, and 101 are 431', async () => {
      const close = 'Connection: close\r\n'
      const ask = (count: number) => `GET /attribution HTTP/1.1\r\n${HOST}${close}${headerLines(count - 2)}\r\n`
      expect(answers(await talk(service, ask(100)))).to.deep.equal([200])
      expectOnly(await talk(service, ask(101)), 'headers_too_large')
      expectOnly(await talk(service, ask(2_100)), 'headers_too_large')
    })

    it('CONNECT is 405, and an expectation that nobody knows is of no concern', async () => {
      expect(answers(await talk(service, `CONNECT ${MARK}:443 HTTP/1.1\r\n${HOST}\r\n`))).to.deep.equal([
        'method_not_allowed',
      ])
      const expecting = `GET /attribution HTTP/1.1\r\n${HOST}Expect: ${MARK}\r\nConnection: close\r\n\r\n`
      expect(answers(await talk(service, expecting))).to.deep.equal([200])
    })

    it('requests in one go are answered in order, up to a fault among them, whose answer is the last', async () => {
      const quote = `GET /api/v1/company/73848 HTTP/1.1\r\n${HOST}\r\n`
      const heard = await talk(service, `${GOOD}${quote}GET /none HTTP/1.1\r\n${HOST}\r\n${MARK}\r\n\r\n${GOOD}`)
      expect(answers(heard)).to.deep.equal([200, 'payment_required', 'not_found', 'malformed_request'])
    })

    it('a fault behind a request that is in progress does not take its answer', async () => {
      const body = '{"name":"Plain Fixture Limited"}'
      const heard = await talk(service, `${RESOLVE}Content-Length: ${body.length}\r\n\r\n${body}${MARK}\r\n\r\n`)
      expect(answers(heard)).to.deep.equal(['payment_required', 'malformed_request'])
    })

    it('a client that goes in the middle leaves nothing', async () => {
      for (const text of [GOOD.slice(0, 20), `${RESOLVE}Content-Length: 9\r\n\r\n{`]) {
        const socket = await dial(service)
        const heard = hear(socket)
        socket.write(text, () => socket.resetAndDestroy())
        expect(await heard).to.equal('')
      }
      expect(answers(await talk(service, GOOD.replace(HOST, `${HOST}Connection: close\r\n`)))).to.deep.equal([200])
    })

    after(() => expect([service.lines, service.counts()]).to.deep.equal([[], { recorded: 0, settled: 0 }]))
  })

  describe('with times cut short', () => {
    before(async () => {
      service = await startFakedService({ limits: { headersMs: 40, requestMs: 80, keepAliveMs: 40, checkMs: 10 } })
    })
    after(() => service.stop())

    for (const [name, text] of [
      ['a client that says nothing', ''],
      ['headers that do not end', `GET / HTTP/1.1\r\n${HOST}X: ${MARK}`],
      ['a body that does not end', `${RESOLVE}Content-Length: 99\r\n\r\n{"name":"${MARK}`],
      ['chunks that do not end', `${RESOLVE}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam`],
    ] as const)
      it(`${name}: 408, and the end`, async () => expectOnly(await talk(service, text), 'request_timeout'))

    it('headers that come a byte at a time are 408 all the same', async () => {
      const socket = await dial(service)
      const heard = hear(socket)
      socket.write(`GET / HTTP/1.1\r\n${HOST}X: `)
      const drip = setInterval(() => socket.write('a'), 5)
      expectOnly(await heard, 'request_timeout')
      clearInterval(drip)
    })

    it('a connection on which nothing more comes is closed, without a word', async () => {
      expect(answers(await talk(service, GOOD))).to.deep.equal([200])
    })
  })

  describe('with three connections at most', () => {
    before(async () => {
      service = await startFakedService({ limits: { connections: 3 } })
    })
    after(() => service.stop())

    /** On a connection of its own, which is kept; undefined when it was closed unanswered. */
    async function visit(): Promise<Socket | undefined> {
      const socket = await dial(service)
      const closed = hear(socket).then(() => undefined)
      const answered = new Promise<Socket>((resolve) => void socket.once('data', () => resolve(socket)))
      socket.write(GOOD)
      return Promise.race([answered, closed])
    }

    it('those that are kept for later make room for others, and those under way do not', async () => {
      const underWay = await dial(service)
      const heard = hear(underWay)
      underWay.write(GOOD.slice(0, -2))
      // What came before on this service may still be leaving.
      let kept: Socket | undefined
      while (!(kept = await visit()));
      const others: Socket[] = []
      while (!kept.destroyed) others.push(...[await visit()].filter((each) => each !== undefined))
      let last: Socket | undefined
      while (!(last = await visit()));
      for (const socket of [...others, last]) socket.destroy()
      underWay.write('Connection: close\r\n\r\n')
      expect(answers(await heard)).to.deep.equal([200])
    })

    it('while all are under way one more is closed unanswered, and welcome when the others have gone', async () => {
      const held: Socket[] = []
      while (held.length < 3) {
        const socket = await dial(service)
        let isOpen = true
        void hear(socket).then(() => (isOpen = false))
        socket.write(GOOD.slice(0, -2))
        await new Promise((resolve) => void setTimeout(resolve, 20))
        if (isOpen) held.push(socket)
      }
      expect(await visit()).to.equal(undefined)
      for (const socket of held) socket.destroy()
      // The server learns of it in its own time.
      let last: Socket | undefined
      while (!(last = await visit()));
      last.destroy()
    })
  })
})
