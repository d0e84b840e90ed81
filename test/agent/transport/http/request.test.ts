/** The body of a request of a real HTTP server. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { readBody } from '../../../../agent/transport/http/request.ts'

describe('the body of a request', () => {
  let server: Server
  /** How often the client has waited for a turn. */
  let turns: number

  /** @param isClosed whether a turn comes only after Node has closed the request */
  async function listen(isClosed: boolean): Promise<Socket> {
    turns = 0
    server = createServer(async (request, response) => {
      // As after a turn that the request has waited for.
      await setImmediate()
      const closed = isClosed ? new Promise((resolve) => request.once('close', resolve)) : Promise.resolve()
      const takeTurn = (work: () => void) => {
        turns += 1
        void closed.then(() => setImmediate()).then(work)
      }
      const body = await readBody(request, { bytesMax: 10, client: { takeTurn } })
      response.end(body.kind === 'refused' ? body.refusal.code : `read ${Buffer.from(body.bytes).toString()}`)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return connect((server.address() as AddressInfo).port, '127.0.0.1')
  }
  afterEach(() => server.close())

  const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\n'

  it('[6.2.9] takes no further turn if it came with its request', async () => {
    const socket = await listen(false)
    socket.write(`${HEAD}text`)
    expect(await text(socket)).to.include('read text')
    expect(turns).to.equal(0)
  })

  for (const isClosed of [false, true])
    it(`[6.2.9] takes another turn if it comes later${isClosed ? ', also after Node has closed the request' : ''}`, async () => {
      const socket = await listen(isClosed)
      const begun = once(server, 'request')
      socket.write(HEAD)
      await begun
      socket.write('text')
      expect(await text(socket)).to.include('read text')
      expect(turns).to.equal(1)
    })
})
