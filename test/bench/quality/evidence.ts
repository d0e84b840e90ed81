/** Adds evidence to a query: the Eircode of the company or another one, and a part of the address. */
import { below, pick, type Random } from '../../support/random.ts'
import type { QueryInput } from './classes.ts'
import type { BenchCompany } from './register.ts'
import { withTypo } from './typos.ts'
import { joined, partsOf } from './names.ts'
import { numberChanged } from './words.ts'

/** The characters of Eircodes, which leave out letters that look like others. */
const EIRCODE_CHARACTERS = Array.from('ACDEFHKNPRTVWXY0123456789')
const ROUTING_KEYS = ['D02', 'T12', 'H91', 'V94', 'A65', 'W23', 'F91', 'X91'] as const
/** The input limit (contract 4.2.1). */
const ADDRESS_CHARACTERS_MAX = 160

export function withWrongEircode(random: Random, { name, eircode }: BenchCompany): QueryInput | undefined {
  if (eircode === null) return undefined
  const routingKey = pick(
    random,
    ROUTING_KEYS.filter((key) => !eircode.startsWith(key)),
  )
  return { name, eircode: routingKey + Array.from({ length: 4 }, () => pick(random, EIRCODE_CHARACTERS)).join('') }
}

export function withAddressFragment(random: Random, { name, addressLines }: BenchCompany): QueryInput | undefined {
  const address = pickFragment(addressLines, random)
  return address === undefined ? undefined : { name, address }
}

/** Adds Eircode and address; undefined when the company lacks one of them. */
function withEvidence(
  random: Random,
  name: string | undefined,
  { eircode, addressLines }: BenchCompany,
): QueryInput | undefined {
  const address = pickFragment(addressLines, random)
  return name === undefined || eircode === null || address === undefined ? undefined : { name, eircode, address }
}

export function typoWithEvidence(random: Random, company: BenchCompany): QueryInput | undefined {
  const { core, surface } = partsOf(company.name)
  const mistyped = withTypo(random, core)
  return withEvidence(random, mistyped === undefined ? undefined : joined({ core: mistyped, surface }), company)
}

/** Companies of a numbered series often share an address, so evidence must not turn one into another. */
export function otherNumberWithEvidence(random: Random, company: BenchCompany): QueryInput | undefined {
  return withEvidence(random, numberChanged(random, company.name), company)
}

/** One comma-separated part of an address line. */
function pickFragment(lines: readonly string[], random: Random): string | undefined {
  const parts = lines
    .flatMap((line) => line.split(','))
    .map((part) => part.trim())
    .filter((part) => /\p{L}{3}/u.test(part) && !/^ireland$/iu.test(part))
  return parts[below(random, parts.length)]?.slice(0, ADDRESS_CHARACTERS_MAX)
}
