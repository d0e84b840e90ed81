/** Company numbers as people type them. */
import { expect } from 'chai'
import {
  findTypedNumbers,
  isSameNumber,
  namesCompany,
  readTypedNumber,
  registerNumbers,
} from '../../../agent/operation/typed-number.ts'

const NUMBERS =
  '335801|IE335801|IE 335801|#335801|CRO 335801|CRO335801|CRO No. 335801|Company No. 335801|Co. No. 335801|Reg. No. 335801|' +
  'Company Reg. No. 335801|company registration number: 335801|Company 335801|335801.0|335801.|335,801|(335801)|="335801"|' +
  ' 335801 |3.35801E+05|335 801|335-801|335\u00a0801|335’801|CRO 335 801|No 335801|No. 335 801|Nr. 335801|Number: 335801|Reg 335801'

const OTHER_TEXT =
  'Kerrigan 335801|N/A|33-58-01|1.5|IE|CRO|335801 335802|111111111111111111111|1.5E+01x|3.3E-05|3.358E+05|No 57|Reg. 1234|' +
  '1 234|12-34|2019-05-04|04 05 2019|+353 851 234|0851234567|085 123 456|01 234 5678|00353851234567|€335,801.00'

describe('a typed company number', () => {
  for (const text of NUMBERS.split('|')) {
    it(`[12.20] is 335801 in ${text}`, () => {
      expect(readTypedNumber(text)?.digits).to.equal('335801')
    })
  }

  for (const text of OTHER_TEXT.split('|')) {
    it(`[12.20] is not the whole of ${text}`, () => {
      expect(readTypedNumber(text)).to.equal(undefined)
    })
  }

  it('[12.20] names a company from five digits on, or with a label', () => {
    const names = (text: string) => namesCompany(readTypedNumber(text)!)
    expect(['12345', '081615', 'CRO 12', '#12345', 'IE12'].map(names)).to.deep.equal([true, true, true, true, true])
    expect(['1234', '#1234', '1,234'].map(names)).to.deep.equal([false, false, false])
  })

  it('[12.20] may have zeros before it', () => {
    expect(readTypedNumber('00335801')?.digits).to.equal('00335801')
    expect(registerNumbers('081615')).to.deep.equal(['081615', '81615'])
    expect(registerNumbers('00000000')).to.deep.equal(['00000000', '0'])
    expect(isSameNumber('081615', '81615')).to.equal(true)
    expect(isSameNumber('81615', '81616')).to.equal(false)
  })

  const BESIDE: [text: string, labelled: string[], others: string[], rest: string][] = [
    ['Kerrigan Ltd (CRO 744312)', ['744312'], [], 'Kerrigan Ltd ( )'],
    ['Kerrigan Ltd, company number 100', ['100'], [], 'Kerrigan Ltd,  '],
    [
      'Kerrigan Designated Activity Company (Co. No. 335801)',
      ['335801'],
      [],
      'Kerrigan Designated Activity Company ( )',
    ],
    ['Kerrigan Public Limited Company Reg. No. 335801', ['335801'], [], 'Kerrigan Public Limited Company  '],
    ['Kerrigan Ltd (CRO 335 801)', ['335801'], [], 'Kerrigan Ltd ( )'],
    ['335801 Kerrigan 61807', [], ['335801', '61807'], '335801 Kerrigan 61807'],
    // Parts of names
    ['Kerrigan Holding Company 81427 Ltd', [], ['81427'], 'Kerrigan Holding Company 81427 Ltd'],
    ['The Company 2000 Ltd', [], [], 'The Company 2000 Ltd'],
    ['Company No. 1 Ltd', [], [], 'Company No. 1 Ltd'],
    ['Cro1234x Ltd', [], [], 'Cro1234x Ltd'],
    ['Kerrigan No. 2 Ltd', [], [], 'Kerrigan No. 2 Ltd'],
  ]
  for (const [text, labelled, others, rest] of BESIDE) {
    it(`[12.20] is ${[...labelled, ...others].join(', ') || 'not'} beside a name in ${text}`, () => {
      expect(findTypedNumbers(text)).to.deep.equal({ labelled, others, rest })
    })
  }
})
