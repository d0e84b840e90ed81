/** The admin address: host names, and connections that send nothing. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { Registry } from 'prom-client'
import { CONNECTIONS_MAX, startAdminServer } from '../../../../agent/service/admin/server.ts'

const SILENT_CONNECTIONS = 40

describe('the admin address', () => {
  let server: Awaited<ReturnType<typeof startAdminServer>>
  let sockets: Socket[]

  beforeEach(async () => {
    sockets = []
    const readiness = async () => ({ part: true })
    const registry = new Registry()
    server = await startAdminServer({ host: '127.0.0.1', port: 0, registry, readiness, report: () => undefined })
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await server.close()
  })

  async function statusOf(path: string, host?: string): Promise<number | undefined> {
    const sent = request(`${server.url}${path}`, {
      agent: false,
      ...(host !== undefined && { headers: { host } }),
    }).end()
    const [response] = (await once(sent, 'response')) as [{ statusCode?: number; resume: () => void }]
    response.resume()
    return response.statusCode
  }

  async function connectSilently(): Promise<void> {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    sockets.push(socket)
    await once(socket, 'connect')
  }

  for (const host of ['127.0.0.1:9464', '[::1]:9464', 'localhost', 'service:9464'])
    it(`[14.12] answers the Host ${host}`, async () => {
      expect(await statusOf('/metrics', host)).to.equal(200)
    })

  for (const host of ['attacker.example', 'attacker.example:9464', '127.0.0.1.attacker.example', 'a b'])
    it(`[14.12] refuses the Host ${JSON.stringify(host)}, which can be a name of a web page`, async () => {
      for (const path of ['/metrics', '/livez', '/readyz']) expect(await statusOf(path, host)).to.equal(421)
    })

  it('[14.12] answers beside connections that send nothing, whose number it limits', async () => {
    for (let count = 0; count < SILENT_CONNECTIONS; count += 1) await connectSilently()
    expect(await statusOf('/livez')).to.equal(200)
    const surplus = Array.from({ length: CONNECTIONS_MAX }, connectSilently)
    await Promise.all(surplus)
    const closed = sockets.map(async (socket) => socket.closed || once(socket, 'close'))
    expect(await Promise.race(closed)).not.to.equal(undefined)
  })
})
