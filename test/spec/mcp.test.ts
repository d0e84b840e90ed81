/** The operations as tools of MCP, with the official client over the whole service (contract 4.6). */
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { CALL_BODY_BYTES_MAX } from '../../agent/transport/call-limits.ts'
import { MCP_ERRORS } from '../../agent/transport/mcp/protocol-error.ts'
import { expectRefusal, quoteIn, send, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { MCP_VERSIONS } from '../../agent/operation/endpoints.ts'
import { buyOverTransports, expectCharges, messageOf, TOOLS, type Operation } from '../support/transports.ts'

/** equal-transports.test.ts buys the other operations. */
const LOOKUP: Operation = { operation: 'lookup', input: { company_number: '73848' } }
const PAYMENT = 'x402/payment'
const RECEIPT = 'x402/payment-response'
const HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

let service: TestService
const { get, rest, a2a } = buyOverTransports(() => service)

/** The protocol of 2025 begins with `initialize`, that of 2026 needs no handshake. */
const VERSIONS = { '2025-11-25': {}, '2026-07-28': { versionNegotiation: { mode: { pin: '2026-07-28' } } } } as const

async function connect(version: keyof typeof VERSIONS = '2025-11-25'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, VERSIONS[version])
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`)))
  return client
}

type Result = CallToolResult & { structuredContent: Record<string, unknown> }

async function call(client: Client, { operation, input }: Operation, payment?: unknown): Promise<Result> {
  const name = TOOLS[operation as keyof typeof TOOLS]
  const _meta = payment === undefined ? {} : { _meta: { [PAYMENT]: payment } }
  return (await client.callTool({ name, arguments: input, ..._meta })) as Result
}

const textOf = ({ content }: Result, at = 0) => (content[at] as { text: string }).text
const payloadOf = (header: string) => JSON.parse(Buffer.from(header, 'base64').toString()) as object

/** Signs a payment for a quote of MCP, as the value of a header. */
const payFor = (quote: Result) => service.pay(Buffer.from(textOf(quote)).toString('base64'))

const post = (body: unknown, headers: Record<string, string> = {}): Promise<RawReply> =>
  send({
    url: service.url,
    method: 'POST',
    path: '/mcp',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** No error may repeat it. */
const INPUT = 'Zz7input'
/** Contract 4.6.1. */
const TOOLS_BYTES_MAX = 24_576
const MODERN = '2026-07-28'

/** A request of specification 2026-07-28. */
function modern(method: string, { version = MODERN, params = {} }: { version?: string; params?: object } = {}) {
  const envelope = { protocolVersion: version, clientInfo: { name: 'test', version: '1' }, clientCapabilities: {} }
  const members = Object.entries(envelope).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value])
  const _meta = Object.fromEntries(members) as object
  return { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }
}
const modernHeaders = (method: string, version = MODERN) => ({ 'MCP-Protocol-Version': version, 'Mcp-Method': method })

interface ProtocolFault {
  status: number
  code: number
  body: unknown
  headers?: Record<string, string>
}
const toolCall = (params: unknown) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
const fault = (status: number, code: number, body: unknown, headers?: Record<string, string>): ProtocolFault => ({
  status,
  code,
  body,
  ...(headers && { headers }),
})
const listing = modern('tools/list')

const PROTOCOL_FAULTS: Record<string, ProtocolFault> = {
  'no JSON-RPC': fault(400, -32_600, { id: 1, method: INPUT }),
  'an id that is an object': fault(400, -32_600, { ...listTools, id: { [INPUT]: 1 } }),
  'an unknown member': fault(400, -32_600, { ...listTools, [INPUT]: 1 }),
  'an unknown method': fault(200, -32_601, { ...listTools, method: INPUT }),
  'an unknown method of 2026': fault(404, -32_601, modern(INPUT), modernHeaders(INPUT)),
  'an unknown tool': fault(200, -32_602, toolCall({ name: INPUT })),
  'arguments that are text': fault(200, -32_602, toolCall({ name: TOOLS.lookup, arguments: INPUT })),
  'a request of 2026 without its envelope': fault(400, -32_602, listTools, modernHeaders('tools/list')),
  'an initialization without a version': fault(200, -32_603, {
    ...listTools,
    method: 'initialize',
    params: { protocolVersion: [INPUT] },
  }),
  'an old version': fault(400, -32_000, listTools, { 'MCP-Protocol-Version': '1999-12-31' }),
  'only JSON accepted': fault(406, -32_000, listTools, { Accept: `application/json, text/${INPUT}` }),
  'another method in the header': fault(400, -32_020, listing, modernHeaders(INPUT)),
  'another tool in the header': fault(400, -32_020, modern('tools/call', { params: { name: TOOLS.lookup } }), {
    ...modernHeaders('tools/call'),
    'Mcp-Name': TOOLS.search,
  }),
  'no method in the header': fault(400, -32_020, listing, { 'MCP-Protocol-Version': MODERN }),
  'another version in the header': fault(
    400,
    -32_020,
    modern('tools/list', { version: INPUT }),
    modernHeaders('tools/list'),
  ),
  'an unknown version': fault(
    400,
    -32_022,
    modern('tools/list', { version: INPUT }),
    modernHeaders('tools/list', INPUT),
  ),
}

describe('POST /mcp', () => {
  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  for (const version of Object.keys(VERSIONS) as (keyof typeof VERSIONS)[]) {
    describe(`with the official client and ${version}`, () => {
      let client: Client
      before(async () => {
        client = await connect(version)
      })
      after(() => client.close())

      it('[4.6.1] lists the tools with schemas and annotations', async () => {
        const { tools } = await client.listTools()
        expect(tools.map(({ name }) => name)).to.deep.equal([...Object.values(TOOLS), 'service_info'])
        // Clients give the whole list to a model.
        expect(JSON.stringify(tools).length).to.be.below(TOOLS_BYTES_MAX)
        for (const { description, annotations, inputSchema, outputSchema } of tools) {
          expect(description).to.be.a('string')
          expect(annotations).to.include({ readOnlyHint: true, idempotentHint: true, openWorldHint: true })
          expect([inputSchema.type, outputSchema?.['type']]).to.deep.equal(['object', 'object'])
        }
      })

      it('[4.6.2] describes the service free of charge', async () => {
        const result = (await client.callTool({ name: 'service_info', arguments: {} })) as Result
        const { metadata, attribution } = result.structuredContent
        expect(metadata).to.deep.equal((await get('/api/v1/meta')).json)
        expect(attribution).to.deep.equal((await get('/attribution')).json)
      })

      it('[4.6.2, 4.6.3] quotes and sells a lookup, and replays it over REST and A2A', async () => {
        const quote = await call(client, LOOKUP)
        expect(quote.isError).to.equal(true)
        const unpaid = await a2a(LOOKUP)
        expect(quote.structuredContent).to.deep.equal(quoteIn(unpaid))
        expect(quote.structuredContent).to.deep.equal(
          decodePaymentRequiredHeader(String(unpaid.headers['payment-required'])),
        )
        expect(JSON.parse(textOf(quote))).to.deep.equal(quote.structuredContent)
        expect(quote._meta?.['x402/error']).to.deep.equal(quote.structuredContent)
        expect(JSON.parse(textOf(quote, 1))).to.have.nested.property('error.code', 'payment_required')

        const payment = await payFor(quote)
        await expectCharges(service, [1000n], async () => {
          const bought = await call(client, LOOKUP, payloadOf(payment))
          expect(bought.isError ?? false).to.equal(false)
          expect(JSON.parse(textOf(bought))).to.deep.equal(bought.structuredContent)
          const overRest = await rest(LOOKUP, payment)
          expect(overRest.text).to.equal(textOf(bought))
          expect(bought._meta?.[RECEIPT]).to.deep.equal(payloadOf(String(overRest.headers['payment-response'])))
          expect(JSON.stringify(messageOf(await a2a(LOOKUP, payment)).data)).to.equal(textOf(bought))
          // Some clients send the value of the header.
          expect(textOf(await call(client, LOOKUP, payment))).to.equal(textOf(bought))
        })
      })
    })
  }

  describe('[4.6.6] over HTTP', () => {
    const sized = (bytes: number) => JSON.stringify(listTools).padEnd(bytes, ' ')

    it(`accepts ${CALL_BODY_BYTES_MAX} bytes, also with a trailing slash, and refuses one more`, async () => {
      expect((await post(sized(CALL_BODY_BYTES_MAX - 1))).status).to.equal(200)
      expect((await post(sized(CALL_BODY_BYTES_MAX))).status).to.equal(200)
      const slash = await send({ url: service.url, method: 'POST', path: '/mcp/', headers: HEADERS, body: sized(100) })
      expect(slash.status).to.equal(200)
      expectRefusal(await post(sized(CALL_BODY_BYTES_MAX + 1)), 'body_too_large')
    })

    it('refuses what is not one JSON object without repeated names and deep nesting', async () => {
      const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
      for (const body of ['', '{', '[]', JSON.stringify([listTools]), '{"id":1,"id":2}', `{"params":${nested(25)}}`])
        expectRefusal(await post(body), 'invalid_body')
      // 24 levels are accepted. The error is that `params` must be an object.
      expect((await post(`{"params":${nested(23)}}`)).text).to.contain('-32600')
    })

    it('[4.6.6] accepts 500 members and refuses one more', async () => {
      const ping = (members: number) => {
        const params = Object.fromEntries(Array.from({ length: members - 4 }, (_, index) => [`m${index}`, 1]))
        return { jsonrpc: '2.0', id: 1, method: 'ping', params }
      }
      expect((await post(ping(500))).status).to.equal(200)
      expectRefusal(await post(ping(501)), 'invalid_body')
    })

    it('accepts wildcards in Accept, which HTTP clients send by default', async () => {
      for (const Accept of ['*/*', 'application/*, text/*;q=0.5'])
        expect((await post(listTools, { Accept })).status).to.equal(200)
    })

    it('refuses other content types and encodings', async () => {
      for (const headers of [{ 'Content-Type': 'text/plain' }, { 'Content-Encoding': 'gzip' }])
        expectRefusal(await post(listTools, headers), 'unsupported_media_type')
    })

    for (const [origin, status] of [
      ['https://attacker.example', 403],
      ['null', 403],
      ['http://127.0.0.1', 403],
      [undefined, 200],
      ['own', 200],
    ] as const) {
      it(`answers Origin ${origin ?? 'missing'} with ${status}`, async () => {
        const value = origin === 'own' ? service.url : origin
        const reply = await post(listTools, value === undefined ? {} : { Origin: value })
        expect(reply.status).to.equal(status)
        if (status === 403) expectRefusal(reply, 'origin_not_allowed')
      })
    }

    it('refuses other methods, because there are no sessions', async () => {
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const reply = await send({ url: service.url, path: '/mcp', method })
        expectRefusal(reply, 'method_not_allowed')
        expect(reply.headers['allow']).to.equal('POST')
      }
    })

    describe('[4.6.8] answers faults of the protocol with JSON-RPC errors that repeat nothing', () => {
      for (const [name, { status, code, body, headers }] of Object.entries(PROTOCOL_FAULTS)) {
        it(`${name}: ${status} and ${code}`, async () => {
          const reply = await post(body, headers)
          const { error } = JSON.parse(/\{.*\}/.exec(reply.text)?.[0] ?? '{}') as { error?: object }
          const { message } = MCP_ERRORS.find((each) => each.code === code && each.statuses.includes(status))!
          expect(reply.status).to.equal(status)
          expect(error).to.include({ code, message })
          expect(reply.text).not.to.contain(INPUT)
        })
      }

      it('includes every documented code with each of its statuses', () => {
        const seen = Object.values(PROTOCOL_FAULTS).map(({ status, code }) => `${status} ${code}`)
        const listed = MCP_ERRORS.flatMap(({ code, statuses }) => statuses.map((status) => `${status} ${code}`))
        expect(new Set(seen)).to.deep.equal(new Set(listed))
      })

      it('names the supported versions, and repeats the requested one only if it has the form of a version', async () => {
        const at = (version: string) => post(modern('tools/list', { version }), modernHeaders('tools/list', version))
        for (const [version, requested] of [
          ['1999-12-31', '1999-12-31'],
          ['v999.0.0', 'v999.0.0'],
          ['1'.repeat(31), '1'.repeat(31)],
          ['1'.repeat(32), ''],
          [INPUT, ''],
        ] as const) {
          const { error } = JSON.parse((await at(version)).text) as { error: { data: object; message: string } }
          expect(error.data).to.deep.equal({ supported: [MODERN], requested, charged: 'no', next: 'change_request' })
          for (const each of MCP_VERSIONS) expect(error.message).to.contain(each)
        }
      })
    })

    it('[4.6.9] lists its tools in each version that its errors name', async () => {
      for (const version of MCP_VERSIONS) {
        const reply =
          version === MODERN
            ? await post(modern('tools/list'), modernHeaders('tools/list'))
            : await post(listTools, { 'MCP-Protocol-Version': version })
        expect(reply.text, version).to.contain('"service_info"')
      }
    })

    it('[4.6.9] answers a notification with 202 and no body', async () => {
      const { status, text, headers } = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
      expect([status, text, headers['content-type']]).to.deep.equal([202, '', undefined])
    })

    it('[4.6.1] ends a subscription at once, because the server sends no notifications', async () => {
      const params = { notifications: { toolsListChanged: true, resourcesListChanged: true } }
      const reply = await post(modern('subscriptions/listen', { params }), modernHeaders('subscriptions/listen'))
      expect(reply.text).to.contain('"resultType":"complete"')
    })
  })
})
