/** What is asked beside a name: an Eircode, right or wrong, and a part of the address. */
import { below, pick, type Random } from '../../../agent/sandbox/sample-random.ts'
import type { Listed } from './register.ts'
import { withTypo } from './typos.ts'
import { joined, partsOf } from './names.ts'
import { numberChanged } from './words.ts'

/** What a buyer sends. */
export interface Asked {
  name: string
  eircode?: string
  address?: string
}

/** No letters that Eircodes avoid for their likeness to others. */
const EIRCODE_SIGNS = Array.from('ACDEFHKNPRTVWXY0123456789')
const ROUTING_KEYS = ['D02', 'T12', 'H91', 'V94', 'A65', 'W23', 'F91', 'X91'] as const
/** What the input allows (spec 8). */
const ADDRESS_CHARACTERS_MAX = 160

export function withWrongEircode(random: Random, { name, eircode }: Listed): Asked | undefined {
  if (eircode === null) return undefined
  const routingKey = pick(
    random,
    ROUTING_KEYS.filter((key) => !eircode.startsWith(key)),
  )
  return { name, eircode: routingKey + Array.from({ length: 4 }, () => pick(random, EIRCODE_SIGNS)).join('') }
}

export function withRightEircode(_random: Random, { name, eircode }: Listed): Asked | undefined {
  return eircode === null ? undefined : { name, eircode }
}

export function withAddressFragment(random: Random, { name, addressLines }: Listed): Asked | undefined {
  const address = fragmentOf(addressLines, random)
  return address === undefined ? undefined : { name, address }
}

/** A name with all that is known beside it; undefined where that is not everything. */
function withEvidence(random: Random, name: string | undefined, { eircode, addressLines }: Listed): Asked | undefined {
  const address = fragmentOf(addressLines, random)
  return name === undefined || eircode === null || address === undefined ? undefined : { name, eircode, address }
}

/** A name slightly wrong, with all there is to put it right. */
export function typoWithEvidence(random: Random, company: Listed): Asked | undefined {
  const { core, surface } = partsOf(company.name)
  const mistyped = withTypo(random, core)
  return withEvidence(random, mistyped === undefined ? undefined : joined({ core: mistyped, surface }), company)
}

/** Another number of a series, whose companies often have one address: no evidence makes it the same company. */
export function otherNumberWithEvidence(random: Random, company: Listed): Asked | undefined {
  return withEvidence(random, numberChanged(random, company.name), company)
}

/** A line of the address, or a part of it between commas. */
function fragmentOf(lines: readonly string[], random: Random): string | undefined {
  const parts = lines
    .flatMap((line) => line.split(','))
    .map((part) => part.trim())
    .filter((part) => /\p{L}{3}/u.test(part) && !/^ireland$/iu.test(part))
  return parts[below(random, parts.length)]?.slice(0, ADDRESS_CHARACTERS_MAX)
}
