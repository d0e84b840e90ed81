/** Addresses as the register has them, and as a person reads them. */
import { expect } from 'chai'
import { placeOf, showAddress } from '../../buyer/address.ts'

const company = (...lines: string[]) => ({ registered_address: { lines, eircode: 'D02 X285' } })

const CASES: [lines: string[], shown: string, place: string][] = [
  [['1 MAIN STREET', 'DUBLIN 2', 'DUBLIN 2, DUBLIN'], '1 MAIN STREET, DUBLIN 2', 'DUBLIN 2'],
  [['1 MAIN STREET', 'DUBLIN 6W', 'DUBLIN'], '1 MAIN STREET, DUBLIN 6W', 'DUBLIN 6W'],
  [['1 Street', 'NAVAN', 'Navan', 'MEATH', 'Ireland'], '1 Street, NAVAN, MEATH, Ireland', 'NAVAN'],
  [['1 MAIN STREET', 'CORK', 'Ireland'], '1 MAIN STREET, CORK, Ireland', 'CORK'],
  [['UNIT 4', 'CO. CORK'], 'UNIT 4, CO. CORK', 'CO. CORK'],
  [['LONDON', 'UNITED KINGDOM'], 'LONDON, UNITED KINGDOM', 'UNITED KINGDOM'],
  [['DUBLIN ROAD', 'DUBLIN'], 'DUBLIN ROAD, DUBLIN', 'DUBLIN'],
  [['Newport', 'MAYO, Ireland'], 'Newport, MAYO, Ireland', 'Newport'],
  [['Shannon', 'Co. Clare, CLARE, Ireland'], 'Shannon, Co. Clare, CLARE, Ireland', 'Shannon'],
  [['SLANE, CO. MEATH', 'C15 R6H6', 'MEATH'], 'SLANE, CO. MEATH, C15 R6H6, MEATH', 'SLANE'],
  [['Lumina', 'Gorey Co Wexford, WEXFORD'], 'Lumina, Gorey Co Wexford, WEXFORD', 'Gorey'],
  [['DORSET STREET UPPER', 'DUBLIN'], 'DORSET STREET UPPER, DUBLIN', 'DUBLIN'],
  [['6 Suffolk Street', ', Ireland'], '6 Suffolk Street, Ireland', '6 Suffolk Street'],
  [['IRELAND'], 'IRELAND', ''],
  [[], '', ''],
]

describe('an address as a person reads it', () => {
  for (const [lines, shown, place] of CASES)
    it(`of "${lines.join(', ')}" has each part once, and its place`, () => {
      expect(showAddress(company(...lines))).to.equal(shown)
      expect(placeOf(company(...lines))).to.equal(place)
    })
})
