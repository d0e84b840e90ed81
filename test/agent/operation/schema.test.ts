/** The input rules of spec 8 and decisions 4: at, below and above every limit. */
import { expect } from 'chai'
import fc from 'fast-check'
import { parseLimitText, parseOperation, type OperationName } from '../../../agent/operation/schema.ts'
import { allOfUnicode, hiddenIn } from '../../support/unicode.ts'

const parse = (operation: OperationName, input: unknown) => parseOperation(operation, input)
const accepts = (operation: OperationName, input: unknown) => {
  const parsed = parse(operation, input)
  if (!parsed.valid) throw new Error(`${parsed.fault.field} ${parsed.fault.rule}`)
  return parsed.operation.input
}
const refuses = (operation: OperationName, input: unknown) => {
  const parsed = parse(operation, input)
  expect(parsed.valid, JSON.stringify(input)).to.equal(false)
  return parsed.valid ? undefined : parsed.fault
}

describe('the input of a lookup', () => {
  it('is 1 to 20 ASCII digits, leading zeros preserved', () => {
    for (const company_number of ['1', '0', '00000000', '081615', '9'.repeat(20)]) {
      expect(accepts('lookup', { company_number })).to.deep.equal({ company_number })
    }
  })

  it('is nothing else', () => {
    const numbers = [
      '',
      '1'.repeat(21),
      ' 1',
      '1 ',
      '1\n',
      '-1',
      '+1',
      '1.0',
      '1e3',
      '٣',
      '１',
      'IE1',
      1,
      null,
      ['1'],
      {},
    ]
    for (const company_number of numbers)
      expect(refuses('lookup', { company_number })?.field).to.equal('company_number')
    for (const input of [undefined, null, 1, '1', []]) expect(refuses('lookup', input)?.field).to.equal(null)
  })

  it('has no other field', () => {
    for (const extra of ['q', '__proto__', 'constructor']) {
      const input: unknown = JSON.parse(`{"company_number":"1","${extra}":"2"}`)
      expect(refuses('lookup', input)).to.deep.equal({ field: null, rule: 'unknown fields are not accepted' })
    }
  })
})

/** The longest in NFKC, U+FDFA, becomes 18. */
const PER_TEXT = 8

describe('a text input', () => {
  const q = (value: unknown) => ({ q: value })

  it('has 3 to 160 code points after normalisation', () => {
    for (const value of ['abc', 'a'.repeat(160), '😀😀a', `  ${'a'.repeat(160)}  `]) accepts('search', q(value))
    for (const value of ['', '  ', 'ab', ' ab ', 'a b'.replace(' ', ''), 'a'.repeat(161), '😀a']) {
      expect(refuses('search', q(value))?.field).to.equal('q')
    }
  })

  it('is NFKC, trimmed, with single spaces', () => {
    expect(accepts('search', q('  Ｆｏｏ   bar '))).to.include({ q: 'Foo bar' })
    expect(accepts('search', q('Se\u0301an\u00A0Co'))).to.include({ q: 'Séan Co' })
  })

  it('contains a letter or a digit', () => {
    for (const value of ['---', '& & &', '😀😀😀']) refuses('search', q(value))
    accepts('search', q('3 & Co'))
  })

  it('contains no control, bidi, zero-width, ignorable or broken characters', () => {
    const hidden = [
      '\u0000',
      '\t',
      '\n',
      '\u007F',
      '\u0085',
      '\u200B',
      '\u200D',
      '\u202E',
      '\u2066',
      '\u2060',
      '\uFEFF',
      '\u061C',
      '\uD800',
      '\u00AD',
      '\u034F',
      '\u3164',
      '\uFFA0',
      '\uFE0F',
      '\u{E0041}',
      '\u{E0100}',
      '\uFFF9',
      '\uFFFE',
    ]
    for (const character of hidden)
      expect(refuses('search', q(`abc${character}def`))?.field, escape(character)).to.equal('q')
  })

  it('is refused with any hidden character of Unicode, and holds none when it is accepted', () => {
    const wrong: string[] = []
    for (const text of allOfUnicode(PER_TEXT)) {
      const hidden = hiddenIn(text)
      wrong.push(...hidden.filter((character) => parse('search', q(`abc${character}def`)).valid))
      const visible = Array.from(text).filter((character) => !hidden.includes(character))
      const parsed = parse('search', q(`abc${visible.join('')}`))
      if (!parsed.valid || hiddenIn(JSON.stringify(parsed.operation)).length > 0) wrong.push(...visible)
    }
    expect(wrong).to.deep.equal([])
  })

  it('is text', () => {
    for (const value of [1, true, null, ['abc'], { a: 1 }])
      expect(refuses('search', q(value))?.rule).to.equal('must be text')
  })
})

describe('the input of a search', () => {
  it('has a limit of 1 to 10, by default 5', () => {
    expect(accepts('search', { q: 'abc' })).to.deep.equal({ q: 'abc', limit: 5 })
    for (const limit of [1, 5.0, 10]) expect(accepts('search', { q: 'abc', limit })).to.include({ limit })
    for (const limit of [0, 11, -1, 1.5, '5', null, Number.NaN])
      expect(refuses('search', { q: 'abc', limit })?.field).to.equal('limit')
  })

  it('reads a limit in a query as digits only', () => {
    expect(parseLimitText('10')).to.equal(10)
    for (const value of ['', '0', '05', '+5', '-5', '5.0', '1e1', ' 5', '100', '５']) {
      expect(parseLimitText(value), value).to.satisfy(Number.isNaN)
    }
  })

  it('has a status of 1 to 80 characters', () => {
    expect(accepts('search', { q: 'abc', status: ' Normal ' })).to.include({ status: 'Normal' })
    accepts('search', { q: 'abc', status: 'a' })
    accepts('search', { q: 'abc', status: 'a'.repeat(80) })
    for (const status of ['', ' ', 'a'.repeat(81)])
      expect(refuses('search', { q: 'abc', status })?.field).to.equal('status')
  })

  it('has an Eircode of seven letters or digits, spaces apart, at most 16 characters', () => {
    for (const eircode of ['D02X285', 'd02 x285', ' D 0 2 X 2 8 5 '.trim(), `D02X285${' '.repeat(9)}`]) {
      expect(accepts('search', { q: 'abc', eircode })).to.include({ eircode: 'D02X285' })
    }
    for (const eircode of [
      '',
      'D02X28',
      'D02X2855',
      'D02-X285',
      'D02X28é',
      'D02\u00A0X285',
      `D02X285${' '.repeat(10)}`,
      7,
    ]) {
      expect(refuses('search', { q: 'abc', eircode })?.field).to.equal('eircode')
    }
  })
})

describe('the input of a resolve', () => {
  it('needs a name or a company number', () => {
    accepts('resolve', { name: 'abc' })
    accepts('resolve', { company_number: '1' })
    for (const input of [{}, { address: 'Main Street' }, { eircode: 'D02X285' }]) {
      expect(refuses('resolve', input)?.rule).to.equal('name or company_number is required')
    }
  })

  it('leaves out what was not given', () => {
    expect(accepts('resolve', { name: ' Abc ', eircode: undefined })).to.not.have.property('company_number')
  })
})

describe('any input', () => {
  it('is accepted or refused with words of ours, and never echoed', () => {
    fc.assert(
      fc.property(fc.constantFrom('lookup', 'search', 'resolve'), fc.jsonValue(), (operation, input) => {
        const parsed = parse(operation, input)
        if (!parsed.valid) expect(parsed.fault.rule).to.match(/^[a-zA-Z0-9 ,_]+$/)
      }),
    )
  })

  it('stays the same when its canonical form is parsed again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (q) => {
        const parsed = parse('search', { q })
        if (parsed.valid) expect(accepts('search', parsed.operation.input)).to.deep.equal(parsed.operation.input)
      }),
    )
  })
})
