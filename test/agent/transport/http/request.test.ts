/** The body of a request of a real HTTP server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { readBody } from '../../../../agent/transport/http/request.ts'

describe('the body of a request', () => {
  it('is whole if its turn comes after Node has closed the request', async () => {
    const server = createServer((request, response) => {
      const closed = new Promise((resolve) => request.once('close', resolve))
      const client = { takeTurn: (work: () => void) => void closed.then(() => setImmediate(work)) }
      const reading = readBody(request, { bytesMax: 10, client })
      void reading.then((body) =>
        response.end(typeof body === 'string' ? body : `read ${Buffer.from(body).toString()}`),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'text' })
      expect(await answer.text()).to.equal('read text')
    } finally {
      server.close()
    }
  })
})
