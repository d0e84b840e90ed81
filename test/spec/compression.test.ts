/** Paid answers are compressed if they are large and the client asks for it (contract 4.4.3). */
import { expect } from 'chai'
import { startTestService } from '../support/service.ts'
import { rpcBody, toolCall, type Operation } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

/** The headers that `fetch` of browsers and of Node.js sends. */
const STOCK = { 'Accept-Encoding': 'gzip, deflate, br' }
const PLAIN = { 'Accept-Encoding': 'identity' }
const JSON_TYPE = { 'Content-Type': 'application/json' }

const batchOf = (length: number): Operation => ({
  operation: 'batch',
  input: { operation: 'lookup', inputs: Array.from({ length }, () => ({ company_number: '73848' })) },
})
const [LARGE, SMALL] = [batchOf(40), batchOf(1)]

interface Sent {
  path: string
  headers: Record<string, string>
  body: unknown
}

describe('[4.4.3] the compression of paid answers', () => {
  const { service } = useService(() => startTestService())
  const quoteOf = async (operation: Operation) => {
    const quoted = await ask(overRest(operation))
    expect([quoted.status, quoted.encoding]).to.deep.equal([402, null])
    return quoted
  }

  const overRest = ({ input }: Operation, payment?: string): Sent => ({
    path: '/api/v1/batch',
    headers: { ...JSON_TYPE, ...(payment !== undefined && { 'PAYMENT-SIGNATURE': payment }) },
    body: input,
  })
  const overA2a = (data: Operation, payment: string): Sent => ({
    path: '/a2a',
    headers: {
      ...JSON_TYPE,
      'A2A-Version': '1.0',
      'A2A-Extensions': `${service().url}/docs#http-x402-v1`,
      'PAYMENT-SIGNATURE': payment,
    },
    body: JSON.parse(rpcBody(data)),
  })
  const overMcp = (operation: Operation, payment: string): Sent => {
    const { headers, body } = toolCall({ ...operation }, payment)
    return { path: '/mcp', headers: { ...JSON_TYPE, ...headers }, body }
  }

  async function ask({ path, headers, body }: Sent, encodings: Record<string, string> = STOCK) {
    const response = await fetch(service().url + path, {
      method: 'POST',
      headers: { ...headers, ...encodings },
      body: JSON.stringify(body),
    })
    const header = (name: string) => response.headers.get(name)
    return {
      status: response.status,
      encoding: header('content-encoding'),
      vary: header('vary'),
      quote: header('payment-required'),
      receipt: header('payment-response'),
      text: await response.text(),
    }
  }

  for (const [name, over] of Object.entries({ REST: overRest, A2A: overA2a, MCP: overMcp })) {
    it(`keeps the answer over ${name} and its receipt, and leaves small ones as they are`, async () => {
      const payment = await service().pay((await quoteOf(LARGE)).quote)
      const packed = await ask(over(LARGE, payment))
      expect([packed.status, packed.encoding]).to.deep.equal([200, 'gzip'])
      expect(packed.vary).to.match(/Accept-Encoding/)
      const plain = await ask(over(LARGE, payment), PLAIN)
      expect(plain.encoding).to.equal(null)
      expect(packed.text).to.equal(plain.text)
      expect(packed.receipt).to.equal(plain.receipt)
      const small = await ask(over(SMALL, await service().pay((await quoteOf(SMALL)).quote)))
      expect([small.status, small.encoding]).to.deep.equal([200, null])
    })
  }
})
