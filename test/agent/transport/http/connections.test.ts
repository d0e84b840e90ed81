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
 * A server whose routes `/held` and `/sale` answer when the test says so, the latter with a verified payment, `/body`
 * after the body, `/late` before its payment is verified, and `/large` with a large body. Others answer at once.
 */
async function startTestServer(limits: Partial<HttpServerLimits>, environment: Record<string, string>) {
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
      server.clients.of(request).noteVerified()
      held.push(response)
    } else if (request.path === '/late') {
      const client = server.clients.of(request)
      response.once('finish', () => client.noteVerified())
      response.end('late')
    } else if (request.path.endsWith('large')) {
      if (request.path !== '/large') server.clients.of(request).noteVerified()
      large.push(response)
      response.end(Buffer.alloc(LARGE_BYTES))
    } else if (request.path === '/body') request.on('end', () => response.end('read')).resume()
    else response.end(request.path)
  })
  const server = await startHttpServer({
    config: readConfig({ PORT: '0', ...environment }),
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
    clients: server.clients,
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

  function useServer(limits: Partial<HttpServerLimits> = {}, environment: Record<string, string> = {}): void {
    beforeEach(async () => void (server = await startTestServer(limits, environment)))
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

    it('[8.12, 8.15] are 2,000; one more closes the one that waits longest', async () => {
      const first = await server.dial('', '127.0.3.1')
      for (let count = 2; count < 2_000; count += 1) await server.dial('', `127.0.${4 + (count % 20)}.1`)
      const last = await server.dial(get('/one'))
      await last.answered(1)
      expect(server.reports).to.deep.equal([])
      server.time.now += 1_000
      const surplus = await server.dial(get('/two'))
      await surplus.answered(1)
      await first.closed
      expect(server.reports).to.deep.equal(['connections_reset: surplus'])
    })

    it('[8.12, 8.16] are 128 of a /24; one more closes the one of it that waits longest', async () => {
      const other = await server.dial()
      const silent = await server.dial('', '127.0.3.1')
      const idle: Client[] = []
      for (let count = 2; count <= 128; count += 1) {
        idle.push(await server.dial(get('/one'), `127.0.3.${count}`))
        await idle.at(-1)?.answered(1)
      }
      expect(server.reports).to.deep.equal([])
      for (const gone of [silent, ...idle.slice(0, 2)]) {
        await (await server.dial(get('/two'), '127.0.3.1')).answered(1)
        await gone.closed
      }
      for (const { socket } of [other, ...idle.slice(2)]) expect(socket.destroyed).to.equal(false)
    })
  })

  describe('while newcomers connect', () => {
    useServer()

    it('[6.2.9] accept several newcomers for each request of others that begins', async () => {
      const newcomers = 100
      const others = await Promise.all(
        Array.from({ length: 200 }, (_, at) => server.dial('', `127.0.${2 + (at % 2)}.1`)),
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
      // Not none, because others have a turn too. Without a bound all 800 begin.
      expect(begunBefore).to.be.within(newcomers / 10, newcomers)
    })

    it('[6.2.9] get their turn also after their end, because the request can hold the turn of a payment', async () => {
      const left = await server.dial(get('/held'))
      await until(() => server.held.length === 1)
      await server.dial(get('/held'))
      await until(() => server.held.length === 2)
      const [one, other] = server.held.map(({ req }) => server.clients.of(req))
      left.socket.destroy()
      await until(() => one!.hasLeft())
      let turns = 0
      for (let count = 0; count < 100; count += 1) other!.takeTurn(() => (turns += 1))
      expect(turns).to.be.below(100)
      await new Promise<void>(one!.takeTurn)
    })
  })

  describe('with at most two connections of a /24', () => {
    useServer({ networkConnections: 2 })

    it('[8.16] answer the request of a further one with 429 if none waits, and close one without a request', async () => {
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
      const other = await server.dial(get('/other'), '127.0.1.1')
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

  describe('with at most three connections, and two of a /24', () => {
    useServer({ connections: 3, networkConnections: 2 })

    it('[8.15, 8.16] close one of the network that has too many, and no other one', async () => {
      const other = await server.dial(get('/other'), '127.0.9.1')
      await other.answered(1)
      const first = await server.dial(get('/first'))
      await first.answered(1)
      const second = await server.dial(get('/second'))
      await second.answered(1)
      server.time.now += 1_000
      await (await server.dial(get('/third'))).answered(1)
      await first.closed
      for (const { socket } of [other, second]) expect(socket.destroyed).to.equal(false)
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

    it('[8.11] reset the slowest reader of an address, also with a new sale', async () => {
      const slowest = await neglect('127.0.0.2', '/sale-large')
      const second = await neglect('127.0.0.2')
      expect(server.reports).to.deep.equal(['connections_reset: unread'])
      await isReset(slowest)
      second.socket.resume()
      await second.answered(1)
    })

    it('[8.11] reset the slowest reader of all addresses, of the one with the most', async () => {
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

  describe('with at most twelve connections', () => {
    useServer({ connections: 12, unsentBytes: 2 * LARGE_BYTES, addressUnsentBytes: 2 * LARGE_BYTES })

    const dialAll = (count: number, text: string, addressOf: (index: number) => string) =>
      Promise.all(Array.from({ length: count }, (_, index) => server.dial(text, addressOf(index))))
    /** Connections of one network whose requests last, in the order of their requests. */
    async function hold(count: number, path: string, address: string): Promise<Client[]> {
      const clients: Client[] = []
      for (const before = server.held.length; clients.length < count; await until(() => server.held.length > before))
        clients.push(await server.dial(get(path), address))
      await until(() => server.held.length >= count)
      return clients
    }
    const expectOpen = (clients: Client[]) => {
      for (const { socket } of clients) expect(socket.destroyed).to.equal(false)
    }
    /** A second later, one more connection from a network of its own, whose request is answered. */
    async function arrive(address: string): Promise<void> {
      server.time.now += 1_000
      await (await server.dial(get('/new'), address)).answered(1)
    }

    it('[8.15] close the one that waits longest, also for the headers or the body of a request', async () => {
      const clients = [
        await server.dial(get('/one'), '127.0.1.1'),
        await server.dial(get('/incomplete').slice(0, -2), '127.0.2.1'),
        await server.dial('', '127.0.3.1'),
        await server.dial('POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nbody', '127.0.4.1'),
      ]
      await until(() => server.paths.includes('/body'))
      for (let count = 1; count <= 3; count += 1) {
        await clients[0]?.answered(count)
        clients[0]?.socket.write(get('/two'))
      }
      await clients[0]?.answered(4)
      // The networks with most connections are not these.
      const held = await hold(8, '/held', '127.0.9.1')
      for (const [index, gone] of [clients[1]!, clients[2]!, clients[3]!, clients[0]!].entries()) {
        expectOpen([gone])
        server.time.now += 1_000
        await hold(1, '/held', `127.0.1${index}.1`)
        await gone.closed
      }
      expectOpen(held)
    })

    for (const path of ['/held', '/sale'])
      it(`[8.15] close the one that waits longest before ${path} of the largest network`, async () => {
        const held = await hold(7, path, '127.0.6.1')
        const idle = await dialAll(5, '', (index) => `127.0.7.${1 + index}`)
        await arrive('127.0.8.1')
        await Promise.race(idle.map(({ closed }) => closed))
        expectOpen(held)
      })

    it('[8.15] close the oldest request without a verified payment in the largest network if none waits', async () => {
      const first = await hold(2, '/held', '127.0.5.1')
      const sales = await hold(4, '/sale', '127.0.6.1')
      const [oldest, ...others] = await hold(2, '/held', '127.0.6.2')
      const last = await hold(4, '/held', '127.0.7.1')
      await arrive('127.0.8.1')
      await oldest?.closed
      expectOpen([...first, ...sales, ...others, ...last])
      expect(server.reports).to.deep.equal(['connections_reset: surplus'])
    })

    for (const { waited, closes } of [
      { waited: 299, closes: 'one of the largest network' },
      { waited: 300, closes: 'the one that waits' },
    ])
      it(`[8.15] close ${closes} if the others have waited for ${waited} ms`, async () => {
        const held = await hold(7, '/held', '127.0.6.1')
        const waiting = await dialAll(5, '', (index) => `127.0.7.${1 + index}`)
        server.time.now += waited
        await (await server.dial(get('/new'), '127.0.8.1')).answered(1)
        const [gone, kept] = waited < 300 ? [held, waiting] : [waiting, held]
        await Promise.race(gone.map(({ closed }) => closed))
        expectOpen(kept)
        expect(gone.filter(({ socket }) => socket.destroyed)).to.have.length(1)
      })

    it('[8.15] close one that pipelines before older requests, also of the largest network', async () => {
      const held = await hold(9, '/held', '127.0.6.1')
      const pipelining = await server.dial(get('/held') + get('/held'), '127.0.6.1')
      await until(() => server.held.length === 10)
      const others = await hold(2, '/held', '127.0.7.1')
      await arrive('127.0.8.1')
      await pipelining.closed
      expectOpen([...held, ...others])
    })

    it('[8.16] answer the request of a further one with 503 if all have a verified payment', async () => {
      const sales = await hold(12, '/sale', '127.0.6.1')
      const silent = await server.dial('', '127.0.8.1')
      await silent.closed
      const further = await server.dial(get('/new'), '127.0.8.1')
      await further.closed
      expect(further.heard).to.match(/^HTTP\/1\.1 503 [^]*"code":"overloaded"/)
      expectOpen(sales)
      for (const response of server.held) response.end()
      for (const each of sales) await each.answered(1)
      await arrive('127.0.8.1')
      await sales[0]?.closed
    })

    it('[8.15] close an idle one whose payment is verified after its answer', async () => {
      const late = await server.dial(get('/late'), '127.0.2.1')
      await late.answered(1)
      await hold(11, '/held', '127.0.3.1')
      await arrive('127.0.4.1')
      await late.closed
    })

    it('[8.15] keep a request with a verified payment until its answer is read', async () => {
      const reader = await server.dial('', '127.0.2.1')
      reader.socket.pause()
      reader.socket.write(get('/sale-large'))
      await until(() => server.large.length === 1)
      await hold(11, '/held', '127.0.3.1')
      for (let count = 1; count <= 3; count += 1) await arrive(`127.0.${3 + count}.1`)
      reader.socket.resume()
      await reader.answered(1)
      while (reader.heard.length < LARGE_BYTES) await once(reader.socket, 'data')
    })
  })

  describe('behind a proxy', () => {
    useServer({ connections: 6, networkConnections: 2, providerConnections: 3 }, { TRUST_PROXY: '1' })

    const from = (path: string, address: string) => get(path, `X-Forwarded-For: ${address}\r\n`)
    /** A connection of the proxy whose request lasts. */
    async function hold(address: string): Promise<Client> {
      const before = server.held.length
      const client = await server.dial(from('/held', address))
      await until(() => server.held.length > before)
      return client
    }

    for (const [name, held, next, other] of [
      ['/24', ['192.0.2.1', '192.0.2.2'], '192.0.2.3', '192.0.3.1'],
      ['/64', ['2001:db8::1', '2001:db8::2'], '2001:db8::3', '2001:db8:1::1'],
      ['IPv6 /32', ['2001:db8::1', '2001:db8:1::1', '2001:db8:2::1'], '2001:db8:3::1', '2001:db9::1'],
    ] as const)
      it(`[8.16] answer 429 to the requests of a ${name} beyond its limit, and stay open`, async () => {
        for (const address of held) await hold(address)
        const surplus = await server.dial(from('/next', next))
        await once(surplus.socket, 'data')
        expect(surplus.heard).to.match(/^HTTP\/1\.1 429 [^]*"code":"rate_limited"/)
        expect(surplus.heard).not.to.include('Connection: close')
        surplus.socket.write(from('/next', other))
        await surplus.answered(1)
        server.held[0]?.end()
        await until(() => server.held[0]?.writableFinished === true)
        surplus.socket.write(from('/next', next))
        await surplus.answered(2)
      })

    it('[8.16] count no request that follows the last answer of its connection', async () => {
      const chunked = 'Transfer-Encoding: chunked\r\n'
      const ended = await server.dial(from('/held', '192.0.2.1').replace('\r\n', `\r\n${chunked}`) + '0\r\n\r\n')
      await until(() => server.held.length > 0)
      ended.socket.write(from('/next', '192.0.2.1'))
      // The server has read it when it answers a later connection.
      await (await server.dial(from('/other', '192.0.9.1'))).answered(1)
      server.held[0]?.end()
      await ended.closed
      for (const address of ['192.0.2.1', '192.0.2.2']) await hold(address)
      const surplus = await server.dial(from('/surplus', '192.0.2.3'))
      await once(surplus.socket, 'data')
      expect(surplus.heard).to.match(/^HTTP\/1\.1 429 /)
    })

    it('[8.15] close the oldest request of the client with most requests if none waits', async () => {
      const clients: Client[] = []
      for (const address of ['192.0.1.1', '192.0.2.1', '192.0.2.2', '192.0.3.1', '192.0.4.1', '192.0.5.1'])
        clients.push(await hold(address))
      await (await server.dial(from('/next', '192.0.6.1'))).answered(1)
      await clients[1]?.closed
      for (const each of clients.toSpliced(1, 1)) expect(each.socket.destroyed).to.equal(false)
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

    it('[14.19] close with their next answer, which is still sent', async () => {
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
