/** Query strings mean what URLSearchParams writes. Broken ones, which it accepts, are refused (contract 4.2.3). */
import { expect } from 'chai'
import fc from 'fast-check'
import { QUERY_CHARACTERS_MAX, rawQuery, parseQueryString } from '../../rest-facade/query.ts'

const fields = (query: string) => {
  const read = parseQueryString(query)
  return read.kind === 'refused' ? undefined : [...read.fields]
}
const refusal = (query: string) => {
  const read = parseQueryString(query)
  return read.kind === 'refused' ? read.refusal : undefined
}

/** Any code point except surrogates. */
const unit = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))

describe('the query string', () => {
  it('is the part of the target after the first question mark', () => {
    expect(rawQuery('/api/v1/search')).to.equal('')
    expect(rawQuery('/api/v1/search?')).to.equal('')
    expect(rawQuery('/api/v1/search?q=a?b')).to.equal('q=a?b')
    expect(rawQuery('http://host.example/api/v1/search?q=abc')).to.equal('q=abc')
  })

  it('is parsed as URLSearchParams writes it', () => {
    const name = fc.string({ unit, minLength: 1, maxLength: 5 })
    const value = fc.string({ unit, maxLength: 20 })
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([each]) => each, maxLength: 5 }), (pairs) => {
        expect(fields(new URLSearchParams(pairs).toString())).to.deep.equal(pairs)
      }),
    )
  })

  it('is refused or means what URLSearchParams reads', () => {
    let accepted = 0
    fc.assert(
      fc.property(fc.stringMatching(/^([qa&=+;?/]|%C3|%A9|%20|%26|%3D|%2B|%2b|%71|%|\[){0,12}$/), (query) => {
        const read = fields(query)
        if (read) expect(read).to.deep.equal([...new URL(`http://host.example/?${query}`).searchParams])
        if (read) accepted += 1
      }),
      { numRuns: 2000 },
    )
    expect(accepted).to.be.greaterThan(100)
  })

  it('[4.2.3] decodes + to a space and %2B to a plus', () => {
    expect(fields('q=a+b%20c%2Bd')).to.deep.equal([['q', 'a b c+d']])
  })

  it('[4.2.2] is refused when it repeats a name in any encoding', () => {
    const REPEATED = ['q=abc&q=abc', 'q=abc&%71=def', 'x&x', 'q=a&limit=1&limit=1', 'q&q=abc', '__proto__&__proto__']
    for (const query of REPEATED) {
      expect(refusal(query), query).to.deep.equal({ code: 'duplicate_parameter' })
    }
    expect(Object.fromEntries(fields('q=a&Q=b') ?? [])).to.deep.equal({ q: 'a', Q: 'b' })
  })

  it('[4.2.3] is refused unless it is percent-encoded UTF-8', () => {
    const invalid = ['%', '%a', '%zz', '%FF', '%C3%28', '%C0%AF', '%ED%A0%80', '%F4%90%80%80', '%u0041']
    for (const text of [...invalid, 'é', '\u00C3\u00A9', 'a b', '#', 'a#b', '\u007F', '\u0000']) {
      for (const query of [`q=${text}`, `${text}=1`]) {
        expect(refusal(query)?.detail, query).to.equal('it must be percent-encoded UTF-8')
      }
    }
    expect(refusal(rawQuery('/api/v1/search#?q=abc'))).to.not.equal(undefined)
  })

  it('[4.2.3] is refused when a parameter has no name', () => {
    for (const query of ['=', '=abc', '&', 'q=abc&', '&q=abc', 'q=abc&&limit=1', 'q=abc&=1']) {
      expect(refusal(query)?.detail, query).to.equal('a parameter has no name')
    }
    expect(fields('q')).to.deep.equal([['q', '']])
    expect(fields('q==')).to.deep.equal([['q', '=']])
    expect(fields('')).to.deep.equal([])
  })

  it(`[4.2.3] has at most ${QUERY_CHARACTERS_MAX} characters`, () => {
    const query = `q=${'a'.repeat(QUERY_CHARACTERS_MAX - 2)}`
    expect(fields(query)).to.have.lengthOf(1)
    expect(refusal(`${query}a`)?.code).to.equal('invalid_query')
    // Every valid search fits, in the longest encoding that URLSearchParams writes.
    const longest = { q: '\u{10348}'.repeat(160), limit: '10', status: '\u{10348}'.repeat(80), eircode: 'D02 X285' }
    expect(fields(new URLSearchParams(longest).toString())).to.deep.equal(Object.entries(longest))
  })
})
