/** Spec 4.5 on the wire: what `POST /a2a` answers to every shape of request, right or wrong, in JSON and our own words. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import express from 'express'
import { agentCard, paymentExtensionUri } from '../../agent/a2a/card.ts'
import { a2aRoute, BODY_BYTES_MAX, CALL_TIMEOUT_MS, CALLS_MAX, RESPONSE_BYTES_MAX } from '../../agent/a2a/route.ts'
import { CompanyAgentExecutor } from '../../agent/executor/agent-executor.ts'
import { header, signedPayment, testTerms } from '../support/payments.ts'
import { begin, expectNoLeak, expectRefusal, send, type RawReply } from '../support/raw-http.ts'
import { manualTimer } from '../support/registries.ts'
import { TestSeller } from '../support/seller.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Stands for what a hostile client sends; no answer may repeat it. */
const MARK = 'h0stile<script>'

const TEXT = { text: 'hello' }
const LOOKUP = { data: { operation: 'lookup', input: { company_number: '00000000' } } }

/** A message that is right but for the change. */
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

interface Call {
  body: unknown
  headers?: Record<string, string | string[]>
  /** Headers of a right request to leave out. */
  drop?: string[]
  chunked?: boolean
}

/** The body as text or bytes where it is one of these, and otherwise its JSON. */
function post(url: string, { body, headers = {}, drop = [], chunked = false }: Call): Promise<RawReply> {
  const all = { 'Content-Type': 'application/json', 'A2A-Version': '1.0', ...headers }
  const kept = Object.fromEntries(Object.entries(all).filter(([name]) => !drop.includes(name)))
  const bytes = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return send({ url, method: 'POST', path: '/a2a', headers: kept, body: bytes, chunked })
}

function expectRpcError(reply: RawReply, code: number, id: unknown): void {
  const error = reply.json['error'] as { code: number; message: string; data?: unknown } | undefined
  expect({ status: reply.status, code: error?.code, id: reply.json['id'] }).to.deep.equal({ status: 200, code, id })
  expect(reply.json).to.have.all.keys('jsonrpc', 'id', 'error')
  expect(reply.json).to.have.property('jsonrpc', '2.0')
  expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8')
  expect(error?.message).to.be.a('string').and.match(/\.$/)
  // The SDK's ErrorInfo goes with the codes of A2A, and with no others.
  expect(error?.data !== undefined).to.equal(code <= -32001 && code >= -32099)
  expectNoLeak(reply, MARK)
}

function messageOf(reply: RawReply): { messageId: string; role: string; parts: Record<string, unknown>[] } {
  expect(reply.status).to.equal(200)
  expect(reply.json).to.have.all.keys('jsonrpc', 'id', 'result')
  expect(reply.json['result']).to.have.all.keys('message')
  return (reply.json['result'] as { message: ReturnType<typeof messageOf> }).message
}

interface WireCase extends Call {
  name: string
  /** The error's code; its group's unless said otherwise. */
  code?: number
  /** What the answer's id is; the request's own unless said otherwise. */
  id?: unknown
}

const UTF8 = (text: string) => Buffer.from(text)
const PARSE: WireCase[] = [
  { name: 'malformed JSON', body: '{"jsonrpc":' },
  { name: 'a word', body: MARK },
  { name: 'broken UTF-8', body: Buffer.concat([UTF8('{"id":"'), Buffer.from([0xc3, 0x28]), UTF8('"}')]) },
  {
    name: 'a UTF-8 surrogate',
    body: Buffer.concat([UTF8('{"id":"'), Buffer.from([0xed, 0xa0, 0x80]), UTF8('"}')]),
  },
  { name: 'a byte order mark', body: `\uFEFF${JSON.stringify(rpc())}` },
  { name: 'UTF-16', body: Buffer.from(JSON.stringify(rpc()), 'utf16le') },
  { name: 'an empty body', body: '' },
  { name: 'blanks', body: '  \n' },
  { name: 'two requests after one another', body: JSON.stringify(rpc()).repeat(2) },
]

const INVALID: WireCase[] = [
  { name: 'a batch', body: [rpc()], id: null },
  { name: 'an empty batch', body: [], id: null },
  { name: 'a number', body: '7', id: null },
  { name: 'text', body: JSON.stringify(MARK), id: null },
  { name: 'null', body: 'null', id: null },
  { name: 'an empty object', body: {}, id: null },
  { name: 'no id', body: without(rpc(), 'id'), id: null },
  { name: 'an id of null', body: rpc({ id: null }), id: null },
  { name: 'an id of 1.5', body: rpc({ id: 1.5 }), id: null },
  { name: 'an id beyond the safe integers', body: '{"jsonrpc":"2.0","id":1e300,"method":"SendMessage"}', id: null },
  { name: 'an id of an object', body: rpc({ id: { a: MARK } }), id: null },
  { name: 'an id of true', body: rpc({ id: true }), id: null },
  { name: 'an id of 257 characters', body: rpc({ id: 'i'.repeat(257) }), id: null },
  { name: 'jsonrpc 1.0', body: rpc({ jsonrpc: '1.0' }) },
  { name: 'jsonrpc as a number', body: rpc({ jsonrpc: 2 }) },
  { name: 'no jsonrpc', body: without(rpc(), 'jsonrpc') },
  { name: 'no method', body: without(rpc(), 'method') },
  { name: 'a method that is not text', body: rpc({ method: 7 }) },
  { name: 'a member more', body: rpc({ [MARK]: 1 }) },
  { name: 'two ids', body: JSON.stringify(rpc()).replace('{', '{"id":8,'), id: null },
  { name: 'two methods', body: JSON.stringify(rpc()).replace('{', '{"method":"GetTask",'), id: null },
  { name: 'two texts', body: JSON.stringify(rpc()).replace('"text"', `"text":"${MARK}","text"`), id: null },
  {
    name: 'two numbers, one of them spelt with an escape',
    body: JSON.stringify(sending({ parts: [LOOKUP] })).replace(
      '"company_number"',
      `"\\u0063ompany_number":"${MARK}","company_number"`,
    ),
    id: null,
  },
]

const METHOD: WireCase[] = [MARK, 'message/send', 'sendMessage', 'toString', '__proto__', ''].map((method) => ({
  name: `method ${JSON.stringify(method)}`,
  body: rpc({ method }),
}))

const PARAMS: WireCase[] = [
  { name: 'no params', body: without(rpc(), 'params') },
  { name: 'params of an array', body: rpc({ params: [message()] }) },
  { name: 'params of null', body: rpc({ params: null }) },
  { name: 'params of text', body: rpc({ params: MARK }) },
  { name: 'no message', body: rpc({ params: {} }) },
  { name: 'a message of null', body: rpc({ params: { message: null } }) },
  { name: 'a message of an array', body: rpc({ params: { message: [message()] } }) },
  { name: 'no messageId', body: rpc({ params: { message: without(message(), 'messageId') } }) },
  { name: 'a messageId of a number', body: sending({ messageId: 5 }) },
  { name: 'an empty messageId', body: sending({ messageId: '' }) },
  { name: 'a messageId of 129 bytes', body: sending({ messageId: 'm'.repeat(129) }) },
  { name: 'a messageId of 65 characters and 130 bytes', body: sending({ messageId: 'é'.repeat(65) }) },
  { name: 'a messageId of a lone surrogate', body: sending({ messageId: '\uD800' }) },
  { name: 'no role', body: rpc({ params: { message: without(message(), 'role') } }) },
  { name: 'the role of an agent', body: sending({ role: 'ROLE_AGENT' }) },
  { name: 'the role "user"', body: sending({ role: 'user' }) },
  { name: 'a role by its number', body: sending({ role: 1 }) },
  { name: 'no parts', body: rpc({ params: { message: without(message(), 'parts') } }) },
  { name: 'parts that are no list', body: sending({ parts: TEXT }) },
  { name: 'an empty list of parts', body: sending({ parts: [] }) },
  { name: 'two parts', body: sending({ parts: [TEXT, TEXT] }) },
  { name: 'a part of null', body: sending({ parts: [null] }) },
  { name: 'a part of text alone', body: sending({ parts: [MARK] }) },
  { name: 'an empty part', body: sending({ parts: [{}] }) },
  { name: 'text and data in one part', body: sending({ parts: [{ ...TEXT, ...LOOKUP }] }) },
  { name: 'text of a number', body: sending({ parts: [{ text: 5 }] }) },
  { name: 'text of null', body: sending({ parts: [{ text: null }] }) },
  { name: 'a part of version 0.3', body: sending({ parts: [{ kind: 'text', text: 'hello' }] }) },
  { name: 'message_id', body: rpc({ params: { message: { ...without(message(), 'messageId'), message_id: 'm' } } }) },
  { name: 'context_id', body: sending({ context_id: 'c' }) },
  { name: 'media_type', body: sending({ parts: [{ ...TEXT, media_type: 'text/plain' }] }) },
  { name: 'a member more in the params', body: rpc({ params: { message: message(), [MARK]: 1 } }) },
  { name: 'a member more in the message', body: sending({ [MARK]: 1 }) },
  { name: 'a member more in the part', body: sending({ parts: [{ ...TEXT, [MARK]: 1 }] }) },
  { name: 'GetTask without an id', body: rpc({ method: 'GetTask', params: {} }) },
  { name: 'CancelTask without an id', body: rpc({ method: 'CancelTask', params: {} }) },
]

const VERSIONS: WireCase[] = [
  { name: 'no A2A-Version', body: rpc(), drop: ['A2A-Version'] },
  ...['', '0.3', '1.1', '1.0.1', '1', '1.00', '2.0', 'v1.0', MARK].map((version) => ({
    name: `A2A-Version "${version}"`,
    body: rpc(),
    headers: { 'A2A-Version': version },
  })),
  { name: 'two versions', body: rpc(), headers: { 'A2A-Version': ['1.0', '0.3'] } },
  { name: 'the same version twice', body: rpc(), headers: { 'A2A-Version': ['1.0', '1.0'] } },
]

const CONTENT: WireCase[] = [
  ...[
    'text/plain',
    'application/a2a+json',
    'application/jsonp',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    MARK,
  ].map((type) => ({
    name: `Content-Type ${type}`,
    code: -32005,
    body: rpc(),
    headers: { 'Content-Type': type },
    id: null,
  })),
  {
    name: 'two Content-Types',
    code: -32005,
    body: rpc(),
    headers: { 'Content-Type': ['application/json', 'application/json'] },
    id: null,
  },
  { name: 'no Content-Type', code: -32602, body: rpc(), drop: ['Content-Type'], id: null },
  { name: 'a part of raw bytes', code: -32005, body: sending({ parts: [{ raw: 'aGk=' }] }) },
  { name: 'a part of a URL', code: -32005, body: sending({ parts: [{ url: `https://${MARK}/` }] }) },
]

const UNSUPPORTED: WireCase[] = [
  { name: 'a contextId', code: -32004, body: sending({ contextId: MARK }) },
  { name: 'a taskId', code: -32001, body: sending({ taskId: MARK }) },
  { name: 'a task that is referred to', code: -32001, body: sending({ referenceTaskIds: [MARK] }) },
  { name: 'a taskId and a contextId', code: -32001, body: sending({ taskId: 't', contextId: 'c' }) },
  { name: 'GetTask', code: -32001, body: rpc({ method: 'GetTask', params: { id: MARK } }) },
  { name: 'CancelTask', code: -32001, body: rpc({ method: 'CancelTask', params: { id: MARK } }) },
  { name: 'SendStreamingMessage', code: -32004, body: rpc({ method: 'SendStreamingMessage' }) },
  {
    name: 'SendStreamingMessage of data',
    code: -32004,
    body: rpc({ method: 'SendStreamingMessage', params: { message: message({ parts: [LOOKUP] }) } }),
  },
  { name: 'SubscribeToTask', code: -32004, body: rpc({ method: 'SubscribeToTask', params: { id: 't' } }) },
  { name: 'GetExtendedAgentCard', code: -32004, body: rpc({ method: 'GetExtendedAgentCard', params: {} }) },
  {
    name: 'GetExtendedAgentCard without params',
    code: -32004,
    body: without(rpc({ method: 'GetExtendedAgentCard' }), 'params'),
  },
  {
    name: 'CreateTaskPushNotificationConfig',
    code: -32003,
    body: rpc({
      method: 'CreateTaskPushNotificationConfig',
      params: { taskId: 't', id: 'c', url: 'https://example.com/' },
    }),
  },
  ...['GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig'].map(
    (method) => ({ name: method, code: -32003, body: rpc({ method, params: { taskId: 't', id: 'c' } }) }),
  ),
  {
    name: 'a push configuration with the message',
    code: -32003,
    body: rpc({
      params: { message: message(), configuration: { taskPushNotificationConfig: { url: 'https://example.com/' } } },
    }),
  },
]

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

describe('the A2A door', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  const extension = () => `${service.url}/docs#http-x402-v1`
  const structured = (body: unknown, headers: Record<string, string> = {}) =>
    post(service.url, { body, headers: { 'A2A-Extensions': extension(), ...headers } })
  const ask = (method: string, path = '/a2a') => send({ url: service.url, method, path })

  describe('answers with a JSON-RPC error over HTTP 200 to', () => {
    const groups: { title: string; cases: WireCase[]; code?: number; id?: unknown }[] = [
      { title: 'a body that is no JSON', cases: PARSE, code: -32700, id: null },
      { title: 'an envelope that is no request', cases: INVALID, code: -32600 },
      { title: 'an unknown method', cases: METHOD, code: -32601 },
      { title: 'wrong parameters', cases: PARAMS, code: -32602 },
      { title: 'another version', cases: VERSIONS, code: -32009 },
      { title: 'another kind of content', cases: CONTENT },
      { title: 'what this agent does not do', cases: UNSUPPORTED },
    ]
    for (const group of groups) {
      describe(group.title, () => {
        for (const {
          name,
          code = group.code ?? 0,
          id = group.id === undefined ? 7 : group.id,
          ...call
        } of group.cases) {
          it(`${name}: ${code}`, async () => {
            expectRpcError(await post(service.url, call), code, id)
          })
        }
      })
    }

    describe('nesting as deep as a body can be, in', () => {
      const DEEP = '"deep"'
      const places: WireCase[] = [
        { name: 'the body', code: -32600, body: DEEP, id: null },
        { name: 'the params', body: JSON.stringify(rpc({ params: 'deep' })) },
        { name: 'the metadata', body: JSON.stringify(sending({ metadata: { a: 'deep' } })) },
        { name: 'a task’s id', body: JSON.stringify(rpc({ method: 'GetTask', params: { id: 'deep' } })) },
        { name: 'data', body: JSON.stringify(data('deep')) },
        { name: 'an input', body: JSON.stringify(data({ operation: 'lookup', input: 'deep' })) },
      ]
      for (const { name, code = -32602, body, id = 7 } of places) {
        it(`${name}: ${code}`, async () => {
          const reply = await structured(String(body).replace(DEEP, nested(7_800)))
          expectRpcError(reply, code, id)
          expect(service.reports).to.deep.equal([])
        })
      }
    })
  })

  describe('takes', () => {
    const right: (Call & { name: string })[] = [
      { name: 'a messageId of 128 bytes', body: sending({ messageId: 'm'.repeat(128) }) },
      { name: 'a messageId of 64 characters and 128 bytes', body: sending({ messageId: 'é'.repeat(64) }) },
      { name: 'an id of text', body: rpc({ id: 'seven' }) },
      { name: 'an id of 256 characters', body: rpc({ id: 'i'.repeat(256) }) },
      { name: 'an id of 0', body: rpc({ id: 0 }) },
      { name: 'a negative id', body: rpc({ id: -1 }) },
      { name: 'a charset', body: rpc(), headers: { 'Content-Type': 'application/json; charset=utf-8' } },
      { name: 'a type in capitals', body: rpc(), headers: { 'Content-Type': 'Application/JSON' } },
      {
        name: 'what the SDK’s client leaves empty',
        body: sending({ taskId: '', contextId: '', referenceTaskIds: [] }),
      },
      {
        name: 'metadata and a configuration',
        body: rpc({
          params: { message: message({ metadata: { a: 1 } }), configuration: { acceptedOutputModes: ['text/plain'] } },
        }),
      },
    ]
    for (const { name, ...call } of right) {
      it(name, async () => {
        const reply = await post(service.url, call)
        expect(messageOf(reply).role).to.equal('ROLE_AGENT')
        expect(reply.json).to.have.property('id', (call.body as { id: unknown }).id)
      })
    }
  })

  it('lists no tasks, whatever was asked before', async () => {
    await structured(data(LOOKUP.data))
    const reply = await post(service.url, { body: rpc({ method: 'ListTasks', params: {} }) })
    expect(reply.status).to.equal(200)
    expect(reply.json).to.have.all.keys('jsonrpc', 'id', 'result')
    const { tasks } = reply.json['result'] as { tasks?: unknown[] }
    expect(tasks ?? []).to.deep.equal([])
  })

  describe('asks for the payment extension', () => {
    const cases: { name: string; value: (uri: string) => string | string[] | undefined; named: boolean }[] = [
      { name: 'no header', value: () => undefined, named: false },
      { name: 'an empty header', value: () => '', named: false },
      { name: 'another URI', value: () => 'https://example.com/ext', named: false },
      { name: 'the URI with more behind it', value: (uri) => `${uri}x`, named: false },
      { name: 'the URI in capitals', value: (uri) => uri.toUpperCase(), named: false },
      { name: 'the URI', value: (uri) => uri, named: true },
      { name: 'several URIs and blanks', value: (uri) => `https://example.com/ext ,\t${uri} , ,x`, named: true },
      { name: 'two headers', value: (uri) => ['https://example.com/ext', uri], named: true },
    ]
    for (const { name, value, named } of cases) {
      it(`of data: ${name} is ${named ? 'enough' : '-32008'}`, async () => {
        const uris = value(extension())
        const headers = uris === undefined ? {} : { 'A2A-Extensions': uris }
        const reply = await post(service.url, { body: sending({ parts: [LOOKUP] }), headers })
        if (named) expectRefusal(reply, 'payment_required')
        else expectRpcError(reply, -32008, 7)
        expect(reply.headers['a2a-extensions']).to.equal(named ? extension() : undefined)
      })
    }

    it('of text: never', async () => {
      const plain = await post(service.url, { body: rpc() })
      expect(messageOf(plain).parts).to.have.lengthOf(1)
      expect(plain.headers['a2a-extensions']).to.equal(undefined)
      const named = await structured(rpc())
      expect(named.text).to.equal(plain.text)
      expect(named.headers['a2a-extensions']).to.equal(extension())
    })
  })

  it('answers text for free with a direct Message that says how to buy', async () => {
    const before = await service.paid()
    const reply = await post(service.url, { body: sending({ parts: [{ text: `look up 73848 ${MARK}` }] }) })
    const { messageId, role, parts, ...rest } = messageOf(reply)
    expect(rest).to.deep.equal({})
    expect(role).to.equal('ROLE_AGENT')
    expect(messageId).to.match(/^help-[0-9a-f]{32}$/)
    expect(parts).to.have.lengthOf(1)
    expect(parts[0]).to.have.all.keys('text', 'mediaType')
    expect(parts[0]?.['text'])
      .to.include(extension())
      .and.to.include('lookup')
      .and.to.include('search')
      .and.to.include('resolve')
    expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
    expectNoLeak(reply, MARK)
    expect(await service.paid()).to.deep.equal(before)
  })

  describe('refuses data as REST does, with its status and body:', () => {
    const cases: [name: string, value: unknown, code: Parameters<typeof expectRefusal>[1]][] = [
      ['null', null, 'invalid_body'],
      ['text', MARK, 'invalid_body'],
      ['a list', [LOOKUP.data], 'invalid_body'],
      ['nothing in it', {}, 'invalid_body'],
      ['an unknown operation', { operation: MARK, input: {} }, 'invalid_body'],
      ['an operation by a name of every object', { operation: 'constructor', input: {} }, 'invalid_body'],
      ['a member more', { ...LOOKUP.data, [MARK]: 1 }, 'invalid_body'],
      ['no input', { operation: 'lookup' }, 'invalid_body'],
      ['an input of null', { operation: 'lookup', input: null }, 'invalid_company_number'],
      ['an input of a list', { operation: 'lookup', input: ['00000000'] }, 'invalid_company_number'],
      [
        'an unknown field',
        { operation: 'lookup', input: { company_number: '1', [MARK]: 1 } },
        'invalid_company_number',
      ],
      ['no number', { operation: 'lookup', input: {} }, 'invalid_company_number'],
      ['a number as a number', { operation: 'lookup', input: { company_number: 1 } }, 'invalid_company_number'],
      ['an empty number', { operation: 'lookup', input: { company_number: '' } }, 'invalid_company_number'],
      [
        'a number of 21 digits',
        { operation: 'lookup', input: { company_number: '1'.repeat(21) } },
        'invalid_company_number',
      ],
      ['letters', { operation: 'lookup', input: { company_number: MARK } }, 'invalid_company_number'],
      ['digits of another script', { operation: 'lookup', input: { company_number: '١٢٣' } }, 'invalid_company_number'],
      ['a line end', { operation: 'lookup', input: { company_number: '1\n' } }, 'invalid_company_number'],
    ]
    for (const [name, value, code] of cases) {
      it(`${name}: ${code}`, async () => {
        const reply = await structured(data(value))
        expectRefusal(reply, code)
        expectNoLeak(reply, MARK)
        expect(reply.headers['cache-control']).to.equal('private, no-store')
        expect(reply.headers['payment-required']).to.equal(undefined)
      })
    }

    it('takes a number of 20 digits', async () => {
      const reply = await structured(data({ operation: 'lookup', input: { company_number: '1'.repeat(20) } }))
      expectRefusal(reply, 'payment_required')
    })

    it('an unreadable payment: payment_invalid', async () => {
      const reply = await structured(data(LOOKUP.data), { 'PAYMENT-SIGNATURE': MARK })
      expectRefusal(reply, 'payment_invalid')
      expectNoLeak(reply, MARK)
    })
  })

  describe('over HTTP', () => {
    /** A right request of exactly so many bytes. */
    function sized(bytes: number): string {
      const [head, tail] = JSON.stringify(sending({ parts: [{ text: '@' }] })).split('@') as [string, string]
      return `${head}${'x'.repeat(bytes - head.length - tail.length)}${tail}`
    }

    for (const chunked of [false, true]) {
      const how = chunked ? ' in chunks' : ''
      it(`takes ${BODY_BYTES_MAX} bytes${how}`, async () => {
        expect(messageOf(await post(service.url, { body: sized(BODY_BYTES_MAX), chunked })).role).to.equal('ROLE_AGENT')
      })

      it(`refuses ${BODY_BYTES_MAX + 1} bytes${how} with 413`, async () => {
        expectRefusal(await post(service.url, { body: sized(BODY_BYTES_MAX + 1), chunked }), 'body_too_large')
      })

      it(`refuses 200 KiB${how} with 413`, async () => {
        expectRefusal(await post(service.url, { body: sized(204_800), chunked }), 'body_too_large')
      })
    }

    it('waits for no more than it has to of a body that is too large', async () => {
      const type = { 'Content-Type': 'application/json', 'A2A-Version': '1.0' }
      const large = sized(BODY_BYTES_MAX + 1)
      expect(await begin(service.url, '/a2a', { ...type, 'Transfer-Encoding': 'chunked' }, large)).to.equal(413)
      expect(await begin(service.url, '/a2a', { ...type, 'Content-Length': String(large.length) })).to.equal(413)
    })

    for (const encoding of ['gzip', 'deflate', 'br', 'identity', MARK]) {
      it(`refuses Content-Encoding ${encoding} with 415`, async () => {
        const body = encoding === 'gzip' ? gzipSync(JSON.stringify(rpc())) : JSON.stringify(rpc())
        const reply = await post(service.url, { body, headers: { 'Content-Encoding': encoding } })
        expectRefusal(reply, 'unsupported_media_type')
        expectNoLeak(reply, MARK)
      })
    }

    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD', 'PATCH']) {
      it(`refuses ${method} with 405 and Allow: POST`, async () => {
        const reply = await ask(method)
        expect(reply.headers['allow']).to.equal('POST')
        if (method === 'HEAD') expect(reply).to.deep.include({ status: 405, text: '' })
        else expectRefusal(reply, 'method_not_allowed')
      })
    }

    for (const path of ['/a2a/', '/A2A', '/a2a/x', '/a2a%2f', '//a2a', '/%612a']) {
      it(`has nothing at ${path}`, async () => {
        expectRefusal(await ask('POST', path), 'not_found')
        expectRefusal(await ask('GET', path), 'not_found')
      })
    }

    it('answers a CORS preflight', async () => {
      const reply = await ask('OPTIONS')
      expect(reply.status).to.equal(204)
      expect(reply.headers['access-control-allow-headers']).to.include('A2A-Version').and.include('A2A-Extensions')
    })
  })

  it('gives the same Message to every replay, under the id of each request', async () => {
    const quote = await structured(sending({ parts: [LOOKUP] }))
    const payment = await service.pay(String(quote.headers['payment-required']))
    const replies: RawReply[] = []
    for (const id of ['first', 2, 'third']) {
      const body = rpc({ id, params: { message: message({ messageId: `m-${id}`, parts: [LOOKUP] }) } })
      replies.push(await structured(body, { 'PAYMENT-SIGNATURE': payment }))
    }
    const [first] = replies as [RawReply, ...RawReply[]]
    expect(messageOf(first).messageId).to.match(/^answer-[0-9a-f]{32}$/)
    expect(replies.map(({ json }) => json['id'])).to.deep.equal(['first', 2, 'third'])
    for (const reply of replies) {
      expect(messageOf(reply)).to.deep.equal(messageOf(first))
      expect(reply.headers['payment-response']).to.equal(first.headers['payment-response'])
      expect(reply.headers['a2a-extensions']).to.equal(extension())
      expect(reply.headers['cache-control']).to.equal('private, no-store')
    }
  })
})

describe('the A2A door under load', () => {
  it(`works on ${CALLS_MAX} calls at once and asks the next to come again`, async () => {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    let waiting = 0
    let full: () => void = () => undefined
    const allWait = new Promise<void>((resolve) => (full = resolve))
    const service = await startTestService({
      doors: (own) => ({
        ...own,
        facilitator: {
          verify: async (...payment) => {
            waiting += 1
            if (waiting === CALLS_MAX) full()
            await gate
            return own.facilitator.verify(...payment)
          },
          settle: (...payment) => own.facilitator.settle(...payment),
          getSupported: () => own.facilitator.getSupported(),
        },
      }),
    })
    try {
      const headers = { 'A2A-Extensions': `${service.url}/docs#http-x402-v1` }
      const call = { body: sending({ parts: [LOOKUP] }), headers }
      const quote = String((await post(service.url, call)).headers['payment-required'])
      const payments = await Promise.all(Array.from({ length: CALLS_MAX }, () => service.pay(quote)))
      const calls = payments.map((payment) =>
        post(service.url, { ...call, headers: { ...headers, 'PAYMENT-SIGNATURE': payment } }),
      )
      await allWait

      const ninth = await post(service.url, { body: rpc() })
      expectRefusal(ninth, 'overloaded')
      expect(ninth.headers['retry-after']).to.equal('1')
      // The limit is the agents' door's own.
      const rest = await send({ url: service.url, path: '/api/v1/company/00000000' })
      expectRefusal(rest, 'payment_required')

      release()
      for (const reply of await Promise.all(calls)) expect(messageOf(reply).role).to.equal('ROLE_AGENT')
      expect(messageOf(await post(service.url, { body: rpc() })).role).to.equal('ROLE_AGENT')
    } finally {
      release()
      await service.stop()
    }
  })

  describe('on a seller that a test can hold up', () => {
    const baseUrl = 'http://127.0.0.1:4021'
    const extensionUri = paymentExtensionUri(baseUrl)
    let seller: TestSeller
    let server: Server | undefined
    let url: string
    let clock: ReturnType<typeof manualTimer>

    beforeEach(async () => {
      seller = await TestSeller.open()
      clock = manualTimer()
    })
    afterEach(async () => {
      await new Promise((resolve) => server?.close(resolve))
      await seller.close()
    })

    async function open(help = 'help'): Promise<void> {
      const executor = new CompanyAgentExecutor({ seller: seller.seller, baseUrl, help })
      const { onSale } = executor
      const card = agentCard({ baseUrl, version: '0.1.0', terms: testTerms, onSale, extensionRequired: false })
      const report = () => undefined
      server = createServer(express().use(a2aRoute({ executor, card, extensionUri, timer: clock.timer, report })))
      await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    }

    const buy = (payment: string) =>
      post(url, {
        body: sending({ parts: [LOOKUP] }),
        headers: { 'A2A-Extensions': extensionUri, 'PAYMENT-SIGNATURE': payment },
      })

    /** Holds every step of that name up, and says when so many of them wait. */
    function hold(step: 'verify' | 'settle', count: number) {
      let release: () => void = () => undefined
      const gate = new Promise<void>((resolve) => (release = resolve))
      let arrive: () => void = () => undefined
      const arrived = new Promise<void>((resolve) => (arrive = resolve))
      let waiting = 0
      const held = <Arguments extends unknown[], Reply>(work: (...given: Arguments) => Promise<Reply>) => {
        return async (...given: Arguments): Promise<Reply> => {
          waiting += 1
          if (waiting === count) arrive()
          await gate
          return work(...given)
        }
      }
      if (step === 'verify') seller.script.verify = held(seller.script.verify)
      else seller.script.settle = held(seller.script.settle)
      return { release, arrived }
    }

    /** Until so many calls wait for the end of their time. */
    async function callsWaiting(count: number): Promise<void> {
      while (clock.times().length < count) await new Promise((resolve) => setImmediate(resolve))
    }

    it('answers 502 after 65 s, and the retry with the same payment gets the answer that was stored meanwhile', async () => {
      await open()
      const { release, arrived } = hold('settle', 1)
      const payment = header(await signedPayment())
      const first = buy(payment)
      await arrived
      expect(CALL_TIMEOUT_MS).to.equal(65_000)
      expect(clock.times()).to.deep.equal([CALL_TIMEOUT_MS])
      clock.pass(CALL_TIMEOUT_MS - 1)
      expect(clock.times()).to.deep.equal([CALL_TIMEOUT_MS])
      clock.pass(CALL_TIMEOUT_MS)
      expectRefusal(await first, 'gateway_unavailable')
      // The sale still runs; a retry waits for it rather than sell again.
      const second = buy(payment)
      await callsWaiting(1)
      clock.pass(CALL_TIMEOUT_MS)
      expectRefusal(await second, 'gateway_unavailable')
      release()
      const answer = await buy(payment)
      expect(messageOf(answer).messageId).to.match(/^answer-/)
      expect(answer.headers['payment-response']).to.be.a('string')
      expect(seller.calls.filter((call) => call === 'settle')).to.have.lengthOf(1)
      expect(clock.times()).to.deep.equal([])
    })

    it('keeps the place of each call that goes on, and no longer', async () => {
      await open()
      const { release, arrived } = hold('verify', CALLS_MAX)
      const payments = await Promise.all(Array.from({ length: CALLS_MAX }, async () => header(await signedPayment())))
      const calls = payments.map(buy)
      await arrived
      clock.pass(CALL_TIMEOUT_MS)
      for (const reply of await Promise.all(calls)) expectRefusal(reply, 'gateway_unavailable')
      expectRefusal(await buy(payments[0] as string), 'overloaded')
      release()
      while ((await post(url, { body: rpc() })).status !== 200) await new Promise((resolve) => setTimeout(resolve, 5))
      for (const payment of payments) expect(messageOf(await buy(payment)).role).to.equal('ROLE_AGENT')
    })

    it('sends an answer of 1 MiB, and 502 in place of a larger one', async () => {
      await open('')
      const empty = await post(url, { body: rpc() })
      const room = RESPONSE_BYTES_MAX - Buffer.byteLength(empty.text)
      for (const [help, fits] of [
        ['x'.repeat(room), true],
        ['x'.repeat(room + 1), false],
        [`${'x'.repeat(room - 1)}é`, false],
      ] as const) {
        await new Promise((resolve) => server?.close(resolve))
        await open(help)
        const reply = await post(url, { body: rpc() })
        if (fits) expect([reply.status, Buffer.byteLength(reply.text)]).to.deep.equal([200, 1_048_576])
        else expectRefusal(reply, 'gateway_unavailable')
      }
    })
  })
})
