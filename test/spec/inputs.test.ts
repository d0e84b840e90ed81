/** Every member of search and resolve: accepted and quoted, or refused (contract 4.2.1, 4.3.2, 10.1). */
import { expect } from 'chai'
import { startFakedService } from '../support/faked-service.ts'
import { expectNoLeak, expectRefusal } from '../support/raw-http.ts'
import { detailOf, quoteOf, RESOLVE, rpcBody, SEARCH, toQuery, type Operation } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

/** Marks input of a hostile client. No refusal may contain it. */
const MARK = 'h0stile'

/** Texts with control characters or other characters without a visible form. Every text input refuses them. */
const CONTROL_CHARACTERS: [name: string, text: string][] = [
  ['a NUL', 'Foo\u0000Bar'],
  ['a delete', 'Foo\u007FBar'],
  ['a C1 control', 'Foo\u0086Bar'],
  ['an annotation mark', 'Foo\uFFF9Bar'],
  ['a noncharacter', 'Foo\uFFFEBar'],
]

/** Characters that are displayed as nothing. Every text input loses them. */
const IGNORED_CHARACTERS: [name: string, text: string][] = [
  ['a bidi override', 'Foo\u202EBar'],
  ['a bidi isolate', 'Foo\u2066Bar'],
  ['an Arabic letter mark', 'Foo\u061CBar'],
  ['a zero-width space', 'Foo\u200BBar'],
  ['a zero-width joiner', 'Foo\u200DBar'],
  ['a byte order mark', '\uFEFFFooBar'],
  ['a soft hyphen', 'Foo\u00ADBar'],
  ['a variation selector', 'FooBar\uFE0F'],
  ['a Hangul filler', 'Foo\u3164Bar'],
  ['a language tag', 'Foo\u{E0041}Bar'],
]

/** Contract 5.1.3. */
const QUOTED_QUERY_CHARACTERS_MAX = 1_280

/** Texts by their length in code points after normalisation (contract 4.2.1). */
const LENGTHS: [name: string, text: string, fits: boolean][] = [
  ['nothing', '', false],
  ['blanks', '     ', false],
  ['2 characters', 'ab', false],
  ['2 characters in blanks', '  ab  ', false],
  ['3 characters', 'abc', true],
  ['3 characters beside tabs and line ends', '\tabc\r\n', true],
  ['2 characters beside tabs and line ends', '\tab\r\n', false],
  ['3 characters of four bytes', '\u{10348}\u{10348}\u{10348}', true],
  ['2 characters of four bytes', '\u{10348}\u{10348}', false],
  ['a ligature of 2 letters and 1 letter', '\uFB01x', true],
  ['a ligature of 3 letters', '\uFB03', true],
  ['a ligature of 2 letters', '\uFB01', false],
  ['2 letters, one of them with its accent apart', 'ae\u0301', false],
  ['160 characters', 'a'.repeat(160), true],
  ['160 characters in blanks', `  ${'a'.repeat(160)} `, true],
  ['160 characters of four bytes', '\u{10348}'.repeat(160), true],
  ['160 letters with their accents apart', 'e\u0301'.repeat(160), true],
  ['158 characters and a ligature of 2', `${'a'.repeat(158)}\uFB01`, true],
  ['158 characters and a ligature of 3', `${'a'.repeat(158)}\uFB03`, false],
  ['161 characters', 'a'.repeat(161), false],
  ['161 characters of four bytes', '\u{10348}'.repeat(161), false],
  ['640 characters with blanks', `${' '.repeat(637)}abc`, true],
  ['641 characters with blanks', `${' '.repeat(638)}abc`, false],
  ['punctuation alone', '--- & ---', false],
]

/** Eircodes by their form (contract 4.2.1). */
const EIRCODES: [text: string, fits: boolean][] = [
  ['D02X285', true],
  ['d02 x285', true],
  [' D 0 2 X 2 8 5 ', true],
  [`D02X285${' '.repeat(9)}`, true],
  [`D02X285${' '.repeat(10)}`, false],
  ['', false],
  ['D02X28', false],
  ['D02X2856', false],
  ['D02-X285', false],
  ['D02X28é', false],
  ['Ｄ02X285', false],
  ['D02\u00A0X285', false],
]

const searching = (input: Operation['input']): Operation => ({ operation: 'search', input })
const resolving = (input: Operation['input']): Operation => ({ operation: 'resolve', input })

const NOT_OBJECTS = [null, 7, 'abc', ['abc'], [{ q: 'abc' }]]
const LONE_SURROGATE = 'Foo\uD800Bar'
const HIDDEN = 'must not contain control or invisible characters'

/** Input in JSON that is refused, by the rule that it breaks. */
const REFUSED: Record<string, { operation: string; input: unknown }[]> = {
  'must be an object': NOT_OBJECTS.flatMap((input) => [
    { operation: 'search', input },
    { operation: 'resolve', input },
  ]),
  'q is required': [searching({})],
  'q must be text': [null, 7, ['abc'], { a: 'abc' }].map((q) => searching({ q })),
  'limit must be a whole number from 1 to 10': [0, 11, -1, 1.5, 1e300, '5', '', null, true].map((limit) =>
    searching({ q: 'abc', limit }),
  ),
  'status must have 1 to 80 characters after normalisation': ['', ' ', 'a'.repeat(81)].map((status) =>
    searching({ q: 'abc', status }),
  ),
  'unknown fields are not accepted': [
    ...[MARK, 'name', 'company_number', 'address', 'constructor'].map((field) => searching({ q: 'abc', [field]: 'a' })),
    ...[MARK, 'q', 'limit', 'status', 'constructor'].map((field) => resolving({ name: 'abc', [field]: 'a' })),
  ],
  'name or company_number is required': [{}, { address: 'abc' }, { eircode: 'D02X285' }].map(resolving),
  'company_number must be 1 to 20 ASCII digits': ['', '1'.repeat(21), '-1', MARK].map((company_number) =>
    resolving({ name: 'abc', company_number }),
  ),
  [`q ${HIDDEN}`]: [searching({ q: LONE_SURROGATE })],
  [`status ${HIDDEN}`]: [searching({ q: 'abc', status: LONE_SURROGATE })],
  [`name ${HIDDEN}`]: [resolving({ name: LONE_SURROGATE })],
  [`address ${HIDDEN}`]: [resolving({ name: 'abc', address: LONE_SURROGATE })],
}

const FIELDS: Record<string, (text: string) => Operation> = {
  q: (q) => searching({ q }),
  name: (name) => resolving({ name }),
  address: (address) => resolving({ name: 'abc', address }),
}
const STATUS_FIELD = { status: (status: string) => searching({ q: 'abc', status }) }
const EIRCODE_FIELDS = [
  (eircode: string) => searching({ q: 'abc', eircode }),
  (eircode: string) => resolving({ name: 'abc', eircode }),
]

const QUOTED: Record<string, Operation> = {
  'a search': searching({ q: 'abc' }),
  'a search with all members': searching({ q: 'abc', limit: 10, status: 'a'.repeat(80), eircode: 'D02X285' }),
  'a name': resolving({ name: 'abc' }),
  'a number': resolving({ company_number: '9'.repeat(20) }),
  'all evidence': resolving({ name: 'abc', company_number: '0', eircode: 'd02 x285', address: 'Main Street' }),
}

describe('the input of search and resolve', () => {
  const { service, search, resolve, rest, a2a, payFor } = useService(() => startFakedService())
  /** Valid payments that are sent with every request that must be refused. */
  let payments: Record<string, string>
  before(async () => {
    payments = { search: await payFor(search('q=abc')), resolve: await payFor(resolve({ name: 'abc' })) }
  })

  /** `rule` begins with the name of the field. */
  async function expectRefused(data: { operation: string; input: unknown }, rule: string, asks = [a2a]): Promise<void> {
    for (const ask of asks) {
      for (const payment of [undefined, payments[data.operation]]) {
        const reply = await ask(data, payment)
        expectRefusal(reply, data.operation === 'search' ? 'invalid_query' : 'invalid_body')
        expect(detailOf(reply))
          .to.match(/^The (query|body) is not valid: /)
          .and.to.include(`: ${rule}`)
        expectNoLeak(reply, MARK)
      }
    }
  }
  const toRest = (data: unknown, payment?: string) => rest(data as Operation, payment)

  /** The REST quote names the URL as requested. The A2A quote names the canonical URL. */
  async function expectQuoted(operation: Operation): Promise<void> {
    const [overRest, overA2a] = [quoteOf(await rest(operation)), quoteOf(await a2a(operation))]
    if (operation.operation === 'resolve') {
      const quote = { url: service().url + RESOLVE, amount: '2000' }
      expect([overRest, overA2a]).to.deep.equal([quote, quote])
    } else {
      const prefix = `${service().url}${SEARCH}?`
      const query = toQuery(operation.input)
      const url = query.length > QUOTED_QUERY_CHARACTERS_MAX ? overA2a.url : prefix + query
      expect(overRest).to.deep.equal({ url, amount: '1000' })
      // A REST request for the canonical URL is the same search.
      expect(overA2a.url.startsWith(prefix)).to.equal(true)
      expect(quoteOf(await search(new URL(overA2a.url).search.slice(1)))).to.deep.equal(overA2a)
      expect(overA2a.amount).to.equal('1000')
    }
  }

  describe('[10.4] is quoted with the REST resource:', () => {
    for (const [name, operation] of Object.entries(QUOTED)) it(name, () => expectQuoted(operation))

    it('[10.4] with parameters in canonical order, percent-encoded', async () => {
      const { url } = quoteOf(await a2a(searching({ eircode: 'd02 x285', status: 'Normal', q: ' Café  & Co+' })))
      expect(url).to.equal(`${service().url}${SEARCH}?q=Caf%C3%A9%20%26%20Co%2B&limit=5&status=Normal&eircode=D02X285`)
    })
  })

  describe('[4.2.1, 10.1] has texts of 3 to 160 characters:', () => {
    for (const [name, text, fits] of LENGTHS) {
      it(`${name}: ${fits ? 'accepted' : 'refused'}`, async () => {
        for (const [field, build] of Object.entries(FIELDS))
          await (fits ? expectQuoted(build(text)) : expectRefused(build(text), `${field} must`, [toRest, a2a]))
      })
    }
  })

  describe('[4.2.1] has Eircodes of seven letters or digits:', () => {
    for (const [text, fits] of EIRCODES) {
      it(`${JSON.stringify(text)}: ${fits ? 'accepted' : 'refused'}`, async () => {
        for (const build of EIRCODE_FIELDS)
          await (fits ? expectQuoted(build(text)) : expectRefused(build(text), 'eircode must', [toRest, a2a]))
      })
    }
  })

  describe('[10.1] has no text with', () => {
    for (const [name, text] of CONTROL_CHARACTERS) {
      it(name, async () => {
        for (const [field, build] of Object.entries({ ...FIELDS, ...STATUS_FIELD }))
          await expectRefused(build(text), `${field} ${HIDDEN}`, [toRest, a2a])
      })
    }
  })

  describe('[10.1] ignores in a text', () => {
    for (const [name, text] of IGNORED_CHARACTERS) {
      it(name, async () => {
        for (const build of Object.values({ ...FIELDS, ...STATUS_FIELD })) await expectQuoted(build(text))
        const { url } = quoteOf(await a2a(searching({ q: text })))
        expect(url).to.equal(`${service().url}${SEARCH}?q=FooBar&limit=5`)
      })
    }
  })

  describe('[4.5.4] is refused over A2A as over REST:', () => {
    for (const [rule, rows] of Object.entries(REFUSED)) {
      it(rule, async () => {
        for (const data of rows) await expectRefused(data, rule)
      })
    }

    it('__proto__ in an input', async () => {
      for (const input of ['{"q":"abc","__proto__":{"limit":1}}', '{"__proto__":{"q":"abc"}}']) {
        const body = rpcBody(searching('@' as never)).replace('"@"', input)
        expectRefusal(await a2a(body), 'invalid_query')
        expectRefusal(await a2a(body.replace('search', 'resolve').replace('"q"', '"name"')), 'invalid_body')
      }
    })

    it('a text of many combining marks, and a body of many members', async () => {
      const marks = `a${'\u0301'.repeat(900)}${'\u0316'.repeat(900)}`
      await expectRefused(resolving({ name: marks }), 'name must have at most 640 characters before normalisation', [
        toRest,
        a2a,
      ])
      const members = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`m${index}`, 1]))
      const reply = await rest({ operation: 'batch', input: members })
      expectRefusal(reply, 'invalid_body')
      expect(detailOf(reply)).to.contain('it must be JSON in UTF-8')
    })

    it('a member that occurs twice', async () => {
      for (const body of [
        rpcBody(searching({ q: 'abc' })).replace('"q"', '"q":"def","q"'),
        rpcBody(resolving({ name: 'abc' })).replace('"name"', '"\\u006eame":"def","name"'),
        rpcBody(searching({ q: 'abc' })).replace('"operation"', '"operation":"lookup","operation"'),
      ]) {
        const { status, json } = await a2a(body, payments['search'])
        expect([status, json['id'], json['error']]).to.have.nested.property('[2].code', -32600)
        expect([status, json['id']]).to.deep.equal([200, null])
      }
    })
  })

  it('[5.5.1] is not charged and not recorded when it is refused', () => {
    expect(service().counts()).to.deep.equal({ settled: 0, recorded: 0 })
  })
})
