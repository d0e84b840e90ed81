/** Query strings mean what URLSearchParams writes. Broken ones, which it accepts, are refused (contract 4.2.3). */
import { expect } from 'chai'
import fc from 'fast-check'
import { rawQuery, parseQueryString } from '../../rest-facade/query.ts'

const fields = (query: string) => {
  const read = parseQueryString(query)
  return read.kind === 'refused' ? undefined : [...read.fields]
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
})
