/** Spec 4.3 on the wire: what `POST /api/v1/resolve` takes, refuses, quotes and sells. */
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { resolveResponseSchema } from '../../agent/operation/result.ts'
import { RESOLVE_BODY_BYTES_MAX } from '../../rest-facade/paid.ts'
import { detailOf, doorsOf, EIRCODES, HIDDEN, LENGTHS, NOTHING, once, quoteOf, RESOLVE } from '../support/doors.ts'
import { begin, expectNoLeak, expectRefusal, send, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Stands for what a hostile client sends; no refusal may repeat it. */
const MARK = 'h0stile'
const PRICE = 2000n

/** A right body of exactly so many bytes. */
const sized = (bytes: number) => '{"name":"abc"}'.padEnd(bytes)
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

const NEITHER = 'name or company_number is required'
const UNKNOWN = 'unknown fields are not accepted'
const NOT_JSON = 'it must be JSON in UTF-8'
const TWICE = 'a field is given twice'
const NUMBER = 'company_number must be 1 to 20 ASCII digits'

type Row = [name: string, body: unknown, rule: string | null]

/** A rule of null: it is taken, and quoted. */
const BODIES: Row[] = [
  ['a name', { name: 'abc' }, null],
  ['a number', { company_number: '1' }, null],
  ['everything', { name: 'abc', company_number: '1', eircode: 'D02X285', address: 'Main Street' }, null],
  ['blanks around it', ' \t\r\n{ "name" : "abc" }\n', null],
  ['escapes in names and values', '{"\\u006eame":"\\u0061bc"}', null],
  // Not JSON
  ['nothing', '', NOT_JSON],
  ['blanks', '  ', NOT_JSON],
  ['a word', MARK, NOT_JSON],
  ['half an object', '{"name":"abc"', NOT_JSON],
  ['two objects', '{"name":"abc"}{}', NOT_JSON],
  ['a comma too many', '{"name":"abc",}', NOT_JSON],
  ['single quotes', "{'name':'abc'}", NOT_JSON],
  ['a comment', '{"name":"abc"}//', NOT_JSON],
  ['a raw line end in a text', '{"name":"abc\n"}', NOT_JSON],
  ['a form', `name=${MARK}`, NOT_JSON],
  ['a byte order mark', '\uFEFF{"name":"abc"}', NOT_JSON],
  ['UTF-16', Buffer.from('{"name":"abc"}', 'utf16le'), NOT_JSON],
  ['Latin-1', Buffer.from('{"name":"Caf\u00E9"}', 'latin1'), NOT_JSON],
  ['an overlong byte sequence', Buffer.from([...Buffer.from('{"name":"abc'), 0xc0, 0xaf, 0x22, 0x7d]), NOT_JSON],
  ['a surrogate in UTF-8', Buffer.from([...Buffer.from('{"name":"abc'), 0xed, 0xa0, 0x80, 0x22, 0x7d]), NOT_JSON],
  // Twice
  ['a field twice', `{"name":"abc","name":"${MARK}"}`, TWICE],
  ['the same field twice', '{"name":"abc","name":"abc"}', TWICE],
  ['a field twice, once by escapes', '{"name":"abc","\\u006eame":"abc"}', TWICE],
  ['an unknown field twice', '{"name":"abc","x":1,"x":2}', TWICE],
  ['a field twice inside', '{"name":"abc","address":{"x":1,"x":2}}', TWICE],
  ['__proto__ twice', '{"name":"abc","__proto__":1,"__proto__":2}', TWICE],
  // Not an object
  ...['null', 'true', '7', '"abc"', '[]', '[{"name":"abc"}]', nested(2_000)].map((body): Row => [
    body.slice(0, 20),
    body,
    'must be an object',
  ]),
  // Fields
  ['nothing in it', {}, NEITHER],
  ['an address alone', { address: 'Main Street' }, NEITHER],
  ['an Eircode alone', { eircode: 'D02X285' }, NEITHER],
  ...[MARK, 'Name', 'q', 'limit', 'status', 'constructor', 'toString', '\uD800', ''].map((field): Row => [
    `a field ${JSON.stringify(field)}`,
    { name: 'abc', [field]: 'abc' },
    UNKNOWN,
  ]),
  ['__proto__', '{"name":"abc","__proto__":{"company_number":"1"}}', UNKNOWN],
  ['__proto__ alone', '{"__proto__":{"name":"abc"}}', UNKNOWN],
  ...[null, 7, true, ['abc'], { name: 'abc' }].flatMap((value): Row[] => [
    [`a name of ${JSON.stringify(value)}`, { name: value }, 'name must be text'],
    [`an address of ${JSON.stringify(value)}`, { name: 'abc', address: value }, 'address must be text'],
    [`an Eircode of ${JSON.stringify(value)}`, { name: 'abc', eircode: value }, 'eircode must be text'],
    [
      `a number of ${JSON.stringify(value)}`,
      { name: 'abc', company_number: value },
      'company_number must be text of 1 to 20 ASCII digits',
    ],
  ]),
  ['a name nested deeply', `{"name":${nested(1_500)}}`, 'name must be text'],
  ['a number of 20 digits', { company_number: '9'.repeat(20) }, null],
  ['a number with leading zeros', { company_number: '000001' }, null],
  ...['', '1'.repeat(21), ' 1', '1\n', '-1', '+1', '1.0', '1e3', '0x1', '\u0661', '\uFF11', MARK].map((number): Row => [
    `a number ${JSON.stringify(number)}`,
    { company_number: number },
    NUMBER,
  ]),
  ['a wrong number beside a right name', { name: 'abc', company_number: MARK }, NUMBER],
]

const TYPES: [type: string | string[], taken: boolean][] = [
  ['application/json', true],
  ['Application/JSON', true],
  ['application/json; charset=utf-8', true],
  ['application/json;charset=UTF-8', true],
  ['application/json ; charset="utf-8"', true],
  ['application/json; charset=latin1', false],
  ['application/json; charset=utf-16', false],
  ['application/json; charset=', false],
  ['application/json; charset=utf-8; charset=utf-8', false],
  [`application/json; ${MARK}=1`, false],
  ['application/json, application/json', false],
  [['application/json', 'application/json'], false],
  ['application/jsonp', false],
  ['application/problem+json', false],
  ['text/json', false],
  ['text/plain', false],
  ['application/x-www-form-urlencoded', false],
  ['multipart/form-data; boundary=x', false],
  ['*/*', false],
  ['', false],
  [MARK, false],
]

describe('a resolution over REST', () => {
  let service: TestService
  /** Sent along with whatever is to be refused, and good to the end: a payment on record would not be. */
  let payment: string

  before(async () => {
    service = await startTestService()
    payment = await payFor(resolve({ name: 'abc' }))
  })
  after(() => service.stop())

  const { search, resolve, cost, payFor } = doorsOf(() => service)

  function expectQuoted(reply: RawReply): void {
    expectRefusal(reply, 'payment_required')
    expect(quoteOf(reply)).to.deep.equal({ url: `${service.url}${RESOLVE}`, amount: String(PRICE) })
  }

  async function expectRefused(ask: (payment?: string) => Promise<RawReply>, code: RefusalCode): Promise<RawReply> {
    const unpaid = await ask()
    for (const reply of [unpaid, await ask(payment)]) {
      expectRefusal(reply, code)
      expectNoLeak(reply, MARK)
      expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
      expect(reply.text).to.equal(unpaid.text)
    }
    return unpaid
  }

  async function expectAnswer(body: unknown, rule: string | null): Promise<void> {
    if (rule === null) return expectQuoted(await resolve(body))
    const refusal = await expectRefused((paid) => resolve(body, paid), 'invalid_body')
    expect(detailOf(refusal)).to.equal(`The body is not valid: ${rule}.`)
  }

  describe('by a body of', () => {
    for (const [name, body, rule] of BODIES) {
      it(`${name}: ${rule ?? 'taken'}`, () => expectAnswer(body, rule))
    }
  })

  for (const field of ['name', 'address'] as const) {
    const bodyWith = (text: string) => ({ name: 'abc', [field]: text })

    describe(`takes ${field} of 3 to 160 characters:`, () => {
      for (const [name, text, fits] of LENGTHS) {
        it(`${name}: ${fits ? 'yes' : 'no'}`, async () => {
          if (fits) expectQuoted(await resolve(bodyWith(text)))
          else
            expect(detailOf(await expectRefused((paid) => resolve(bodyWith(text), paid), 'invalid_body'))).to.include(
              field,
            )
        })
      }
    })

    describe(`refuses ${field} with`, () => {
      for (const [name, text] of [...HIDDEN, ['a lone surrogate', 'Foo\uD800Bar'] as const]) {
        it(name, () => expectAnswer(bodyWith(text), `${field} must not contain control or invisible characters`))
      }
    })
  }

  describe('takes an Eircode of seven letters or digits:', () => {
    for (const [eircode, fits] of EIRCODES) {
      it(`${JSON.stringify(eircode)}: ${fits ? 'yes' : 'no'}`, async () => {
        if (fits) expectQuoted(await resolve({ name: 'abc', eircode }))
        else await expectRefused((paid) => resolve({ name: 'abc', eircode }, paid), 'invalid_body')
      })
    }
  })

  describe('takes', () => {
    for (const chunked of [false, true]) {
      const how = chunked ? ' in chunks' : ''
      it(`${RESOLVE_BODY_BYTES_MAX} bytes${how}`, async () => {
        expectQuoted(await resolve(sized(RESOLVE_BODY_BYTES_MAX), undefined, { chunked }))
      })

      for (const bytes of [RESOLVE_BODY_BYTES_MAX + 1, 300_000]) {
        it(`not ${bytes} bytes${how}: 413`, () =>
          expectRefused((paid) => resolve(sized(bytes), paid, { chunked }), 'body_too_large'))
      }
    }

    it('no more than it has to of a body that is too large', async () => {
      const chunked = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' }
      expect(await begin(service.url, RESOLVE, chunked, sized(RESOLVE_BODY_BYTES_MAX + 1))).to.equal(413)
      const announced = { 'Content-Length': String(RESOLVE_BODY_BYTES_MAX + 1), 'Content-Type': 'application/json' }
      expect(await begin(service.url, RESOLVE, announced)).to.equal(413)
    })
  })

  describe('takes JSON only, by its Content-Type:', () => {
    for (const [type, taken] of TYPES) {
      it(`${JSON.stringify(type)}: ${taken ? 'yes' : '415'}`, async () => {
        const ask = (paid?: string) => resolve({ name: 'abc' }, paid, { headers: { 'Content-Type': type } })
        if (taken) expectQuoted(await ask())
        else await expectRefused(ask, 'unsupported_media_type')
      })
    }

    it('none: 415', async () => {
      const bare = { url: service.url, method: 'POST', path: RESOLVE }
      expectRefusal(await send({ ...bare, body: '{"name":"abc"}' }), 'unsupported_media_type')
      expectRefusal(await send(bare), 'unsupported_media_type')
    })

    for (const encoding of ['gzip', 'deflate', 'br', 'identity', MARK]) {
      it(`Content-Encoding ${encoding}: 415`, async () => {
        const body = encoding === 'gzip' ? gzipSync('{"name":"abc"}') : '{"name":"abc"}'
        const headers = { 'Content-Encoding': encoding }
        await expectRefused((paid) => resolve(body, paid, { headers }), 'unsupported_media_type')
      })
    }
  })

  describe('accepts no query string:', () => {
    for (const query of ['?', '?name=abc', `?${MARK}`, '?%zz', '#', `#${MARK}`]) {
      it(query, () =>
        expectRefused((paid) => resolve({ name: 'abc' }, paid, { path: `${RESOLVE}${query}` }), 'unexpected_input'),
      )
    }
  })

  describe('refuses other methods with 405 and Allow: POST:', () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'TRACE']) {
      it(method, async () => {
        const reply = await send({ url: service.url, method, path: RESOLVE })
        expect(reply.headers['allow']).to.equal('POST')
        if (method === 'HEAD') expect(reply).to.deep.include({ status: 405, text: '' })
        else expectRefusal(reply, 'method_not_allowed')
      })
    }
  })

  it('looks at the method, the size, the type and the body, in this order', async () => {
    const path = `${RESOLVE}?${MARK}`
    const headers = { 'Content-Type': 'text/plain' }
    const large = sized(RESOLVE_BODY_BYTES_MAX + 1)
    expectRefusal(await resolve(large, undefined, { method: 'PUT', path, headers }), 'method_not_allowed')
    expectRefusal(await resolve(large, undefined, { path, headers }), 'body_too_large')
    expectRefusal(await resolve(MARK, undefined, { path, headers }), 'unsupported_media_type')
    expectRefusal(await resolve(MARK, undefined, { path }), 'unexpected_input')
    expectRefusal(await resolve(MARK), 'invalid_body')
    expectRefusal(await resolve({ name: 'abc' }, MARK), 'payment_invalid')
  })

  it('has no other spelling of its path', async () => {
    for (const path of ['/api/v1/resolve/', '/API/v1/resolve', '/api/v1/%72esolve', '/api/v1//resolve']) {
      expectRefusal(await resolve({ name: 'abc' }, undefined, { path }), 'not_found')
    }
  })

  it('was refused for all that without a charge or a record: the payment sent along still buys', async () => {
    const total = await cost(async () => {
      expect((await resolve({ name: 'abc' }, payment)).status).to.equal(200)
    })
    expect(total).to.deep.equal(once(PRICE))
  })

  describe('that is bought', () => {
    /** Buys, asks again, and says what was bought; both cost the price of one. */
    async function buy(body: unknown) {
      const paid = await payFor(resolve(body))
      let bought: RawReply | undefined
      const total = await cost(async () => {
        bought = await resolve(body, paid)
        expect(bought.status, bought.text).to.equal(200)
        expect(bought.headers['payment-response']).to.be.a('string')
        expect(bought.headers['cache-control']).to.equal('private, no-store')
        expect((await resolve(body, paid)).text).to.equal(bought.text)
      })
      expect(total).to.deep.equal(once(PRICE))
      return resolveResponseSchema.parse(bought?.json)
    }

    it('is one company where there is one', async () => {
      const { status, match, query, source } = await buy({ name: ' Plain  Fixture Limited' })
      expect({ status, query }).to.deep.equal({ status: 'matched', query: { name: 'Plain Fixture Limited' } })
      expect(match?.company.company_number).to.equal('73848')
      expect(source.license_url).to.equal('https://creativecommons.org/licenses/by/4.0/')
    })

    it('is by number the company of this number', async () => {
      const { status, match, candidates } = await buy({ company_number: '73848' })
      expect(status).to.equal('matched')
      expect(match?.company.legal_name).to.equal('PLAIN FIXTURE LIMITED')
      expect(candidates).to.have.lengthOf(1)
    })

    it('is charged when two companies share the name', async () => {
      const { status, match, candidates } = await buy({ name: 'Twin Fixture Limited' })
      expect({ status, match }).to.deep.equal({ status: 'ambiguous', match: null })
      expect(candidates.map(({ company }) => company.company_number)).to.have.members(['1004', '1005'])
    })

    it('is charged when the evidence contradicts the name', async () => {
      const { status, match, candidates } = await buy({ name: 'Plain Fixture Limited', eircode: 'D02X285' })
      expect({ status, match }).to.deep.equal({ status: 'conflicting', match: null })
      expect(candidates[0]?.conflicts).to.include('eircode_mismatch')
    })

    it('is charged when there is no such name', async () => {
      const { status, match, candidates } = await buy({ name: 'Qwxzvkj Yqxzwvk' })
      expect({ status, match, candidates }).to.deep.equal({ status: 'no_match', match: null, candidates: [] })
    })

    it('is charged when there is no such number', async () => {
      const { status, match, candidates } = await buy({ company_number: '999' })
      expect({ status, match, candidates }).to.deep.equal({ status: 'no_match', match: null, candidates: [] })
    })

    it('is 409 and not charged for a number that is quarantined', async () => {
      const paid = await payFor(resolve({ company_number: '2001' }))
      const total = await cost(async () => {
        const reply = await resolve({ company_number: '2001' }, paid)
        expect(reply.status).to.equal(409)
        expect(reply.json)
          .to.have.all.keys('company', 'error', 'source', 'snapshot_id')
          .and.to.include({ company: null })
        expect(reply.json['error']).to.include({ code: 'source_data_conflict' })
        expectNoLeak(reply, 'FIXTURE')
      })
      expect(total).to.deep.equal(NOTHING)
      // Nor is it recorded: the payment is still free.
      const bought = await cost(async () => {
        expect((await resolve({ company_number: '73848' }, paid)).status).to.equal(200)
      })
      expect(bought).to.deep.equal(once(PRICE))
    })

    it('never gives a quarantined company for its name', async () => {
      const { candidates } = await buy({ name: 'Contradicting Fixture Limited' })
      expect(candidates.map(({ company }) => company.company_number)).to.not.include('2001')
    })

    it('is given again for every spelling of the same body', async () => {
      const spellings = [
        { company_number: '73848', name: 'Plain Fixture', eircode: 'T12AB34' },
        { eircode: 't12 ab34', name: ' Plain  Fixture ', company_number: '73848' },
        '{"n\\u0061me":"\\u0050lain\u00A0Fixture",\n "company_number":"73848", "eircode":" T12AB34"}',
      ]
      const paid = await payFor(resolve(spellings[0]))
      const total = await cost(async () => {
        const [first, ...more] = await Promise.all(spellings.map((body) => resolve(body, paid)))
        expect(first?.status, first?.text).to.equal(200)
        for (const reply of more) expect(reply.text).to.equal(first?.text)
        const headers = { 'Content-Type': 'application/json; charset=utf-8' }
        expect((await resolve(spellings[0], paid, { headers })).text).to.equal(first?.text)
      })
      expect(total).to.deep.equal(once(PRICE))
    })

    it('belongs to that resolution: the payment buys no other, and no other operation', async () => {
      const paid = await payFor(resolve({ name: 'Plain Fixture' }))
      expect((await resolve({ name: 'Plain Fixture' }, paid)).status).to.equal(200)
      const total = await cost(async () => {
        const others = [
          await resolve({ name: 'plain fixture' }, paid),
          await resolve({ name: 'Plain Fixture', company_number: '73848' }, paid),
          await resolve({ name: 'Plain Fixture', eircode: 'T12AB34' }, paid),
          await resolve({ name: 'Plain Fixture', address: 'Plain Fixture' }, paid),
          await search('q=Plain%20Fixture', paid),
        ]
        for (const reply of others) expectRefusal(reply, 'payment_replay_conflict')
      })
      expect(total).to.deep.equal(NOTHING)
    })

    it('takes no payment for a cheaper operation', async () => {
      const cheap = await payFor(search('q=Plain%20Fixture'))
      const total = await cost(async () => expectRefusal(await resolve({ name: 'abc' }, cheap), 'payment_invalid'))
      expect(total).to.deep.equal(NOTHING)
    })
  })
})
