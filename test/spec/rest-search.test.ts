/** `GET /api/v1/search` over HTTP: accepted and refused input, quotes and sales (contract 4.2). */
import { expect } from 'chai'
import { QUERY_CHARACTERS_MAX } from '../../rest-facade/query.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { searchResponseSchema } from '../../agent/operation/search.ts'
import { detailOf, expectCharges, quoteOf, SEARCH } from '../support/transports.ts'
import { header } from '../support/payments.ts'
import { expectNoLeak, expectRefusal } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

/** Marks input of a hostile client. No refusal may contain it. */
const MARK = 'h0stile'
const PRICE = 1000n
/** A longer host, a longer reason, and `Strict-Transport-Security`. */
const OTHER_BYTES_MAX = 250

const LIMIT_RULE = 'limit must be a whole number from 1 to 10'
const ENCODING_RULE = 'it must be percent-encoded UTF-8'

/** One of each rule. test/rest-facade/query.test.ts and test/agent/operation have the others. */
const REFUSED: [query: string, code: RefusalCode, rule?: string][] = [
  ['', 'invalid_query', 'q is required'],
  ['q=', 'invalid_query', 'q must have 3 to 160 characters after normalisation'],
  ['q=a+b+', 'payment_required'],
  // limit: decimal digits from 1 to 10
  ...['11', '01', '%2B1', '1.0', '5%20', '', '0x5', '%EF%BC%95', MARK].map((limit): (typeof REFUSED)[number] => [
    `q=abc&limit=${limit}`,
    'invalid_query',
    LIMIT_RULE,
  ]),
  ['q=abc&limit=%35', 'payment_required'],
  [`q=abc&%71=${MARK}`, 'duplicate_parameter'],
  [`${MARK}!=1&q=abc&${MARK}!=1`, 'duplicate_parameter'],
  [`q=abc&${MARK}!=abc`, 'invalid_query', 'unknown fields are not accepted, only q, limit, status, eircode'],
  ['q=abc&__proto__=abc', 'invalid_query', 'unknown fields are not accepted, only q, limit, status, eircode'],
  ['=abc', 'invalid_query', 'a parameter has no name'],
  [`q=abc${MARK}%zz`, 'invalid_query', ENCODING_RULE],
  [
    `q=abc${'+'.repeat(QUERY_CHARACTERS_MAX - 4)}`,
    'invalid_query',
    `it has more than ${QUERY_CHARACTERS_MAX} characters`,
  ],
]

describe('a search over REST', () => {
  /** A valid payment that is sent with every request that must be refused. The last test buys with it. */
  let unusedPayment: string

  const { service, get, search, payFor } = useService(() => startTestService())

  before(async () => {
    unusedPayment = await payFor(search('q=abc'))
  })

  /** Sends a query with and without the payment, and expects the refusal, or the quote for the requested URL. */
  async function expectAnswer(query: string, code: RefusalCode, rule?: string): Promise<void> {
    const unpaid = await search(query)
    expectRefusal(unpaid, code)
    if (code === 'payment_required') {
      expect(quoteOf(unpaid)).to.deep.equal({ url: `${service.url}${SEARCH}?${query}`, amount: String(PRICE) })
      return
    }
    for (const reply of [unpaid, await search(query, unusedPayment)]) {
      expectRefusal(reply, code)
      if (rule !== undefined) expect(detailOf(reply)).to.equal(`The query is not valid: ${rule}.`)
      expectNoLeak(reply, MARK)
    }
  }

  describe('[4.2.1, 4.2.2, 4.2.3] answers the query', () => {
    for (const [query, code, rule] of REFUSED) {
      it(`${query.length > 60 ? `${query.slice(0, 60)}… (${query.length})` : query}: ${code}`, () =>
        expectAnswer(query, code, rule))
    }
  })

  it('[5.5.1] charges and records nothing for refused input: the payment of these requests still buys', async () => {
    await expectCharges(service, [PRICE], async () => {
      expect((await search('q=abc', unusedPayment)).status).to.equal(200)
    })
  })

  describe('when it is bought', () => {
    it('[4.2.4, 5.5.1] is charged when nothing is found', async () => {
      const query = 'q=Qwxzvkj%20Yqxzwvk'
      const paid = await payFor(search(query))
      await expectCharges(service, [PRICE], async () => {
        const bought = await search(query, paid)
        expect(bought.status).to.equal(200)
        expect(searchResponseSchema.parse(bought.json).candidates).to.deep.equal([])
      })
    })

    it('[5.1.3] is quoted by its canonical URL when its own URL is very long', async () => {
      const space = encodeURIComponent('\u2003')
      const unpaid = await search(`q=abc${space.repeat(Math.floor(QUERY_CHARACTERS_MAX / space.length) - 1)}`)
      expect(quoteOf(unpaid)).to.deep.equal({ url: `${service.url}${SEARCH}?q=abc&limit=5`, amount: String(PRICE) })
    })

    it('[5.1.3] has at most 4,000 bytes of headers in a quote for every length and script', async () => {
      const units = ['a', '%41', '%C3%A9', '%E4%B8%AD', '%F0%90%8D%88']
      const queries = units.flatMap((unit) =>
        [10, 60, 79, 110, 157].map((count) => `q=abc${unit.repeat(count)}&status=${unit.repeat(Math.min(count, 80))}`),
      )
      const space = encodeURIComponent('\u2003')
      const padded = [500, 625, 1_000, 1_275, 1_290, 2_000, 3_000].map(
        (length) => `q=abc${space.repeat(Math.floor(length / space.length))}`,
      )
      // Spaces keep their percent escapes also in the shorter form of the URL.
      const spaced = `q=abc${'%20'.repeat(600)}`
      for (const query of [...queries, ...padded, spaced]) {
        const reply = await get(`${SEARCH}?${query}`, undefined, { headers: { 'X-Request-Id': 'r'.repeat(128) } })
        expect(reply.status).to.equal(402)
        const lines = Object.entries(reply.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`)
        const bytes = `HTTP/1.1 402 Payment Required\r\n${lines.join('')}\r\n`.length
        expect(bytes, query).to.be.at.most(4_000 - OTHER_BYTES_MAX)
      }
    })

    it('[4.2.3, 5.1.3] can be bought with the longest query string', async () => {
      const longest = new URLSearchParams({
        q: '\u{10348}'.repeat(160),
        limit: '10',
        status: '\u{10348}'.repeat(80),
        eircode: 'D02 X285',
      }).toString()
      // Stock clients copy the resource of the quote into the payment.
      const unpaid = await search(longest)
      const bare = JSON.parse(Buffer.from(await payFor(search(longest)), 'base64').toString()) as object
      const { resource } = unpaid.json as { resource: unknown }
      const bought = await search(longest, header({ ...bare, resource }))
      expect(bought.status, bought.text).to.equal(200)
    })
  })
})
