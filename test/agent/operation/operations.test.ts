/** Input rules for every character of Unicode and for generated input. The limits are tested over the transports. */
import { expect } from 'chai'
import fc from 'fast-check'
import { allOfUnicode, hiddenIn } from '../../support/unicode.ts'
import { parseNamed } from '../../support/operations.ts'

const accepts = (operation: string, input: unknown) => {
  const parsed = parseNamed(operation, input)
  if (parsed.kind === 'invalid') throw new Error(`${parsed.fault.field} ${parsed.fault.rule}`)
  return parsed.operation.input
}
const refuses = (operation: string, input: unknown) => {
  const parsed = parseNamed(operation, input)
  expect(parsed.kind, JSON.stringify(input)).to.equal('invalid')
  return parsed.kind === 'valid' ? undefined : parsed.fault
}

/** U+FDFA, the longest expansion of NFKC, has 18 code points, so 8 characters stay below the limit of 160. */
const PER_TEXT = 8

describe('a text input', () => {
  const q = (value: unknown) => ({ q: value })

  it('[10.1] has spaces for tabs and line ends, which pasted text contains', () => {
    for (const space of ['\t', '\n', '\r\n', '\v', '\f', '\u0085', '\u2028', '\u2029', '\u00A0'])
      expect(accepts('search', q(`${space}Foo${space}bar${space}`)), JSON.stringify(space)).to.include({ q: 'Foo bar' })
    expect(accepts('resolve', { name: 'Foo\tbar', address: '1 Main\nStreet' })).to.deep.equal({
      name: 'Foo bar',
      address: '1 Main Street',
    })
  })

  it('[10.1] has no trade mark signs', () => {
    expect(accepts('search', q('Foo™ bar℠'))).to.include({ q: 'Foo bar' })
    expect(refuses('search', q('ab™'))?.field).to.equal('q')
  })

  it('[10.1] requires a letter or a digit', () => {
    for (const value of ['---', '& & &', '😀😀😀']) refuses('search', q(value))
    accepts('search', q('3 & Co'))
  })

  it('[10.1] rejects every other invisible character of Unicode except white space, and unpaired surrogates, and accepts all others', () => {
    expect(refuses('search', q('abc\ud800def'))?.field).to.equal('q')
    const wrong: string[] = []
    for (const text of allOfUnicode(PER_TEXT)) {
      const hidden = hiddenIn(text).filter((character) => !/\p{White_Space}/u.test(character))
      const [ignorable, rejected] = [true, false].map((isWanted) =>
        hidden.filter((character) => /^\p{Default_Ignorable_Code_Point}$/u.test(character) === isWanted),
      ) as [string[], string[]]
      wrong.push(...rejected.filter((character) => parseNamed('search', q(`abc${character}def`)).kind === 'valid'))
      const accepted = Array.from(text).filter((character) => !rejected.includes(character))
      const parsed = parseNamed('search', q(`abc${accepted.join('')}`))
      if (parsed.kind === 'invalid' || hiddenIn(JSON.stringify(parsed.operation.input)).length > 0)
        wrong.push(...accepted)
      wrong.push(...ignorable.filter((character) => parseNamed('search', q(`abc${character}`)).kind === 'invalid'))
    }
    expect(wrong).to.deep.equal([])
  })
})

describe('any input', () => {
  it('[7.1] is accepted or refused with a fixed rule that does not repeat the input', () => {
    fc.assert(
      fc.property(fc.constantFrom('lookup', 'search', 'resolve'), fc.jsonValue(), (operation, input) => {
        const parsed = parseNamed(operation, input)
        if (parsed.kind === 'invalid') expect(parsed.fault.rule).to.match(/^[a-zA-Z0-9 ,_]+$/)
      }),
    )
  })

  it('[10.3] does not change when its canonical form is parsed again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (q) => {
        const parsed = parseNamed('search', { q })
        if (parsed.kind === 'valid')
          expect(accepts('search', parsed.operation.input)).to.deep.equal(parsed.operation.input)
      }),
    )
  })
})
