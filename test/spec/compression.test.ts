/** Paid answers are compressed if they are large and the client asks for it (contract 4.4.5). */
import { expect } from 'chai'
import { startTestService } from '../support/service.ts'
import { BATCH, type Operation } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

/** The header that `fetch` of browsers and of Node.js sends. */
const STOCK = { 'Accept-Encoding': 'gzip, deflate, br' }
const PLAIN = { 'Accept-Encoding': 'identity' }

const batchOf = (length: number): Operation => ({
  operation: 'batch',
  input: { operation: 'lookup', inputs: Array.from({ length }, () => ({ company_number: '73848' })) },
})
const [LARGE, SMALL] = [batchOf(40), batchOf(1)]

describe('[4.4.5] the compression of paid answers', () => {
  const { get, a2a, mcp, payFor } = useService(() => startTestService())

  const overRest = ({ input }: Operation, payment: string | undefined, headers: Record<string, string>) =>
    get(BATCH, payment, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(input),
    })
  const TRANSPORTS: Record<string, typeof overRest> = {
    REST: overRest,
    A2A: (operation, payment, headers) => a2a(operation, payment, 1, headers),
    MCP: (operation, payment, headers) => mcp(operation, payment, headers),
  }

  for (const [name, ask] of Object.entries(TRANSPORTS)) {
    it(`keeps the answer over ${name} and its receipt, and leaves small ones as they are`, async () => {
      const quoted = await overRest(LARGE, undefined, STOCK)
      expect(quoted.headers).not.to.have.property('content-encoding')
      const payment = await payFor(Promise.resolve(quoted))
      const packed = await ask(LARGE, payment, STOCK)
      expect([packed.status, packed.headers['content-encoding']]).to.deep.equal([200, 'gzip'])
      expect(packed.headers['vary']).to.match(/Accept-Encoding/)
      const plain = await ask(LARGE, payment, PLAIN)
      expect(plain.headers).not.to.have.property('content-encoding')
      expect(packed.text).to.equal(plain.text)
      expect(packed.headers['payment-response']).to.equal(plain.headers['payment-response'])
      const small = await ask(SMALL, await payFor(overRest(SMALL, undefined, STOCK)), STOCK)
      expect(small.status).to.equal(200)
      expect(small.headers).not.to.have.property('content-encoding')
    })
  }
})
