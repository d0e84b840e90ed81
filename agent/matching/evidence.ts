/** What speaks for or against a company beside its name: Eircode and address. */
import type { Company } from '../../store/company.ts'
import { normalText } from '../../store/index/names.ts'
import type { Candidate, MatchSignals } from '../operation/result.ts'

export interface EvidenceAsked {
  /** Seven characters, as the canonical input has it. */
  eircode?: string | undefined
  /** A fragment of the address lines and the Eircode. */
  address?: string | undefined
}

export type Evidence = Pick<MatchSignals, 'eircode_exact' | 'address_contains'>

/** Compares where both sides have something to compare; null where one has not. */
export function evidenceFor({ registered_address: held }: Company, { eircode, address }: EvidenceAsked): Evidence {
  const heldEircode = held.eircode?.replaceAll(' ', '') ?? null
  return {
    eircode_exact: eircode === undefined || heldEircode === null ? null : eircode === heldEircode,
    address_contains: address === undefined ? null : addressContains(held, address),
  }
}

/** An Eircode alone is no address that could lack the fragment: it says the same in other words. */
function addressContains({ lines, eircode }: Company['registered_address'], fragment: string): boolean | null {
  const isContained = holdsWords([...lines, eircode ?? '', eircode?.replaceAll(' ', '') ?? ''].join(' '), fragment)
  return isContained || lines.length > 0 ? isContained : null
}

/** Whole words only: "Cork" is not in "Corkagh". */
function holdsWords(text: string, fragment: string): boolean {
  return ` ${normalText(text)} `.includes(` ${normalText(fragment)} `)
}

/** The evidence that contradicts a company, as stable codes. */
export function conflictsOf(evidence: Evidence, namesDiffer: boolean): Candidate['conflicts'] {
  const conflicts: Candidate['conflicts'] = []
  if (evidence.eircode_exact === false) conflicts.push('eircode_mismatch')
  if (evidence.address_contains === false) conflicts.push('address_not_contained')
  if (namesDiffer) conflicts.push('name_mismatch')
  return conflicts
}
