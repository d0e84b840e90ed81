/** Amounts as commands show and read them. */
import { expect } from 'chai'
import { readUsdc, showUsdc } from '../../buyer/amounts.ts'

describe('an amount of a command', () => {
  const AMOUNTS: [micro: number, shown: string][] = [
    [1, '0.000001'],
    [1_000, '0.001'],
    [10_000, '0.01'],
    [100_000, '0.10'],
    [1_000_000, '1.00'],
    [1_234_500, '1.2345'],
    [999_999_999_999_999, '999999999.999999'],
  ]
  for (const [micro, shown] of AMOUNTS)
    it(`[14.7] is read as it is shown: ${shown}`, () => {
      expect(showUsdc(micro)).to.equal(shown)
      expect(readUsdc(shown)).to.equal(micro)
    })

  it('[14.7] has a decimal point and at most six decimals, and is not zero', () => {
    for (const text of ['5', '50000', '0', '0.00', '.5', '5.', '1.0000001', '-1.0', '1e3', '1,5', ' 1.0', '00.5', ''])
      expect(readUsdc(text), text).to.equal(undefined)
  })
})
