/** `POST /api/v1/resolve` over HTTP: accepted and refused input, quotes and sales (contract 4.3). */
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { resolveResponseSchema } from '../../agent/operation/resolve.ts'
import { detailOf, expectCharges, quoteOf, RESOLVE } from '../support/transports.ts'
import { begin, expectNoLeak, expectRefusal, send, type RawReply } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

/** Marks input of a hostile client. No refusal may contain it. */
const MARK = 'h0stile'
const PRICE = 2000n
const BODY_BYTES_MAX = 4096

/** A valid body of exactly `bytes` bytes. */
const sized = (bytes: number) => '{"name":"abc"}'.padEnd(bytes)
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

const NEITHER = 'name or company_number is required'
const UNKNOWN = 'unknown fields are not accepted, only name, company_number, eircode, address'
const NOT_JSON = 'it must be JSON in UTF-8'
const TWICE = 'a field is given twice'
const HIDDEN = 'must not contain control or invisible characters'

type Row = [name: string, body: unknown, rule: string | null]

/**
 * `rule` is the message of the refusal, or null when the body is accepted and quoted. One of each rule:
 * test/base/strict-json.test.ts and test/agent/operation have the others.
 */
const BODIES: Row[] = [
  ['everything', { name: 'abc', company_number: '1', eircode: 'D02X285', address: 'Main Street' }, null],
  ['escapes in names and values', ' \t\r\n{ "\\u006eame" : "\\u0061bc" }\n', null],
  ['nothing', '', NOT_JSON],
  ['a form', `name=${MARK}`, NOT_JSON],
  ['Latin-1', Buffer.from('{"name":"Caf\u00E9"}', 'latin1'), NOT_JSON],
  ['more than 24 levels', nested(25), NOT_JSON],
  ['a field twice inside', '{"name":"abc","address":{"x":1,"x":2}}', TWICE],
  ['24 levels', nested(24), 'must be an object'],
  ['nothing in it', {}, NEITHER],
  ['a field of the client', { name: 'abc', [`${MARK}!`]: 'abc' }, UNKNOWN],
  ['__proto__', '{"name":"abc","__proto__":{"company_number":"1"}}', UNKNOWN],
  ['a name with a lone surrogate', { name: 'Foo\uD800Bar' }, `name ${HIDDEN}`],
]

const TYPES: [type: string | string[], isAccepted: boolean][] = [
  ['application/json', true],
  ['Application/JSON', true],
  ['application/json; charset=utf-8', true],
  ['application/json;charset=UTF-8', true],
  ['application/json ; charset="utf-8"', true],
  ['application/json; charset=latin1', false],
  ['application/json; charset=utf-8; charset=latin1', false],
  [`application/json; ${MARK}=1;`, true],
  ['application/json, application/json', false],
  [['application/json', 'application/json'], false],
  ['text/plain', false],
  ['application/x-www-form-urlencoded', false],
  ['', false],
  [MARK, false],
]

describe('resolve over REST', () => {
  /** A valid payment that is sent with every request that must be refused. The last test buys with it. */
  let payment: string

  const { service, resolve, payFor, buy } = useService(() => startTestService())

  before(async () => {
    payment = await payFor(resolve({ name: 'abc' }))
  })

  function expectQuoted(reply: RawReply): void {
    expectRefusal(reply, 'payment_required')
    expect(quoteOf(reply)).to.deep.equal({ url: `${service.url}${RESOLVE}`, amount: String(PRICE) })
  }

  async function expectRefused(ask: (payment?: string) => Promise<RawReply>, code: RefusalCode): Promise<RawReply> {
    const unpaid = await ask()
    for (const reply of [unpaid, await ask(payment)]) {
      expectRefusal(reply, code)
      expectNoLeak(reply, MARK)
      expect(reply.text).to.equal(unpaid.text)
    }
    return unpaid
  }

  async function expectAnswer(body: unknown, rule: string | null): Promise<void> {
    if (rule === null) return expectQuoted(await resolve(body))
    const refusal = await expectRefused((paid) => resolve(body, paid), 'invalid_body')
    expect(detailOf(refusal)).to.equal(`The body is not valid: ${rule}.`)
  }

  describe('[4.3.2] checks the body', () => {
    for (const [name, body, rule] of BODIES) {
      it(`${name}: ${rule ?? 'accepted'}`, () => expectAnswer(body, rule))
    }
  })

  describe('[4.3.1] limits the body to 4 KiB', () => {
    for (const chunked of [false, true]) {
      const how = chunked ? ' in chunks' : ''
      it(`accepts ${BODY_BYTES_MAX} bytes${how}`, async () => {
        expectQuoted(await resolve(sized(BODY_BYTES_MAX), undefined, { chunked }))
      })

      for (const bytes of [BODY_BYTES_MAX + 1, 300_000]) {
        it(`refuses ${bytes} bytes${how} with 413`, () =>
          expectRefused((paid) => resolve(sized(bytes), paid, { chunked }), 'body_too_large'))
      }
    }

    it('answers as soon as the body is too large', async () => {
      const chunked = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' }
      expect(await begin(service.url, RESOLVE, chunked, sized(BODY_BYTES_MAX + 1))).to.equal(413)
      const announced = { 'Content-Length': String(BODY_BYTES_MAX + 1), 'Content-Type': 'application/json' }
      expect(await begin(service.url, RESOLVE, announced)).to.equal(413)
    })
  })

  describe('[4.3.1] requires a JSON Content-Type', () => {
    for (const [type, isAccepted] of TYPES) {
      it(`${JSON.stringify(type)}: ${isAccepted ? 'accepted' : '415'}`, async () => {
        const ask = (paid?: string) => resolve({ name: 'abc' }, paid, { headers: { 'Content-Type': type } })
        if (isAccepted) expectQuoted(await ask())
        else await expectRefused(ask, 'unsupported_media_type')
      })
    }

    it('no Content-Type: 415', async () => {
      const bare = { url: service.url, method: 'POST', path: RESOLVE }
      expectRefusal(await send({ ...bare, body: '{"name":"abc"}' }), 'unsupported_media_type')
      expectRefusal(await send(bare), 'unsupported_media_type')
    })

    for (const encoding of ['gzip', 'identity', MARK]) {
      it(`Content-Encoding ${encoding}: 415`, async () => {
        const body = encoding === 'gzip' ? gzipSync('{"name":"abc"}') : '{"name":"abc"}'
        const headers = { 'Content-Encoding': encoding }
        await expectRefused((paid) => resolve(body, paid, { headers }), 'unsupported_media_type')
      })
    }
  })

  describe('[4.3.1] refuses a query string', () => {
    for (const query of ['??', `?${MARK}`, '#']) {
      it(query, () =>
        expectRefused((paid) => resolve({ name: 'abc' }, paid, { path: `${RESOLVE}${query}` }), 'unexpected_input'),
      )
    }
  })

  it('[6.1.1] checks method, size, type and body in this order', async () => {
    const path = `${RESOLVE}?${MARK}`
    const headers = { 'Content-Type': 'text/plain' }
    const large = sized(BODY_BYTES_MAX + 1)
    expectRefusal(await resolve(large, undefined, { method: 'PUT', path, headers }), 'method_not_allowed')
    expectRefusal(await resolve(large, undefined, { path, headers }), 'body_too_large')
    expectRefusal(await resolve(MARK, undefined, { path, headers }), 'unsupported_media_type')
    expectRefusal(await resolve(MARK, undefined, { path }), 'unexpected_input')
    expectRefusal(await resolve(MARK), 'invalid_body')
    expectRefusal(await resolve({ name: 'abc' }, MARK), 'payment_invalid')
  })

  it('[5.5.1] charges and records nothing for refused input: the payment of these requests still buys', async () => {
    await expectCharges(service, [PRICE], async () => {
      expect((await resolve({ name: 'abc' }, payment)).status).to.equal(200)
    })
  })

  const UNMATCHED: [body: object, status: string][] = [
    [{ name: 'Twin Fixture Limited' }, 'ambiguous'],
    [{ name: 'Plain Fixture Limited', eircode: 'D02X285' }, 'conflicting'],
    [{ name: 'Qwxzvkj Yqxzwvk' }, 'no_match'],
  ]
  for (const [body, status] of UNMATCHED) {
    it(`[4.3.4, 5.5.1] is charged when the answer is ${status}`, () =>
      expectCharges(service, [PRICE], async () => {
        const bought = await buy((paid) => resolve(body, paid))
        expect(resolveResponseSchema.parse(bought.json)).to.include({ status, match: null })
      }))
  }
})
