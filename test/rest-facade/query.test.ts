/** The query of a search is read as clients write it, and what they would let pass is refused. */
import { expect } from 'chai'
import fc from 'fast-check'
import { QUERY_CHARACTERS_MAX, queryOf, readQuery } from '../../rest-facade/query.ts'

const fields = (query: string) => {
  const read = readQuery(query)
  return 'code' in read ? undefined : [...read]
}
const refusal = (query: string) => {
  const read = readQuery(query)
  return 'code' in read ? read : undefined
}

/** Any text that UTF-8 can hold. */
const unit = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))

describe('the query string', () => {
  it('is what follows the first question mark', () => {
    expect(queryOf('/api/v1/search')).to.equal('')
    expect(queryOf('/api/v1/search?')).to.equal('')
    expect(queryOf('/api/v1/search?q=a?b')).to.equal('q=a?b')
    expect(queryOf('http://host.example/api/v1/search?q=abc')).to.equal('q=abc')
  })

  it('is read as URLSearchParams writes it', () => {
    const name = fc.string({ unit, minLength: 1, maxLength: 5 })
    const value = fc.string({ unit, maxLength: 20 })
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([each]) => each, maxLength: 5 }), (pairs) => {
        expect(fields(new URLSearchParams(pairs).toString())).to.deep.equal(pairs)
      }),
    )
  })

  it('means what URLSearchParams reads, wherever it is not refused', () => {
    let taken = 0
    fc.assert(
      fc.property(fc.stringMatching(/^([qa&=+;?/]|%C3|%A9|%20|%26|%3D|%2B|%2b|%71|%|\[){0,12}$/), (query) => {
        const read = fields(query)
        if (read) expect(read).to.deep.equal([...new URL(`http://host.example/?${query}`).searchParams])
        if (read) taken += 1
      }),
      { numRuns: 2000 },
    )
    expect(taken).to.be.greaterThan(100)
  })

  it('takes + for a space, and %2B for a plus', () => {
    expect(fields('q=a+b%20c%2Bd')).to.deep.equal([['q', 'a b c+d']])
  })

  it('has no name twice, in any spelling', () => {
    for (const query of [
      'q=abc&q=abc',
      'q=abc&%71=def',
      'x&x',
      'q=a&limit=1&limit=1',
      'q&q=abc',
      '__proto__&__proto__',
    ]) {
      expect(refusal(query), query).to.deep.equal({ code: 'duplicate_parameter' })
    }
    expect(fields('q=a&Q=b')).to.deep.equal([
      ['q', 'a'],
      ['Q', 'b'],
    ])
  })

  it('is percent-encoded UTF-8', () => {
    const wrong = [
      '%',
      '%a',
      '%zz',
      '%FF',
      '%C3%28',
      '%C0%AF',
      '%ED%A0%80',
      '%F4%90%80%80',
      '%u0041',
      'é',
      '\u00C3\u00A9',
    ]
    for (const text of [...wrong, 'a b', '#', 'a#b', '\u007F', '\u0000']) {
      for (const query of [`q=${text}`, `${text}=1`]) {
        expect(refusal(query)?.detail, query).to.equal('it must be percent-encoded UTF-8')
      }
    }
    expect(refusal(queryOf('/api/v1/search#?q=abc'))).to.not.equal(undefined)
  })

  it('has a name for every parameter', () => {
    for (const query of ['=', '=abc', '&', 'q=abc&', '&q=abc', 'q=abc&&limit=1', 'q=abc&=1']) {
      expect(refusal(query)?.detail, query).to.equal('a parameter has no name')
    }
    expect(fields('q')).to.deep.equal([['q', '']])
    expect(fields('q==')).to.deep.equal([['q', '=']])
    expect(fields('')).to.deep.equal([])
  })

  it(`has at most ${QUERY_CHARACTERS_MAX} characters`, () => {
    const query = `q=${'a'.repeat(QUERY_CHARACTERS_MAX - 2)}`
    expect(fields(query)).to.have.lengthOf(1)
    expect(refusal(`${query}a`)?.code).to.equal('invalid_query')
    // The limit leaves room for every valid search in the longest ordinary spelling.
    const longest = { q: '\u{10348}'.repeat(160), limit: '10', status: '\u{10348}'.repeat(80), eircode: 'D02 X285' }
    expect(fields(new URLSearchParams(longest).toString())).to.deep.equal(Object.entries(longest))
  })
})
