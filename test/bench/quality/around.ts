/**
 * What people write around a name: trading names, notes, places, numbers; and "and" that they leave out.
 */
import { pick, type Random } from '../../support/random.ts'
import { partsOf } from './names.ts'
import type { BenchCompany } from './register.ts'

const TRADE_NAMES = ['THE CORNER SHOP', 'QUICKFIX', 'BLUE DOOR CAFE', 'CITY CARS', 'HARBOUR LIGHTS'] as const
const TRADING_AS = [' T/A ', ' t/a ', ' trading as ', '. T/A '] as const
const PLACES = ['RIVERSTICK', 'CORK', 'DUBLIN 2', 'HEAD OFFICE', 'MANOR ESTATE'] as const

/** Undefined for a name without a legal form, after which the text could be a part of the name. */
export function withTradingName(random: Random, name: string): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  const trade = pick(random, TRADE_NAMES)
  const written = [...TRADING_AS.map((between) => `${name}${between}${trade}`), `${name} (T/A ${trade})`]
  return pick(random, written)
}

export function withTextAfterForm(random: Random, { name, number }: BenchCompany): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  const place = pick(random, PLACES)
  return pick(random, [`${name} (${place})`, `${name} - ${place}`, `${name}, ${place}`, `${name} (CRO No. ${number})`])
}

export function andDropped(_random: Random, name: string): string | undefined {
  const { core } = partsOf(name)
  const dropped = core.replace(/\s*&\s*|\s+AND\s+/gi, ' ').trim()
  return dropped === core || dropped === '' ? undefined : name.replace(core, dropped)
}

/** Only the name after T/A has a legal form, so it is the company. */
export function afterTradingName(random: Random, name: string): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  return `${pick(random, TRADE_NAMES)}${pick(random, TRADING_AS)}${name}`
}

export function withCompanyNumber(random: Random, { name, number }: BenchCompany): string | undefined {
  if (partsOf(name).form === undefined) return undefined
  return pick(random, [
    `${name} (Company No. ${number})`,
    `${name}, company number ${number}`,
    `${name} Company Reg. No. ${number}`,
    `${name} (Co. No. ${number})`,
    `${name} - company registration number: ${number}`,
  ])
}
