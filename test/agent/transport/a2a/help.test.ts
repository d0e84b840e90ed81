/** What a text message is answered with (contract 4.5.2). */
import { expect } from 'chai'
import { buildTerms } from '../../../../agent/payment/terms.ts'
import { OPERATIONS } from '../../../../agent/operation/operations.ts'
import { helpText } from '../../../../agent/transport/a2a/help.ts'

/** The longest that has a bound (contract 5.1.3). */
const BASE_URL = `https://${'companies.'.repeat(6)}example.org`.padEnd(80, 'x')
const HELP_BYTES_MAX = 700

describe('[4.5.2] the help for a text', () => {
  const terms = buildTerms('testnet', '0x3bb2f9Fb705323B9F13D537C110EC2933667989A', OPERATIONS)
  const help = (text: string, given = terms) => helpText(text, { baseUrl: BASE_URL, terms: given })
  const partOf = (text: string) => /^\{.*\}$/m.exec(text)?.[0] ?? ''
  const fixed = help('hello')

  function expectShort(text: string): void {
    expect(Buffer.byteLength(text) - partOf(text).length, text).to.be.within(300, HELP_BYTES_MAX)
    expect(text).to.include(`A2A-Extensions: ${BASE_URL}/docs#http-x402-v1`)
    expect(text).to.include('A2A-Version: 1.0')
  }

  for (const [text, operation, input, price] of [
    ['100001', 'lookup', { company_number: '100001' }, '0.001'],
    [' 00000000\n', 'lookup', { company_number: '00000000' }, '0.001'],
    ['CRO 335801', 'lookup', { company_number: '335801' }, '0.001'],
    ['Company No. 1234', 'lookup', { company_number: '1234' }, '0.001'],
    ['335,801', 'lookup', { company_number: '335801' }, '0.001'],
    ['12', 'lookup', { company_number: '12' }, '0.001'],
    ['Alpha Sample Trading Ltd', 'resolve', { name: 'Alpha Sample Trading Ltd' }, '0.002'],
    ['Ó Néill & Sons <b> Teo.', 'resolve', { name: 'Ó Néill & Sons <b> Teo.' }, '0.002'],
    [`${'a'.repeat(156)} Ltd`, 'resolve', { name: `${'a'.repeat(156)} Ltd` }, '0.002'],
    ['{"operation":"search","input":{"q":"ryanair"}}', 'search', { q: 'ryanair', limit: 5 }, '0.001'],
    [
      '{"input":{"operation":"lookup","inputs":[{"company_number":"1"},{"company_number":"2"}]},"operation":"batch"}',
      'batch',
      { operation: 'lookup', inputs: [{ company_number: '1' }, { company_number: '2' }] },
      '0.002',
    ],
  ] as const)
    it(`has the data part and the price of ${text.slice(0, 40).trim()}`, () => {
      const told = help(text)
      expect(JSON.parse(partOf(told))).to.deep.equal({ operation, input })
      expect(told)
        .to.match(/^[\n -~]*$/)
        .and.not.match(/[<>&]/)
      expect(told).to.include(`Price: ${price} USDC on eip155:84532`)
      expectShort(told)
    })

  for (const text of [
    'look up 100001',
    'No. 57',
    '1,234',
    'CRO 335801 and 335802',
    '+353 1 234 5678',
    '1'.repeat(21),
    `${'a'.repeat(157)} Ltd`,
    'Ltd',
    'Alpha Sample Trading',
    '٣٣٥٨٠١',
    '{"operation":"lookup","input":{"company_number":"12x"}}',
    '{"operation":"lookup","input":{"company_number":"1"},"more":1}',
    '{"operation":"lookup","operation":"lookup","input":{"company_number":"1"}}',
    `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`,
    'a\u0000b Ltd',
    '',
  ])
    it(`is the fixed one, which repeats nothing, for ${JSON.stringify(text).slice(0, 60)}`, () => {
      expect(help(text)).to.equal(fixed)
    })

  it('has an example that the deployment has, if there is one', () => {
    expectShort(fixed)
    expect(JSON.parse(partOf(fixed))).to.deep.equal({ operation: 'lookup', input: { company_number: '00000000' } })
    for (const { name } of OPERATIONS) expect(fixed).to.include(name)
    const without = help('hello', { ...terms, example: undefined })
    expect(partOf(without)).to.equal('')
    expect(without).not.to.include('Price')
    expectShort(without)
  })
})
