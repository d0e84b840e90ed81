/**
 * `POST /a2a` over HTTP: accepted and refused envelopes (contract 4.5). every-refusal.test.ts tests refused data, and
 * rest-resolve.test.ts how a body is sent.
 */
import { decodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import { expectNoLeak, expectRefusal, quoteIn, send, type RawReply } from '../support/raw-http.ts'
import { header, signedPayment } from '../support/payments.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { startScriptedApp } from './scripted-app.ts'

/** Marks input of a hostile client. No answer may contain it. */
const MARK = 'h0stile<script>'

const TEXT = { text: 'hello' }
const LOOKUP = { data: { operation: 'lookup', input: { company_number: '00000000' } } }

/** A valid message with some members changed. */
const message = (change: Record<string, unknown> = {}) => ({
  messageId: 'm-1',
  role: 'ROLE_USER',
  parts: [TEXT],
  ...change,
})
const without = (record: object, name: string) =>
  Object.fromEntries(Object.entries(record).filter(([key]) => key !== name))
const rpc = (change: Record<string, unknown> = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'SendMessage',
  params: { message: message() },
  ...change,
})
const sending = (change: Record<string, unknown>) => rpc({ params: { message: message(change) } })
const data = (value: unknown) => sending({ parts: [{ data: value }] })

type Headers = Record<string, string | string[] | undefined>

/** Sends text and bytes as they are, and other values as JSON. A header of undefined is left out. */
function post(url: string, body: unknown, change: Headers = {}, { path = '/a2a' } = {}): Promise<RawReply> {
  const all: Headers = { 'Content-Type': 'application/json', 'A2A-Version': '1.0', ...change }
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(all)) if (value !== undefined) headers[name] = value
  const bytes = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return send({ url, method: 'POST', path, headers, body: bytes })
}

function expectRpcError(reply: RawReply, code: number, id: unknown): void {
  const error = reply.json['error'] as { code: number; message: string; data?: unknown } | undefined
  expect({ status: reply.status, code: error?.code, id: reply.json['id'] }).to.deep.equal({ status: 200, code, id })
  expect(reply.json).to.have.all.keys('jsonrpc', 'id', 'error')
  expect(reply.json).to.have.property('jsonrpc', '2.0')
  expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8')
  expect(error?.message).to.be.a('string').and.match(/\.$/)
  // The SDK adds ErrorInfo to the error codes of A2A only.
  const [info, ...rest] = ((error?.data ?? []) as object[]).toReversed()
  expect(info).to.include.keys('charged', 'next')
  expect(rest.length > 0).to.equal(code <= -32001 && code >= -32099)
  expectNoLeak(reply, MARK)
}

interface AgentMessage {
  messageId: string
  role: string
  parts: Record<string, unknown>[]
  metadata?: object
}

function messageOf(reply: RawReply): AgentMessage {
  expect(reply.status).to.equal(200)
  expect(reply.json).to.have.all.keys('jsonrpc', 'id', 'result')
  expect(reply.json['result']).to.have.all.keys('message')
  return (reply.json['result'] as { message: AgentMessage }).message
}

const text = JSON.stringify
const UTF8 = (characters: string) => Buffer.from(characters)
const call = (method: string, params: unknown = {}) => rpc({ method, params })
const nulls = (...names: string[]) => Object.fromEntries(names.map((name) => [name, null]))
const PUSH = { url: 'https://example.com/' }

interface Group {
  title: string
  code: number
  /** The id of the answer. Default: the id of the request. */
  id?: null
  bodies: Record<string, unknown>
}

const GROUPS: Group[] = [
  {
    title: 'a body that is not JSON',
    code: -32700,
    id: null,
    bodies: {
      'malformed JSON': '{"jsonrpc":',
      'broken UTF-8': Buffer.concat([UTF8('{"id":"'), Buffer.from([0xc3, 0x28]), UTF8('"}')]),
      'a byte order mark': `\uFEFF${text(rpc())}`,
      'an empty body': '',
    },
  },
  {
    title: 'an envelope without a valid id',
    code: -32600,
    id: null,
    bodies: {
      'a batch': [rpc()],
      text: text(MARK),
      'an id of null': rpc({ id: null }),
      'an id of 1.5': rpc({ id: 1.5 }),
      'an id beyond the safe integers': '{"jsonrpc":"2.0","id":1e300,"method":"SendMessage"}',
      'an id of 257 characters': rpc({ id: 'i'.repeat(257) }),
      'two ids': text(rpc()).replace('{', '{"id":8,'),
    },
  },
  {
    title: 'an envelope that is not a request',
    code: -32600,
    bodies: {
      'jsonrpc 1.0': rpc({ jsonrpc: '1.0' }),
      'no method': without(rpc(), 'method'),
      'a method that is not text': rpc({ method: 7 }),
      'an additional member': rpc({ [MARK]: 1 }),
    },
  },
  {
    title: 'an unknown method',
    code: -32601,
    bodies: Object.fromEntries(
      [MARK, 'message/send', 'sendMessage', 'toString', '__proto__'].map((method) => [text(method), rpc({ method })]),
    ),
  },
  {
    title: 'wrong parameters',
    code: -32602,
    bodies: {
      'no message': rpc({ params: {} }),
      'no messageId': rpc({ params: { message: without(message(), 'messageId') } }),
      'no role': rpc({ params: { message: without(message(), 'role') } }),
      'no parts': rpc({ params: { message: without(message(), 'parts') } }),
      'a messageId of a number': sending({ messageId: 5 }),
      'a messageId of 129 bytes': sending({ messageId: 'm'.repeat(129) }),
      'a messageId of 65 characters and 130 bytes': sending({ messageId: 'é'.repeat(65) }),
      'a configuration of an array': rpc({ params: { message: message(), configuration: [MARK] } }),
      'the role of an agent': sending({ role: 'ROLE_AGENT' }),
      'parts that are not a list': sending({ parts: TEXT }),
      'an empty list of parts': sending({ parts: [] }),
      'text and data in one part': sending({ parts: [{ ...TEXT, ...LOOKUP }] }),
      'text of a number': sending({ parts: [{ text: 5 }] }),
      'GetTask without params': without(call('GetTask'), 'params'),
      'GetTask without id': call('GetTask', { name: MARK }),
      'ListTasks of no tasks per page': call('ListTasks', { pageSize: 0 }),
      'ListTasks of a page': call('ListTasks', { pageToken: MARK }),
    },
  },
  {
    title: 'another type of part',
    code: -32005,
    bodies: {
      'raw bytes': sending({ parts: [{ raw: 'aGk=' }] }),
      'a URL': sending({ parts: [{ url: `https://${MARK}/` }] }),
    },
  },
  {
    title: 'an unknown task',
    code: -32001,
    bodies: {
      'a taskId': sending({ taskId: MARK }),
      'a referenced task': sending({ referenceTaskIds: [MARK] }),
      GetTask: call('GetTask', { id: MARK, historyLength: 1 }),
      CancelTask: call('CancelTask', { id: MARK }),
      'CancelTask of a number': call('CancelTask', { id: 1 }),
    },
  },
  {
    title: 'an unsupported operation',
    code: -32004,
    bodies: {
      'a contextId': sending({ contextId: MARK }),
      SendStreamingMessage: rpc({ method: 'SendStreamingMessage' }),
      'SendStreamingMessage of data': call('SendStreamingMessage', { message: message({ parts: [LOOKUP] }) }),
      ...Object.fromEntries(
        ['SubscribeToTask', 'GetExtendedAgentCard'].flatMap((method) => [
          [method, call(method, { id: MARK })],
          [`${method} without params`, without(call(method), 'params')],
        ]),
      ),
    },
  },
  {
    title: 'push notifications',
    code: -32003,
    bodies: {
      CreateTaskPushNotificationConfig: call('CreateTaskPushNotificationConfig', { taskId: 't', id: 'c', ...PUSH }),
      ...Object.fromEntries(
        ['GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig'].map(
          (method) => [method, call(method, { taskId: 't', id: 'c' })],
        ),
      ),
      'a push configuration with the message': rpc({
        params: { message: message(), configuration: { taskPushNotificationConfig: PUSH } },
      }),
    },
  },
]

/** Headers of a valid request that are refused. A wrong content type is refused before the id is read. */
const HEADERS: [code: number, id: 7 | null, name: string, values: (string | string[] | undefined)[]][] = [
  [
    -32009,
    7,
    'A2A-Version',
    [undefined, '', '0.3', '1.1', '1', '1.00', '1.0.x', '1.0.', '2.0', '11.0.0', MARK, ['1.0', '0.3'], ['1.0', '1.0']],
  ],
  [-32005, null, 'Content-Type', ['text/plain', 'application/a2a+json', MARK, undefined]],
]

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

describe('POST /a2a', () => {
  const { service, lookup, payFor } = useService(() => startTestService())
  const extension = () => `${service.url}/docs#http-x402-v1`
  const postWithExtension = (body: unknown, headers: Headers = {}) =>
    post(service.url, body, { 'A2A-Extensions': extension(), ...headers })

  describe('[4.5.1, 4.5.2, 4.5.8, 4.5.9] answers a JSON-RPC error with HTTP 200 to', () => {
    for (const { title, code, id = 7, bodies } of GROUPS) {
      describe(`${title}: ${code}`, () => {
        for (const [name, body] of Object.entries(bodies))
          it(name, async () => expectRpcError(await post(service.url, body), code, id))
      })
    }

    for (const [code, id, name, values] of HEADERS) {
      for (const value of values)
        it(`${name} ${text(value) ?? 'missing'}: ${code}`, async () =>
          expectRpcError(await post(service.url, rpc(), { [name]: value }), code, id))
    }

    it('nesting as deep as the body limit allows: -32700', async () => {
      const body = text(data({ operation: 'lookup', input: 'deep' })).replace('"deep"', nested(7_800))
      expectRpcError(await postWithExtension(body), -32700, null)
      expect(service.reports).to.deep.equal([])
    })
  })

  describe('accepts', () => {
    const ACCEPTED: Record<string, { id?: unknown }> = {
      'a messageId of 128 bytes': sending({ messageId: 'm'.repeat(128) }),
      'an id of text': rpc({ id: 'seven' }),
      'an id of 256 characters': rpc({ id: 'i'.repeat(256) }),
      'the members that the client of the SDK leaves empty': sending({
        taskId: '',
        contextId: '',
        referenceTaskIds: [],
      }),
      'unknown members of params, message, part and configuration': rpc({
        params: {
          message: message({ [MARK]: 1, kind: 'message', metadata: [], parts: [{ ...TEXT, [MARK]: 1, kind: 'text' }] }),
          configuration: { [MARK]: 1, blocking: true },
          [MARK]: { a: [1] },
        },
      }),
      'null for each absent optional member': rpc({
        params: {
          message: message({
            ...nulls('contextId', 'taskId', 'metadata', 'referenceTaskIds'),
            parts: [{ ...TEXT, ...nulls('data', 'raw', 'url', 'metadata') }],
          }),
          configuration: nulls('taskPushNotificationConfig', 'historyLength'),
        },
      }),
      'a configuration of null': rpc({ params: { message: message(), configuration: null } }),
    }
    for (const [name, body] of Object.entries(ACCEPTED)) {
      it(`[4.5.11] ${name}`, async () => {
        const reply = await post(service.url, body)
        expect(messageOf(reply).role).to.equal('ROLE_AGENT')
        expect(reply.json).to.have.property('id', body.id)
      })
    }
  })

  it('[4.5.9] lists no tasks, because no message creates one', async () => {
    const requests: [request: unknown, pageSize: number][] = [
      [call('ListTasks'), 50],
      [without(call('ListTasks'), 'params'), 50],
      [call('ListTasks', { pageSize: 100, contextId: MARK }), 100],
    ]
    for (const [request, pageSize] of requests) {
      const reply = await post(service.url, request)
      expect(reply.status).to.equal(200)
      const result = { tasks: [], nextPageToken: '', pageSize, totalSize: 0 }
      expect(reply.json).to.deep.equal({ jsonrpc: '2.0', id: 7, result })
    }
  })

  it('[4.5.11] ignores unknown members of a data part, but not of its data', async () => {
    const known = { ...LOOKUP, text: null, mediaType: null, context_id: 'c', [MARK]: 1 }
    const reply = await postWithExtension(sending({ parts: [known] }))
    expectRefusal(reply, 'payment_required')
    const unknown = { ...LOOKUP.data, [MARK]: 1 }
    expectRefusal(await postWithExtension(data(unknown)), 'invalid_body')
  })

  describe('[4.5.12] checks the version before the method and the parameters', () => {
    const supported = (reply: RawReply) =>
      (reply.json['error'] as { data: { metadata?: object }[] }).data.flatMap(({ metadata }) => metadata ?? [])

    for (const method of ['message/send', 'tasks/get', MARK, 'GetTask']) {
      for (const version of [undefined, '0.3']) {
        it(`of ${method} with version ${version ?? 'missing'}: -32009 with the supported version`, async () => {
          const reply = await post(service.url, rpc({ method, params: MARK }), { 'A2A-Version': version })
          expectRpcError(reply, -32009, 7)
          expect(supported(reply)).to.deep.equal([{ supportedVersions: '1.0' }])
        })
      }
    }

    const QUERIES: [query: string, header: string | undefined, isAccepted: boolean][] = [
      ['?A2A-Version=1.0', undefined, true],
      ['?a=1&A2A-Version=1.0', undefined, true],
      ['?A2A-Version=0.3', undefined, false],
      ['?A2A-Version=', undefined, false],
      ['?A2A-Version=1.0&A2A-Version=1.0', undefined, false],
      ['?a2a-version=1.0', undefined, false],
      ['?A2A-Version=1.0', '0.3', false],
      ['?A2A-Version=1.0', '', false],
      ['?A2A-Version=0.3', '1.0', true],
      ['', '1.0.0', true],
      ['', '1.0.17', true],
      ['?A2A-Version=1.0.1', undefined, true],
    ]
    for (const [query, version, isAccepted] of QUERIES) {
      it(`in ${query} with the header ${version ?? 'missing'}: ${isAccepted ? 'accepted' : '-32009'}`, async () => {
        const reply = await post(service.url, rpc(), { 'A2A-Version': version }, { path: `/a2a${query}` })
        if (isAccepted) expect(messageOf(reply).role).to.equal('ROLE_AGENT')
        else expectRpcError(reply, -32009, 7)
      })
    }
  })

  describe('[4.5.4] requires the payment extension', () => {
    const VALUES: [name: string, value: (uri: string) => string | string[] | undefined, isAccepted: boolean][] = [
      ['no header', () => undefined, false],
      ['an empty header', () => '', false],
      ['another URI', () => 'https://example.com/ext', false],
      ['the URI with an additional character', (uri) => `${uri}x`, false],
      ['the URI in capitals', (uri) => uri.toUpperCase(), false],
      ['the URI', (uri) => uri, true],
      ['several URIs and blanks', (uri) => `https://example.com/ext ,\t${uri} , ,x`, true],
      ['two headers', (uri) => ['https://example.com/ext', uri], true],
    ]
    for (const [name, value, isAccepted] of VALUES) {
      it(`for a data part with ${name}: ${isAccepted ? 'accepted' : '-32008'}`, async () => {
        const reply = await post(service.url, data(LOOKUP.data), { 'A2A-Extensions': value(extension()) })
        if (isAccepted) expectRefusal(reply, 'payment_required')
        else {
          expectRpcError(reply, -32008, 7)
          const { message: told } = reply.json['error'] as { message: string }
          expect(told).to.include(`"A2A-Extensions: ${extension()}"`)
        }
        expect(reply.headers['a2a-extensions']).to.equal(isAccepted ? extension() : undefined)
      })
    }

    it('but not for a text part', async () => {
      const plain = await post(service.url, rpc())
      expect(messageOf(plain).parts).to.have.lengthOf(1)
      expect(plain.headers['a2a-extensions']).to.equal(undefined)
      const named = await postWithExtension(rpc())
      expect(named.text).to.equal(plain.text)
      expect(named.headers['a2a-extensions']).to.equal(extension())
    })
  })

  it('[4.5.2] answers text with free usage instructions in a direct Message', async () => {
    const before = await service.paid()
    const reply = await post(service.url, sending({ parts: [{ text: `look up 73848 ${MARK}` }] }))
    const { messageId, role, parts, ...rest } = messageOf(reply)
    expect(rest).to.deep.equal({})
    expect(role).to.equal('ROLE_AGENT')
    expect(messageId).to.match(/^help-[0-9a-f]{32}$/)
    expect(parts).to.have.lengthOf(1)
    expect(parts[0]).to.have.all.keys('text', 'mediaType')
    for (const word of [extension(), 'lookup', 'search', 'resolve']) expect(parts[0]?.['text']).to.include(word)
    expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
    expectNoLeak(reply, MARK)
    expect(await service.paid()).to.deep.equal(before)
  })

  it('[4.5.2] answers a number with the data part and the headers that get its quote', async () => {
    const reply = await post(service.url, sending({ parts: [{ text: '73848' }] }))
    const help = String(messageOf(reply).parts[0]?.['text'])
    const [, part = ''] = /^(\{.*\})$/m.exec(help) ?? []
    const headers = [...help.matchAll(/(A2A-[A-Za-z]+): (\S+)/g)].map(([, name = '', value = '']) => [name, value])
    const quoted = await post(service.url, data(JSON.parse(part)), Object.fromEntries(headers) as Headers)
    expectRefusal(quoted, 'payment_required')
    expect(quoteIn(quoted)).to.have.nested.property('accepts[0].amount', '1000')
    expect(help).to.include('Price: 0.001 USDC')
  })

  it('[4.5.9, 4.5.13] has the settlement in the Message, and replays the same one under the JSON-RPC id of each request', async () => {
    const payment = await payFor(lookup('00000000'))
    const replies: RawReply[] = []
    for (const id of ['first', 2, 'third']) {
      const body = rpc({ id, params: { message: message({ messageId: `m-${id}`, parts: [LOOKUP] }) } })
      replies.push(await postWithExtension(body, { 'PAYMENT-SIGNATURE': payment }))
    }
    const [first] = replies as [RawReply, ...RawReply[]]
    const { messageId, metadata } = messageOf(first)
    expect(messageId).to.match(/^answer-[0-9a-f]{32}$/)
    const settlement = decodePaymentResponseHeader(String(first.headers['payment-response']))
    expect(metadata).to.deep.equal({ [extension()]: settlement })
    expect(metadata).to.have.nested.property(`${extension().replaceAll('.', '\\.')}.extensions.payment-receipt`)
    expect(replies.map(({ json }) => json['id'])).to.deep.equal(['first', 2, 'third'])
    for (const reply of replies) {
      expect(messageOf(reply)).to.deep.equal(messageOf(first))
      expect(reply.headers['payment-response']).to.equal(first.headers['payment-response'])
      expect(reply.headers['a2a-extensions']).to.equal(extension())
      expect(reply.headers['cache-control']).to.equal('private, no-store')
    }
  })
})

describe('[4.5.13] the Message of a sale whose receipt could not be signed', () => {
  it('gets the receipt at the next replay, in its metadata as in the header, and nothing else changes', async () => {
    const app = await startScriptedApp()
    const extension = `${app.url}/docs#http-x402-v1`
    const headers = { 'A2A-Extensions': extension, 'PAYMENT-SIGNATURE': header(await signedPayment()) }
    const { services } = app.sale.context
    const { signReceipt } = services
    services.signReceipt = () => Promise.reject(new Error('no key'))
    const buy = async () => {
      const reply = await post(app.url, data(LOOKUP.data), headers)
      const { metadata, ...told } = messageOf(reply)
      const settlement = decodePaymentResponseHeader(String(reply.headers['payment-response']))
      expect(metadata).to.deep.equal({ [extension]: settlement })
      return { told, receipt: settlement.extensions?.['payment-receipt'] }
    }
    const bought = await buy()
    services.signReceipt = signReceipt
    const replayed = await buy()
    await app.stop()
    expect(replayed.told).to.deep.equal(bought.told)
    expect(bought.receipt).to.equal(undefined)
    expect(replayed.receipt).to.have.nested.property('info.receipt')
    expect(app.sale.count('settle')).to.equal(1)
  })
})
