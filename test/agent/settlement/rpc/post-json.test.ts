/** Requests to remote services: connections, limits, and what is not followed or sent. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { postJson, ReplyError } from '../../../../agent/settlement/rpc/post-json.ts'
import { listen, type ListeningServer } from '../../../support/listen.ts'

const BYTES_MAX = 1_000

describe('a request to a remote service', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let server: Server
  let listening: ListeningServer
  let connections = 0

  beforeEach(async () => {
    connections = 0
    server = createServer((request, response) => void request.resume().on('end', () => answer(request, response)))
    server.on('connection', () => (connections += 1))
    listening = await listen(server)
  })
  afterEach(() => listening.close())

  const send = (options: Partial<Parameters<typeof postJson>[0]> = {}) =>
    postJson({
      url: `${listening.url}/path?query=1`,
      body: {},
      timeoutMs: 5_000,
      bytesMax: BYTES_MAX,
      ...options,
    })
  /** The code of a reply that does not count, or the name of the error. */
  const nameOf = (cause: unknown) =>
    cause instanceof ReplyError ? cause.code : cause instanceof Error ? cause.name : 'no Error'

  it('returns status and JSON, and keeps connections for later requests', async () => {
    const urls: unknown[] = []
    answer = ({ method, url }, response) => {
      urls.push(`${method} ${url}`)
      response.writeHead(402).end('["body"]')
    }
    for (let count = 0; count < 5; count += 1) expect(await send()).to.deep.equal({ status: 402, json: ['body'] })
    expect(urls).to.deep.equal(Array.from({ length: 5 }, () => 'POST /path?query=1'))
    // The pool opens a second connection while it completes the first reply.
    expect(connections).to.be.at.most(2)
  })

  describe('for a server that closes idle connections', () => {
    let bodies: string[]

    beforeEach(() => {
      bodies = []
      server.removeAllListeners('request')
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const receive = async () => {
          bodies.push(await text(request))
          answer(request, response)
        }
        void receive()
      })
    })

    const request = (body: number) => ({ url: listening.url, body, timeoutMs: 5_000, bytesMax: BYTES_MAX })

    it('[5.8.2] repeats once over a new connection what may be repeated, and nothing else', async () => {
      for (const [isRepeatable, received] of [
        [true, ['1', '2', '2']],
        [false, ['1', '2']],
      ] as const) {
        bodies = []
        answer = ({ socket }, response) => {
          if (bodies.length === 2) socket.resetAndDestroy()
          else response.end('"done"')
        }
        expect((await postJson({ ...request(1), isRepeatable })).status).to.equal(200)
        const second = await postJson({ ...request(2), isRepeatable }).then(({ status }) => status, nameOf)
        expect(second).to.equal(isRepeatable ? 200 : 'UNREACHABLE')
        expect(bodies).to.deep.equal(received)
      }
    })

    it('[5.8.2] repeats nothing twice, and nothing whose answer has begun', async () => {
      answer = ({ socket }) => void socket.resetAndDestroy()
      expect(await postJson({ ...request(1), isRepeatable: true }).catch(nameOf)).to.be.a('string')
      expect(bodies).to.deep.equal(['1', '1'])
      bodies = []
      answer = ({ socket }, response) => {
        response.writeHead(200, { 'Content-Length': 9 })
        response.write('half', () => socket.resetAndDestroy())
      }
      expect(await postJson({ ...request(2), isRepeatable: true }).catch(nameOf)).to.be.a('string')
      expect(bodies).to.deep.equal(['2'])
    })
  })

  it('follows no redirect and returns no cookie', async () => {
    const cookies: unknown[] = []
    answer = ({ headers }, response) => {
      cookies.push(headers.cookie)
      response.writeHead(307, { Location: '/elsewhere', 'Set-Cookie': 'a=b' }).end()
    }
    expect(await send().catch(nameOf)).to.equal('UNREACHABLE')
    expect(await send().catch(nameOf)).to.equal('UNREACHABLE')
    expect(cookies).to.deep.equal([undefined, undefined])
  })

  it('accepts the longest reply, refuses a longer one that never ends, and sends the next request', async () => {
    answer = (_, response) => void response.end('1'.padEnd(BYTES_MAX))
    expect((await send()).json).to.equal(1)
    let closed: Promise<unknown> | undefined
    answer = (request, response) => {
      closed = once(request.socket, 'close')
      response.write('1'.padEnd(BYTES_MAX + 1))
    }
    expect(await send().catch(nameOf)).to.equal('TOO_LARGE')
    await closed
    answer = (_, response) => void response.end('1')
    expect((await send()).status).to.equal(200)
  })

  for (const [when, begin] of [
    ['before the headers', () => undefined],
    ['within the headers', (response: ServerResponse) => void response.socket?.write('HTTP/1.1 200 OK\r\nA: ')],
    ['within the body', (response: ServerResponse) => void response.write('x')],
  ] as const) {
    it(`ends a reply that stops ${when} at the time limit, and closes its connection`, async () => {
      let closed: Promise<unknown> | undefined
      answer = (request, response) => {
        closed = once(request.socket, 'close')
        begin(response)
      }
      expect(await send({ timeoutMs: 100 }).catch(nameOf)).to.equal('TimeoutError')
      await closed
    })
  }

  it('ends at the reason of the signal, and sends nothing if it is aborted before', async () => {
    const controller = new AbortController()
    const reason = new Error('stopped')
    answer = () => controller.abort(reason)
    expect(await send({ signal: controller.signal }).catch((cause: unknown) => cause)).to.equal(reason)
    answer = () => expect.fail('sent')
    expect(await send({ signal: controller.signal }).catch((cause: unknown) => cause)).to.equal(reason)
    expect(connections).to.equal(1)
  })
})
