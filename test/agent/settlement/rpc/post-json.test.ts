/** Requests to remote services: connections, limits, and what is not followed, sent or repeated. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { postJson } from '../../../../agent/settlement/rpc/post-json.ts'
import { listen, type ListeningServer } from '../../../support/listen.ts'

const BYTES_MAX = 1_000

describe('a JSON POST', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let server: Server
  let listening: ListeningServer
  let connections: number
  let bodies: string[]

  beforeEach(async () => {
    connections = 0
    bodies = []
    server = createServer(async (request, response) => {
      bodies.push(await text(request))
      answer(request, response)
    })
    server.on('connection', () => (connections += 1))
    listening = await listen(server)
  })
  afterEach(() => listening.close())

  /** The status, or the code of the error. */
  const send = (options: Partial<Parameters<typeof postJson>[0]> = {}) =>
    postJson({
      url: `${listening.url}/path?query=1`,
      body: {},
      timeoutMs: 5_000,
      bytesMax: BYTES_MAX,
      isTypeChecked: false,
      ...options,
    }).then(
      ({ status }) => status,
      (cause: unknown) => {
        if (!(cause instanceof Error)) return cause
        return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
      },
    )

  it('keeps its connection for later requests', async () => {
    const urls: unknown[] = []
    answer = ({ method, url }, response) => {
      urls.push(`${method} ${url}`)
      response.writeHead(402).end('{}')
    }
    for (let count = 0; count < 5; count += 1) expect(await send()).to.equal(402)
    expect(urls).to.deep.equal(Array.from({ length: 5 }, () => 'POST /path?query=1'))
    // The pool opens a second connection while it completes the first reply.
    expect(connections).to.be.at.most(2)
  })

  for (const [isRepeatable, second, received] of [
    [true, 200, ['1', '2', '2']],
    [false, 'UNREACHABLE', ['1', '2']],
  ] as const)
    it(`[5.8.1] is ${isRepeatable ? '' : 'not '}repeated after an idle connection was closed if it ${isRepeatable ? 'may' : 'must not'} be`, async () => {
      answer = ({ socket }, response) => {
        if (bodies.length === 2) socket.resetAndDestroy()
        else response.end('{}')
      }
      expect(await send({ body: 1, isRepeatable })).to.equal(200)
      expect(await send({ body: 2, isRepeatable })).to.equal(second)
      expect(bodies).to.deep.equal(received)
    })

  it('[5.8.1] is not repeated twice, and not if its answer has begun', async () => {
    answer = ({ socket }) => void socket.resetAndDestroy()
    expect(await send({ body: 1, isRepeatable: true })).to.equal('UNREACHABLE')
    expect(bodies).to.deep.equal(['1', '1'])
    bodies = []
    answer = ({ socket }, response) => {
      response.writeHead(200, { 'Content-Length': 9 })
      response.write('half', () => socket.resetAndDestroy())
    }
    expect(await send({ body: 2, isRepeatable: true })).to.equal('UNREACHABLE')
    expect(bodies).to.deep.equal(['2'])
  })

  it('follows no redirect', async () => {
    answer = (_, response) => void response.writeHead(307, { Location: '/elsewhere' }).end()
    expect(await send()).to.equal('UNREACHABLE')
    expect(bodies).to.have.lengthOf(1)
  })

  it('accepts the longest reply, closes the connection of a longer one, and sends the next request', async () => {
    let closed: Promise<unknown> | undefined
    answer = (_, response) => void response.end('1'.repeat(BYTES_MAX))
    expect(await send()).to.equal(200)
    answer = (request, response) => {
      closed = once(request.socket, 'close')
      response.write('1'.repeat(BYTES_MAX + 1))
    }
    expect(await send()).to.equal('TOO_LARGE')
    await closed
    answer = (_, response) => void response.end('{}')
    expect(await send()).to.equal(200)
  })

  for (const [when, begin] of [
    ['before the headers', () => undefined],
    ['within the headers', (response: ServerResponse) => void response.socket?.write('HTTP/1.1 200 OK\r\nA: ')],
    ['within the body', (response: ServerResponse) => void response.write('1')],
  ] as const)
    it(`ends at the time limit if the reply stops ${when}, and closes its connection`, async () => {
      let closed: Promise<unknown> | undefined
      answer = (request, response) => {
        closed = once(request.socket, 'close')
        begin(response)
      }
      expect(await send({ timeoutMs: 100 })).to.equal('TimeoutError')
      await closed
    })
})
