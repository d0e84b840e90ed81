/** Every input rule once: limits of each member, characters of Unicode, and generated input. */
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

  it('[10.2] rejects every other invisible character of Unicode except white space, and unpaired surrogates, and accepts all others', () => {
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
  it('[7.4] is accepted or refused with a fixed rule that does not repeat the input', () => {
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

describe('[4.2.1, 4.3.2, 4.8.1, 4.9.1, 4.10.1, 10.1] a member of an input', () => {
  const FIELDS: Record<string, (text: unknown) => [operation: string, input: object]> = {
    q: (q) => ['search', { q }],
    name: (name) => ['resolve', { name }],
    address: (address) => ['resolve', { name: 'abc', address }],
  }
  const STATUS: typeof FIELDS = { status: (status) => ['search', { q: 'abc', status }] }
  const EIRCODES: typeof FIELDS = {
    eircode: (eircode) => ['search', { q: 'abc', eircode }],
    'eircode of resolve': (eircode) => ['resolve', { name: 'abc', eircode }],
  }
  const wide = (count: number) => '\u{10348}'.repeat(count)
  const hidden = ['Foo\u0000Bar', 'Foo\u007FBar', 'Foo\u0086Bar', 'Foo\uFFF9Bar', 'Foo\uFFFEBar', 'Foo\uD800Bar']
  const marks = `a${'\u0301'.repeat(900)}${'\u0316'.repeat(900)}`

  /** Texts by their length in code points after normalisation. */
  const FITTING = [
    'abc',
    '3 & Co',
    '\tabc\r\n',
    wide(3),
    '\uFB01x',
    '\uFB03',
    'a'.repeat(160),
    `  ${'a'.repeat(160)} `,
    wide(160),
  ]
  FITTING.push('e\u0301'.repeat(160), `${'a'.repeat(158)}\uFB01`, `${' '.repeat(637)}abc`)
  const UNFIT = ['', '     ', 'ab', '  ab  ', '\tab\r\n', wide(2), '\uFB01', 'ae\u0301', `${'a'.repeat(158)}\uFB03`]
  UNFIT.push('a'.repeat(161), wide(161), `${' '.repeat(638)}abc`, '--- & ---', '😀😀😀', marks)
  const CODES = ['D02X285', 'd02 x285', ' D 0 2 X 2 8 5 ', `D02X285${' '.repeat(9)}`]
  const NO_CODES = [
    `D02X285${' '.repeat(10)}`,
    '',
    'D02X28',
    'D02X2856',
    'D02-X285',
    'D02X28é',
    'Ｄ02X285',
    'D02\u00A0X285',
    7,
  ]
  const GROUPS: [name: string, fields: typeof FIELDS, fitting: unknown[], unfit: unknown[]][] = [
    ['has 3 to 160 characters', FIELDS, FITTING, UNFIT],
    ['is text without control characters', { ...FIELDS, ...STATUS }, [], [...hidden, null, 7, true, ['abc'], {}]],
    ['has 1 to 80 characters as a status', STATUS, ['a', wide(80)], ['', ' ', 'a'.repeat(81)]],
    ['is an Eircode of seven letters or digits', EIRCODES, CODES, NO_CODES],
  ]
  for (const [name, fields, fitting, unfit] of GROUPS)
    it(name, () => {
      for (const [field, build] of Object.entries(fields)) {
        for (const text of fitting) accepts(...build(text))
        for (const text of unfit) expect(refuses(...build(text))?.field).to.equal(field.split(' ')[0])
      }
    })

  it('of more than 640 characters is not normalised', () => {
    expect(refuses('resolve', { name: marks })?.rule).to.contain('at most 640 characters before normalisation')
  })

  const DAYS = ['2026-02-29', '2026-13-01', '2026-1-1', '20260101', '2026-01-01T00:00:00Z', '', ' 2026-01-01', 1]
  const KEY = 'mbx2k9a0mbx2k9a0'
  const numbers = (count: number, digits: number) =>
    Array.from({ length: count }, (_, at) => String(at).padStart(digits, '0'))
  const RULES: Record<string, [operation: string, inputs: unknown[]][]> = {
    'must be an object': [
      ['search', [null, 7, 'abc', ['abc'], [{ q: 'abc' }]]],
      ['resolve', [null, 7, 'abc', ['abc'], [{ name: 'abc' }]]],
    ],
    'q is required': [['search', [{}, JSON.parse('{"__proto__":{"q":"abc"}}')]]],
    'limit must be a whole number from 1 to 10': [
      ['search', [0, 11, -1, 1.5, 1e300, '5', '', null, true].map((limit) => ({ q: 'abc', limit }))],
    ],
    'unknown fields are not accepted': [
      ['search', ['name', 'company_number', 'address', 'constructor'].map((field) => ({ q: 'abc', [field]: 'a' }))],
      ['resolve', ['q', 'limit', 'status', 'constructor', ''].map((field) => ({ name: 'abc', [field]: 'a' }))],
      ['search', [JSON.parse('{"q":"abc","__proto__":{"limit":1}}')]],
    ],
    'must be a day of the calendar': [
      ['as_of', DAYS.map((date) => ({ company_number: '1', date }))],
      ['changes', DAYS.flatMap((day) => [{ since: day }, { since: '2026-01-01', until: day }])],
    ],
    'until must not be before since': [['changes', [{ since: '2026-01-02', until: '2026-01-01' }]]],
    'must be next_before of': [
      ['history', ['', KEY.slice(1), KEY.toUpperCase(), `${KEY}-1`].map((before) => ({ company_number: '1', before }))],
    ],
    'must be next_cursor of': [
      ['changes', [KEY, `${KEY}-x`, `${KEY}-${'1'.repeat(21)}`].map((cursor) => ({ since: '2026-01-01', cursor }))],
    ],
    company_numbers: [
      [
        'changes',
        [numbers(101, 3), numbers(48, 20), [], ['x'], [7], '7', ['1'.repeat(21)]].map((company_numbers) => ({
          since: '2026-01-01',
          company_numbers,
        })),
      ],
    ],
    'name or company_number is required': [['resolve', [{}, { address: 'abc' }, { eircode: 'D02X285' }]]],
    '1 to 20 ASCII digits': [
      ['resolve', ['', '1'.repeat(21), '-1', '١', 7, null].map((company_number) => ({ name: 'abc', company_number }))],
      ['lookup', ['', '1'.repeat(21), '1\n', ' 1', '١٢٣', 1].map((company_number) => ({ company_number }))],
    ],
  }
  for (const [rule, rows] of Object.entries(RULES))
    it(rule, () => {
      for (const [operation, inputs] of rows)
        for (const input of inputs) {
          const fault = refuses(operation, input)
          expect(`${fault?.field ?? ''} ${fault?.rule}`).to.contain(rule)
        }
    })

  it('has its greatest values', () => {
    accepts('search', { q: 'abc', limit: 10, status: 'a'.repeat(80), eircode: 'D02X285' })
    accepts('resolve', { name: 'abc', company_number: '9'.repeat(20), eircode: 'd02 x285', address: 'Main Street' })
    accepts('lookup', { company_number: '1'.repeat(20) })
    for (const date of ['2024-02-29', '0001-01-01', '9999-12-31']) accepts('as_of', { company_number: '1', date })
    accepts('history', { company_number: '1', before: KEY })
    const values = { cursor: `${KEY}-007`, limit: 100, kind: 'added', field: 'status', status: 'Normal' }
    for (const company_numbers of [numbers(100, 9), numbers(47, 20)])
      accepts('changes', { since: '2026-01-01', ...values, company_numbers })
  })

  it('[10.3] is a list of numbers, sorted as text without repetitions', () => {
    expect(accepts('changes', { since: '2026-01-02', company_numbers: ['8', '10', '8', '7'] })).to.deep.include({
      company_numbers: ['10', '7', '8'],
    })
  })
})
