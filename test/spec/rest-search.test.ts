/** Spec 4.2 on the wire: what `GET /api/v1/search` takes, refuses, quotes and sells. */
import { expect } from 'chai'
import { QUERY_CHARACTERS_MAX } from '../../rest-facade/query.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { searchResponseSchema } from '../../agent/operation/result.ts'
import { detailOf, doorsOf, EIRCODES, HIDDEN, LENGTHS, NOTHING, once, quoteOf, SEARCH } from '../support/doors.ts'
import { header } from '../support/payments.ts'
import { expectNoLeak, expectRefusal, send, type RawRequest } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Stands for what a hostile client sends; no refusal may repeat it. */
const MARK = 'h0stile'
const PRICE = 1000n

const q = (text: string) => `q=${encodeURIComponent(text)}`

const LIMIT_RULE = 'limit must be a whole number from 1 to 10'
const ENCODING_RULE = 'it must be percent-encoded UTF-8'

const REFUSED: [query: string, code: RefusalCode, rule?: string][] = [
  ['', 'invalid_query', 'q is required'],
  ['limit=5', 'invalid_query', 'q is required'],
  ['q', 'invalid_query', 'q must have 3 to 160 characters after normalisation'],
  ['q=', 'invalid_query', 'q must have 3 to 160 characters after normalisation'],
  ['q=+++', 'invalid_query', 'q must have 3 to 160 characters after normalisation'],
  ['q=a+b+', 'payment_required'],
  // limit: decimal digits from 1 to 10
  ...[
    '0',
    '11',
    '01',
    '+1',
    '%2B1',
    '-1',
    '1.0',
    '1e1',
    '5%20',
    '',
    '0x5',
    '99999999999999999999',
    '%EF%BC%95',
    MARK,
  ].map((limit): (typeof REFUSED)[number] => [`q=abc&limit=${limit}`, 'invalid_query', LIMIT_RULE]),
  ['q=abc&limit', 'invalid_query', LIMIT_RULE],
  ['q=abc&limit=1', 'payment_required'],
  ['q=abc&limit=%35', 'payment_required'],
  ['q=abc&limit=10', 'payment_required'],
  // status: 1 to 80 characters
  ['q=abc&status=', 'invalid_query', 'status must have 1 to 80 characters after normalisation'],
  ['q=abc&status=+', 'invalid_query', 'status must have 1 to 80 characters after normalisation'],
  ['q=abc&status=a', 'payment_required'],
  [`q=abc&status=${'a'.repeat(80)}`, 'payment_required'],
  [`q=abc&status=${'%F0%90%8D%88'.repeat(80)}`, 'payment_required'],
  [`q=abc&status=${'a'.repeat(81)}`, 'invalid_query', 'status must have 1 to 80 characters after normalisation'],
  ['q=abc&status=Nor%E2%80%AEmal', 'invalid_query', 'status must not contain control or invisible characters'],
  // Twice
  ['q=abc&q=abc', 'duplicate_parameter'],
  [`q=abc&q=${MARK}`, 'duplicate_parameter'],
  ['q=abc&%71=abc', 'duplicate_parameter'],
  ['q=abc&limit=5&limit=5', 'duplicate_parameter'],
  ['q=abc&status=a&status=b', 'duplicate_parameter'],
  ['q=abc&eircode=D02X285&eircode=D02X285', 'duplicate_parameter'],
  [`${MARK}=1&q=abc&${MARK}=1`, 'duplicate_parameter'],
  // Names that mean nothing here
  ...[
    MARK,
    'Q',
    'name',
    'company_number',
    'address',
    'offset',
    'q[]',
    'q%5B%5D',
    'q%00',
    '__proto__',
    'constructor',
  ].map((name): (typeof REFUSED)[number] => [`q=abc&${name}=abc`, 'invalid_query', 'unknown fields are not accepted']),
  [`q=abc&${MARK}`, 'invalid_query', 'unknown fields are not accepted'],
  ['q=abc;limit=5', 'payment_required'],
  // No name
  ['=abc', 'invalid_query', 'a parameter has no name'],
  ['q=abc&=1', 'invalid_query', 'a parameter has no name'],
  ['q=abc&', 'invalid_query', 'a parameter has no name'],
  ['q=abc&&limit=5', 'invalid_query', 'a parameter has no name'],
  // Bytes that are no percent-encoded UTF-8
  ...['%', '%a', '%zz', '%C3', '%FF', '%C0%AF', '%ED%A0%80', '%F4%90%80%80', `${MARK}#`, `#${MARK}`].map(
    (text): (typeof REFUSED)[number] => [`q=abc${text}`, 'invalid_query', ENCODING_RULE],
  ),
  [`q=abc&${MARK}%zz=1`, 'invalid_query', ENCODING_RULE],
  // The length of the whole
  [
    `q=abc${'+'.repeat(QUERY_CHARACTERS_MAX - 4)}`,
    'invalid_query',
    `it has more than ${QUERY_CHARACTERS_MAX} characters`,
  ],
]

describe('a search over REST', () => {
  let service: TestService
  /** Sent along with whatever is to be refused, and good to the end: a payment on record would not be. */
  let payment: string

  before(async () => {
    service = await startTestService()
    payment = await payFor(search('q=abc'))
  })
  after(() => service.stop())

  const { search, resolve, cost, payFor } = doorsOf(() => service)

  /** A table's row: refused, whether paid for or not, or else quoted as it was requested. */
  async function expectAnswer(query: string, code: RefusalCode, rule?: string): Promise<void> {
    const unpaid = await search(query)
    expectRefusal(unpaid, code)
    if (code === 'payment_required') {
      expect(quoteOf(unpaid)).to.deep.equal({ url: `${service.url}${SEARCH}?${query}`, amount: String(PRICE) })
      return
    }
    for (const reply of [unpaid, await search(query, payment)]) {
      expectRefusal(reply, code)
      if (rule !== undefined) expect(detailOf(reply)).to.equal(`The query is not valid: ${rule}.`)
      expectNoLeak(reply, MARK)
      expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
    }
  }

  describe('answers', () => {
    for (const [query, code, rule] of REFUSED) {
      it(`${query.length > 60 ? `${query.slice(0, 60)}… (${query.length})` : query}: ${code}`, () =>
        expectAnswer(query, code, rule))
    }
  })

  describe('takes a q of 3 to 160 characters:', () => {
    for (const [name, text, fits] of LENGTHS) {
      it(`${name}: ${fits ? 'yes' : 'no'}`, () => expectAnswer(q(text), fits ? 'payment_required' : 'invalid_query'))
    }
  })

  describe('refuses a q with', () => {
    for (const [name, text] of HIDDEN) {
      it(name, () => expectAnswer(q(text), 'invalid_query', 'q must not contain control or invisible characters'))
    }
  })

  describe('takes an Eircode of seven letters or digits:', () => {
    for (const [text, fits] of EIRCODES) {
      it(`${JSON.stringify(text)}: ${fits ? 'yes' : 'no'}`, () =>
        expectAnswer(`q=abc&eircode=${encodeURIComponent(text)}`, fits ? 'payment_required' : 'invalid_query'))
    }
  })

  it('without a query string at all is no search', async () => {
    for (const path of [SEARCH, `${SEARCH}#?q=abc`, `${SEARCH}#q=abc`]) {
      expectRefusal(await send({ url: service.url, path }), 'invalid_query')
    }
  })

  describe('accepts no body:', () => {
    const cases: [name: string, change: Partial<RawRequest>][] = [
      ['of known length', { body: MARK }],
      ['in chunks', { body: MARK, chunked: true }],
      ['in chunks and empty', { body: '', chunked: true }],
      ['too large for any route', { body: 'x'.repeat(100_000) }],
    ]
    for (const [name, change] of cases) {
      it(name, async () => {
        const reply = await search('q=abc', undefined, change)
        expectRefusal(reply, 'unexpected_input')
        expectNoLeak(reply, MARK)
      })
    }

    it('but a length of 0 is none', async () => {
      expectRefusal(await search('q=abc', undefined, { headers: { 'Content-Length': '0' } }), 'payment_required')
    })
  })

  describe('refuses other methods with 405 and Allow: GET, before anything else:', () => {
    for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE']) {
      it(method, async () => {
        const reply = await search(`q=%zz&q=${MARK}`, undefined, { method })
        expect(reply.headers['allow']).to.equal('GET')
        if (method === 'HEAD') expect(reply).to.deep.include({ status: 405, text: '' })
        else expectRefusal(reply, 'method_not_allowed')
      })
    }
  })

  it('has no other spelling of its path', async () => {
    for (const path of ['/api/v1/search/', '/API/v1/search', '/api/v1/Search', '/api/v1/%73earch', '/api/v1//search']) {
      expectRefusal(await send({ url: service.url, path: `${path}?q=abc` }), 'not_found')
    }
  })

  it('is quoted under the base URL, whatever the request calls the host', async () => {
    const headers = { Host: `${MARK}.example` }
    const path = `http://${MARK}.example${SEARCH}?q=abc`
    for (const reply of [await search('q=abc', undefined, { headers }), await send({ url: service.url, path })]) {
      expect(quoteOf(reply).url).to.equal(`${service.url}${SEARCH}?q=abc`)
      expectNoLeak(reply, MARK)
    }
  })

  it('was refused for all that without a charge or a record: the payment sent along still buys', async () => {
    const total = await cost(async () => {
      expect((await search('q=abc', payment)).status).to.equal(200)
    })
    expect(total).to.deep.equal(once(PRICE))
  })

  describe('that is bought', () => {
    const NAME = 'q=PLAIN%20FIXTURE%20LIMITED'

    it('gives ranked candidates with the query, the source and the snapshot, and gives them again', async () => {
      const paid = await payFor(search(NAME))
      const total = await cost(async () => {
        const bought = await search(NAME, paid)
        expect(bought.status).to.equal(200)
        const { query, filters, candidates, source } = searchResponseSchema.parse(bought.json)
        expect({ query, filters }).to.deep.equal({
          query: { q: 'PLAIN FIXTURE LIMITED', limit: 5 },
          filters: undefined,
        })
        expect(candidates[0]?.company.company_number).to.equal('73848')
        expect(source.license_url).to.equal('https://creativecommons.org/licenses/by/4.0/')
        expect(bought.headers['payment-response']).to.be.a('string')
        expect(bought.headers['cache-control']).to.equal('private, no-store')
        const again = await search(NAME, paid)
        expect(again.text).to.equal(bought.text)
        expect(again.headers['payment-response']).to.equal(bought.headers['payment-response'])
      })
      expect(total).to.deep.equal(once(PRICE))
    })

    it('is given again for every spelling of the same search', async () => {
      const spellings = [
        'q=Numbered+Fixture&status=Normal&eircode=d02+x285',
        'eircode=D02X285&status=%20Normal&limit=5&q=Numbered%20%20Fixture',
        '%71=%4Eumbered%20Fixture&status=Normal&eircode=D02X285',
        `q=${encodeURIComponent('Ｎumbered\u00A0Fixture')}&status=Normal&limit=%35&eircode=D02X285`,
      ] as const
      const paid = await payFor(search(spellings[1]))
      const total = await cost(async () => {
        const [first, ...more] = await Promise.all(spellings.map((query) => search(query, paid)))
        expect(first?.status, first?.text).to.equal(200)
        expect(searchResponseSchema.parse(first?.json)).to.deep.include({
          query: { q: 'Numbered Fixture', limit: 5 },
          filters: { status: 'Normal', eircode: 'D02X285' },
        })
        for (const reply of more) expect(reply.text).to.equal(first?.text)
      })
      expect(total).to.deep.equal(once(PRICE))
    })

    it('belongs to that search: the payment buys no other, and no other operation', async () => {
      const paid = await payFor(search(NAME))
      expect((await search(NAME, paid)).status).to.equal(200)
      const total = await cost(async () => {
        const others = [
          await search(`${NAME}&limit=4`, paid),
          await search(`${NAME}&status=Normal`, paid),
          await search(`${NAME}&eircode=D02X285`, paid),
          await search('q=plain%20fixture%20limited', paid),
          await resolve({ name: 'PLAIN FIXTURE LIMITED' }, paid),
          await send({ url: service.url, path: '/api/v1/company/73848', headers: { 'PAYMENT-SIGNATURE': paid } }),
        ]
        for (const reply of others) expectRefusal(reply, 'payment_replay_conflict')
      })
      expect(total).to.deep.equal(NOTHING)
    })

    it('filters by status, ignoring case', async () => {
      const numbers = async (query: string) => {
        const bought = await search(query, await payFor(search(query)))
        return searchResponseSchema.parse(bought.json).candidates.map(({ company }) => company.company_number)
      }
      const dissolved = q("Ó FIXTURE'S & SONS LIMITED")
      expect(await numbers(dissolved)).to.include('1003')
      expect(await numbers(`${dissolved}&status=dISSOLVED`)).to.include('1003')
      expect(await numbers(`${dissolved}&status=normal`)).to.not.include('1003')
    })

    it('has at most as many candidates as its limit, in the same order', async () => {
      const numbers = async (limit: number) => {
        const query = `q=Twin%20Fixture%20Limited&limit=${limit}`
        const bought = await search(query, await payFor(search(query)))
        return searchResponseSchema.parse(bought.json).candidates.map(({ company }) => company.company_number)
      }
      expect((await numbers(10)).slice(0, 2)).to.deep.equal(['1004', '1005'])
      expect(await numbers(2)).to.deep.equal(['1004', '1005'])
      expect(await numbers(1)).to.deep.equal(['1004'])
    })

    it('is charged when nothing is found', async () => {
      const query = 'q=Qwxzvkj%20Yqxzwvk'
      const paid = await payFor(search(query))
      const total = await cost(async () => {
        const bought = await search(query, paid)
        expect(bought.status).to.equal(200)
        expect(searchResponseSchema.parse(bought.json).candidates).to.deep.equal([])
        expect((await search(query, paid)).text).to.equal(bought.text)
      })
      expect(total).to.deep.equal(once(PRICE))
    })

    it('is quoted in the shortest spelling when its own is very long', async () => {
      const unpaid = await search(`q=abc${'+'.repeat(QUERY_CHARACTERS_MAX - 5)}`)
      expect(quoteOf(unpaid)).to.deep.equal({ url: `${service.url}${SEARCH}?q=abc&limit=5`, amount: String(PRICE) })
    })

    it('can be paid for in the longest spelling', async () => {
      const longest = new URLSearchParams({
        q: '\u{10348}'.repeat(160),
        limit: '10',
        status: '\u{10348}'.repeat(80),
        eircode: 'D02 X285',
      }).toString()
      // As stock clients do, the payment names the resource of its quote.
      const unpaid = await search(longest)
      const bare = JSON.parse(Buffer.from(await payFor(search(longest)), 'base64').toString()) as object
      const { resource } = unpaid.json['payment_required'] as { resource: unknown }
      const bought = await search(longest, header({ ...bare, resource }))
      expect(bought.status, bought.text).to.equal(200)
    })

    it('is still there after a restart', async () => {
      const paid = await payFor(search(NAME))
      const bought = await search(NAME, paid)
      const total = await cost(async () => {
        await service.restart()
        expect((await search(NAME, paid)).text).to.equal(bought.text)
      })
      expect(total).to.deep.equal(NOTHING)
    })
  })
})
