/** A registered address as a person reads it. Runs in browsers too. */
import type { Company } from '../store/dataset/company.ts'

type Registered = Company['registered_address']

const COUNTIES =
  /^(?:(?:county|co\.?)\s)?(?:carlow|cavan|clare|cork|donegal|dublin|galway|kerry|kildare|kilkenny|laois|leitrim|limerick|longford|louth|mayo|meath|monaghan|offaly|roscommon|sligo|tipperary|waterford|westmeath|wexford|wicklow)$/i
/** No town: the beginning or the end of a street address. */
const STREET =
  /^[0-9]|^unit\b|\b(?:avenue|house|lane|park|quay|road|square|street|ave|rd|st)(?: (?:upper|lower|north|south|east|west))?$/i
/** The county at the end of a line, as in `Gorey Co Wexford`. */
const COUNTY_BEHIND = /(?<=\S) (?:county|co\.?) [a-z]+$/i
const EIRCODE = /^[a-z][0-9][0-9w] ?[0-9a-z]{4}$/i
const COUNTRY = /^(?:ireland|[eé]ire|republic of ireland)$/i

/** The parts of the lines, each once: the register has `DUBLIN 2, DUBLIN 2, DUBLIN`. */
function partsOf({ lines }: Registered): string[] {
  const parts: string[] = []
  const isRepeated = (part: string) =>
    parts.some((each) => each.toLowerCase() === part.toLowerCase() || isDistrict(each, part))
  for (const part of lines.flatMap((line) => line.split(',')).map((each) => each.trim()))
    if (part !== '' && !isRepeated(part)) parts.push(part)
  return parts
}

/** Whether the first is a postal district of the second, as `Dublin 2` of `DUBLIN`. */
const isDistrict = (one: string, of: string): boolean =>
  /^ [0-9]+w?$/i.test(one.slice(of.length)) && one.slice(0, of.length).toLowerCase() === of.toLowerCase()

/** The address in one line, without repeated parts and without the Eircode. Empty without an address. */
export const showAddress = ({ registered_address: address }: Pick<Company, 'registered_address'>): string =>
  partsOf(address).join(', ')

/** The town or district: the last part without county and country, or the county behind a street alone. */
export function placeOf({ registered_address: address }: Pick<Company, 'registered_address'>): string {
  const parts = partsOf(address).filter((part) => !COUNTRY.test(part) && !EIRCODE.test(part))
  const isCounty = (part: string) => COUNTIES.test(part)
  const town = parts.findLast((part) => !isCounty(part)) ?? ''
  const county = parts.findLast(isCounty) ?? ''
  return (STREET.test(town) && county) || town.replace(COUNTY_BEHIND, '') || county
}
