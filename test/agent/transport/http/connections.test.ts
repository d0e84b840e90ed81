/** The limits of connections and pipelined requests, over real connections. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import express, { type Response } from 'express'
import { expect } from 'chai'
import { AddressBudgets } from '../../../../agent/sale/limits/address-budget.ts'
import { readConfig } from '../../../../agent/service/config.ts'
import { REPORT_INTERVAL_MS } from '../../../../agent/transport/http/connections.ts'
import { startHttpServer, type HttpServerLimits } from '../../../../agent/service/http-server.ts'

const get = (path: string, header = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${header}\r\n`
const LAST = get('/last', 'Connection: close\r\n')

/** More than the kernel buffers of a connection hold. */
const LARGE_BYTES = 32 * 1024 * 1024

/**
 * A server whose routes `/held` and `/sale` answer when the test says so, the latter with a payment that is new in the
 * log, `/body` after the body, `/late` before its payment is in the log, and `/large` with a large body. Others answer
 * at once.
 */
async function startTestServer(limits: Partial<HttpServerLimits>) {
  const reports: string[] = []
  const time = { now: 0 }
  const held: Response[] = []
  const large: Response[] = []
  const paths: string[] = []
  const app = express()
  app.use((request, response) => {
    paths.push(request.path)
    if (request.path === '/held') held.push(response)
    else if (request.path === '/sale') {
      server.clients.of(request).noteSale()
      held.push(response)
    } else if (request.path === '/late') {
      const client = server.clients.of(request)
      response.once('finish', () => client.noteSale())
      response.end('late')
    } else if (request.path.endsWith('large')) {
      if (request.path !== '/large') server.clients.of(request).noteSale()
      large.push(response)
      response.end(Buffer.alloc(LARGE_BYTES))
    } else if (request.path === '/body') request.on('end', () => response.end('read')).resume()
    else response.end(request.path)
  })
  const server = await startHttpServer({
    config: readConfig({ PORT: '0' }),
    limits,
    budgets: new AddressBudgets({ perMinute: 1_000, clock: () => time.now }),
    clock: () => time.now,
    report: (event, cause) => void reports.push(`${event}: ${String(cause)}`),
  })
  server.open(app)
  const sockets: Socket[] = []
  return {
    reports,
    /** The time of the server's clock, in milliseconds. */
    time,
    /** The paths of the requests that ran, in order. */
    paths,
    held,
    port: server.port,
    /** The large responses, in order. */
    large,
    close: () => server.close(),
    /** Connects, by default from 127.0.0.1. */
    async dial(text = '', localAddress = '127.0.0.1'): Promise<Client> {
      const socket = connect({ port: server.port, host: '127.0.0.1', localAddress })
      sockets.push(socket)
      const client = new Client(socket)
      const connected = new Promise((resolve) => void socket.once('connect', resolve))
      await Promise.race([connected, client.closed])
      if (text !== '') socket.write(text)
      return client
    },
    async stop() {
      for (const response of held) response.end()
      for (const socket of sockets) socket.destroy()
      await server.close()
    },
  }
}

class Client {
  readonly socket: Socket
  heard = ''
  readonly closed: Promise<void>

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (bytes: Buffer) => void (this.heard += bytes.toString('latin1')))
    socket.on('error', () => undefined)
    this.closed = new Promise((resolve) => void socket.once('close', () => resolve()))
  }

  get answers(): number {
    return this.heard.split('HTTP/1.1 200 ').length - 1
  }

  async answered(count: number): Promise<void> {
    while (this.answers < count) {
      if (this.socket.destroyed) throw new Error('The server closed the connection')
      await Promise.race([once(this.socket, 'data'), this.closed])
    }
  }
}

/** Waits for a condition of the server, which runs in this process. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => void setTimeout(resolve, 1))
}

describe('the connections of the HTTP server', () => {
  let server: Awaited<ReturnType<typeof startTestServer>>

  function useServer(limits: Partial<HttpServerLimits> = {}): void {
    beforeEach(async () => void (server = await startTestServer(limits)))
    afterEach(() => server.stop())
  }

  describe('with pipelined requests', () => {
    useServer({ unsentBytes: 2 * LARGE_BYTES, addressUnsentBytes: 2 * LARGE_BYTES })

    it('[8.14] are reset by the fifth unanswered request', async () => {
      const client = await server.dial(get('/held') + get('/next').repeat(3))
      const other = await server.dial(get('/other'))
      await other.answered(1)
      expect(client.socket.destroyed).to.equal(false)
      client.socket.write(get('/next'))
      await client.closed
      expect(server.paths).to.deep.equal(['/held', '/other'])
      expect(server.reports).to.deep.equal(['connections_reset: pipelining'])
    })

    it('[8.14] accept any number of requests, of which four are unanswered', async () => {
      const client = await server.dial()
      for (let round = 1; round <= 5; round += 1) {
        client.socket.write(get('/next').repeat(4))
        await client.answered(4 * round)
      }
      expect(server.reports).to.deep.equal([])
    })

    it('[8.14] parse no request beyond the limit', async () => {
      const parsed: number[] = []
      const count = (message: unknown) => void parsed.push((message as { socket: Socket }).socket.remotePort ?? 0)
      subscribe('http.server.request.start', count)
      const client = await server.dial()
      const { localPort } = client.socket
      client.socket.write(get('/next').repeat(1_600))
      await client.closed
      unsubscribe('http.server.request.start', count)
      expect(parsed.filter((port) => port === localPort)).to.have.length(4)
      expect(server.paths).to.have.length(1)
    })

    it('wait until the client has read the answer before them', async () => {
      const client = await server.dial()
      client.socket.pause()
      client.socket.write(get('/large') + LAST)
      const other = await server.dial(get('/one') + get('/two'))
      await other.answered(2)
      expect(server.paths).to.have.members(['/large', '/one', '/two'])
      client.socket.resume()
      await client.closed
      expect(server.paths.at(-1)).to.equal('/last')
      expect(client.heard.length).to.be.greaterThan(LARGE_BYTES)
    })

    it('[7.3] end with the answer to a chunked request, also if its body has no end', async () => {
      const head = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`
      const whole = await server.dial(`${head('/body')}1\r\na\r\n0\r\n\r\n${get('/next')}`)
      await whole.closed
      expect(whole.heard).to.match(/\r\nConnection: close\r\n[^]*\r\n\r\nread$/)
      const endless = await server.dial(head('/one'))
      const sending = setInterval(() => endless.socket.write('1\r\na\r\n'.repeat(100)), 1)
      await endless.closed
      clearInterval(sending)
      expect(endless.answers).to.equal(1)
      expect(server.paths).to.deep.equal(['/body', '/one'])
    })
  })

  describe('with the default limits', () => {
    // On a slow machine the connections are not open within the usual time.
    useServer({ headersMs: 600_000, requestMs: 600_000, keepAliveMs: 600_000 })

    it('[8.12] are 2,000; one more resets the one of the address that has been idle longest', async () => {
      const first = await server.dial('', '127.0.3.1')
      for (let count = 2; count < 2_000; count += 1) await server.dial('', `127.0.3.${1 + (count % 20)}`)
      const last = await server.dial(get('/one'))
      await last.answered(1)
      expect(server.reports).to.deep.equal([])
      const surplus = await server.dial(get('/two'))
      await surplus.answered(1)
      await first.closed
      expect(server.reports).to.deep.equal(['connections_reset: surplus'])
    })

    it('[8.12] are 128 of one address; one more resets the one that has been idle longest', async () => {
      const silent = await server.dial()
      const idle: Client[] = []
      for (let count = 2; count <= 128; count += 1) {
        idle.push(await server.dial(get('/one')))
        await idle.at(-1)?.answered(1)
      }
      expect(server.reports).to.deep.equal([])
      for (const gone of [silent, ...idle.slice(0, 2)]) {
        await (await server.dial(get('/two'))).answered(1)
        await gone.closed
      }
      for (const { socket } of idle.slice(2)) expect(socket.destroyed).to.equal(false)
    })
  })

  describe('while newcomers connect', () => {
    useServer()

    it('[6.2.7] begin some requests of others for each newcomer that is accepted', async () => {
      const newcomers = 100
      const others = await Promise.all(
        Array.from({ length: 200 }, (_, at) => server.dial('', `127.0.1.${1 + (at % 2)}`)),
      )
      let accepted = 0
      let begunBefore = 0
      const count = (message: unknown) => {
        if ((message as { socket: Socket }).socket.remoteAddress === '127.0.0.2') accepted += 1
        if (accepted === newcomers) begunBefore = server.paths.length
      }
      subscribe('net.server.socket', count)
      for (const each of others) each.socket.write(get('/one').repeat(4))
      await Promise.all(Array.from({ length: newcomers }, () => server.dial('', '127.0.0.2')))
      await Promise.all(others.map((each) => each.answered(4)))
      await until(() => accepted === newcomers)
      unsubscribe('net.server.socket', count)
      // At least one each, or they would arrive faster than requests begin. Without a bound all 800 begin.
      expect(begunBefore).to.be.within(2 * newcomers, 7 * newcomers)
    })
  })

  describe('with at most two connections of an address', () => {
    useServer({ addressConnections: 2 })

    it('[8.12] answer the request of a further one with 429 if none is idle, and close one without a request', async () => {
      const held = [await server.dial(get('/held')), await server.dial(get('/sale'))]
      await until(() => server.held.length === 2)
      for (const request of [get('/next'), 'POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody']) {
        const asking = await server.dial(request)
        await asking.closed
        expect(asking.heard).to.match(/^HTTP\/1\.1 429 [^]*\}$/)
        expect(asking.heard).to.include('\r\nRetry-After: 1\r\n').and.include('\r\nConnection: close\r\n')
      }
      const late = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
      const closed = once(late, 'close')
      late.write('POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n')
      await once(late, 'data')
      for (let part = 1; part <= 4; part += 1) {
        late.write('a'.repeat(10_000))
        await new Promise((resolve) => void setTimeout(resolve, 20))
      }
      late.end()
      await closed
      const silent = await server.dial()
      await silent.closed
      expect(silent.heard).to.equal('')
      const other = await server.dial(get('/other'), '127.0.0.2')
      await other.answered(1)
      for (const { socket } of held) expect(socket.destroyed).to.equal(false)
      expect(server.paths).to.deep.equal(['/held', '/sale', '/other'])
      server.held[0]?.end()
      await held[0]?.answered(1)
      await (await server.dial(get('/later'))).answered(1)
      await held[0]?.closed
      expect(held[1]?.socket.destroyed).to.equal(false)
    })
  })

  describe('with bounds of unread answers', () => {
    useServer({ addressUnsentBytes: 1.5 * LARGE_BYTES, unsentBytes: 2.5 * LARGE_BYTES })

    /** Asks for a large answer and does not read it. */
    async function neglect(address: string, path = '/large'): Promise<Client> {
      const client = await server.dial('', address)
      client.socket.pause()
      const before = server.paths.length
      client.socket.write(get(path))
      await until(() => server.paths.length > before)
      return client
    }
    const isReset = async (client: Client) => {
      client.socket.resume()
      await client.closed
    }

    it('[8.12] reset the slowest reader of an address, also with a new sale', async () => {
      const slowest = await neglect('127.0.0.2', '/sale-large')
      const second = await neglect('127.0.0.2')
      expect(server.reports).to.deep.equal(['connections_reset: unread'])
      await isReset(slowest)
      second.socket.resume()
      await second.answered(1)
    })

    it('[8.12] reset the slowest reader of all addresses, of the one with the most', async () => {
      const clients = [await neglect('127.0.1.1'), await neglect('127.0.2.1')]
      expect(server.reports).to.deep.equal([])
      clients.push(await neglect('127.0.3.1'))
      expect(server.reports).to.deep.equal(['connections_reset: unread'])
      await isReset(clients[0]!)
      for (const each of clients.slice(1)) {
        each.socket.resume()
        await each.answered(1)
      }
    })

    it('forget the bytes of an answer that is read, and of a connection that has ended', async () => {
      for (let round = 0; round < 3; round += 1) {
        const reader = await neglect('127.0.0.2')
        reader.socket.resume()
        while (reader.heard.length < LARGE_BYTES) await once(reader.socket, 'data')
        const leaver = await neglect('127.0.0.2')
        leaver.socket.resetAndDestroy()
        await once(server.large.at(-1) as Response, 'close')
      }
      expect(server.reports).to.deep.equal([])
    })
  })

  describe('with at most three connections', () => {
    useServer({ connections: 3 })

    it('[8.12] reset the one that has been idle longest when a fourth one opens', async () => {
      const first = await server.dial(get('/one'))
      await first.answered(1)
      const incomplete = await server.dial(get('/incomplete').slice(0, -2))
      const silent = await server.dial()
      for (let count = 2; count <= 5; count += 1) {
        first.socket.write(get('/two'))
        await first.answered(count)
      }
      for (const each of [incomplete, silent]) {
        expect(each.socket.destroyed).to.equal(false)
        const next = await server.dial(get('/next'))
        await next.answered(1)
        await each.closed
      }
      first.socket.write(get('/three'))
      await first.answered(6)
    })

    it('[8.12] reset an idle one whose payment is stored after its answer', async () => {
      const late = await server.dial(get('/late'), '127.0.0.2')
      await late.answered(1)
      await Promise.all([server.dial(get('/held'), '127.0.0.3'), server.dial(get('/held'), '127.0.0.4')])
      await until(() => server.held.length === 2)
      const next = await server.dial(get('/next'), '127.0.0.5')
      await next.answered(1)
      await late.closed
    })

    it('[8.12] keep a connection with a new sale until its answer is sent', async () => {
      const sales = [await server.dial(get('/sale')), await server.dial(get('/sale'))]
      await until(() => server.held.length === 2)
      const idle = await server.dial(get('/one'), '127.0.0.2')
      await idle.answered(1)
      const next = await server.dial(get('/next'), '127.0.0.3')
      await idle.closed
      await next.answered(1)
      for (const response of server.held) response.end()
      for (const each of sales) await each.answered(1)
      const last = await server.dial(get('/last'), '127.0.0.4')
      await last.answered(1)
      await next.closed
      await (await server.dial(get('/more'), '127.0.0.5')).answered(1)
      await sales[0]?.closed
      expect(sales[1]?.socket.destroyed).to.equal(false)
    })

    it('[8.12] reset one that computes an answer if none is idle, before one with a new sale', async () => {
      const sales = [await server.dial(get('/sale')), await server.dial(get('/sale'))]
      const computing = await server.dial(get('/held'), '127.0.5.1')
      await until(() => server.held.length === 3)
      const next = await server.dial(get('/sale'), '127.0.6.1')
      await computing.closed
      await until(() => server.held.length === 4)
      const surplus = await server.dial('', '127.0.7.1')
      await surplus.closed
      expect(server.reports).to.deep.equal(['connections_reset: surplus'])
      for (const response of server.held) response.end()
      for (const each of [...sales, next]) await each.answered(1)
    })

    it('[8.12] reset the oldest request if none is idle, also one whose client does not send the body', async () => {
      const waiting = await server.dial('POST /held HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n')
      await until(() => server.held.length === 1)
      const others = [await server.dial(get('/held')), await server.dial(get('/held'))]
      await until(() => server.held.length === 3)
      await (await server.dial(get('/one'))).answered(1)
      await waiting.closed
      for (const { socket } of others) expect(socket.destroyed).to.equal(false)
    })
  })

  describe('with at most twelve connections', () => {
    useServer({ connections: 12 })
    const dialAll = (count: number, text: string, address: string) =>
      Promise.all(Array.from({ length: count }, () => server.dial(text, address)))

    it('[6.2.7, 8.12] reset one of the prefix with the most, and in it of the address with the most', async () => {
      const [oldest] = await dialAll(1, '', '127.0.6.1')
      const [second, ...others] = await dialAll(6, '', '127.0.6.2')
      const buyers = await dialAll(5, get('/one'), '127.0.5.1')
      for (const each of buyers) await each.answered(1)
      await (await server.dial(get('/two'), '127.0.7.1')).answered(1)
      await second?.closed
      for (const { socket } of [oldest!, ...others, ...buyers]) expect(socket.destroyed).to.equal(false)
    })

    for (const path of ['/held', '/sale'])
      it(`[6.2.7, 8.12] reset ${path} of the prefix with the most before an idle one of another`, async () => {
        const attackers = await dialAll(7, get(path), '127.0.6.1')
        await until(() => server.held.length === 7)
        const buyers = await dialAll(5, get('/one'), '127.0.5.1')
        for (const each of buyers) await each.answered(1)
        await (await server.dial(get('/two'), '127.0.7.1')).answered(1)
        await attackers[0]?.closed
        for (const { socket } of buyers) expect(socket.destroyed).to.equal(false)
      })

    it('[6.2.7, 8.12] reset an idle one before a request of a prefix with at most four', async () => {
      const buyers = await dialAll(4, get('/held'), '127.0.5.1')
      await until(() => server.held.length === 4)
      const idle: Client[] = []
      for (let count = 1; count <= 8; count += 1) idle.push(...(await dialAll(1, get('/one'), `127.0.6${count}.1`)))
      for (const each of idle) await each.answered(1)
      await (await server.dial(get('/two'), '127.0.7.1')).answered(1)
      await idle[0]?.closed
      for (const { socket } of buyers) expect(socket.destroyed).to.equal(false)
    })
  })

  describe('in the log', () => {
    useServer({ unanswered: 1 })

    it('name each reason of resets once a minute', async () => {
      const exceed = async () => (await server.dial(get('/one') + get('/two'))).closed
      const line = 'connections_reset: pipelining'
      await exceed()
      server.time.now = REPORT_INTERVAL_MS - 1
      await exceed()
      expect(server.reports).to.deep.equal([line])
      server.time.now = REPORT_INTERVAL_MS
      await exceed()
      expect(server.reports).to.deep.equal([line, line])
    })
  })

  describe('during a stop', () => {
    useServer()

    it('[14.4] close with their next answer, which is still sent', async () => {
      const running = await server.dial(get('/held'))
      const begun = await server.dial('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n')
      await until(() => server.paths.includes('/body'))
      await until(() => server.held.length === 1)
      const stopped = server.close()
      server.held[0]?.end('whole')
      begun.socket.write('a')
      for (const each of [running, begun]) await each.closed
      await stopped
      expect(running.heard).to.match(/\r\nConnection: close\r\n[^]*\r\n\r\nwhole$/)
      expect(begun.heard).to.match(/\r\nConnection: close\r\n[^]*\r\n\r\nread$/)
    })
  })
})
