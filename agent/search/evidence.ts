/** Compares the evidence of a query, Eircode and address, with a company record. */
import type { Company } from '../../store/dataset/company.ts'
import { normaliseText } from '../../store/index/normalise-name.ts'
import type { Candidate, MatchSignals } from '../operation/result.ts'

export interface QueryEvidence {
  /** Canonical: seven characters without spaces. */
  eircode?: string | undefined
  /** A fragment of the address lines and the Eircode. */
  address?: string | undefined
  /** Numbers in the text around the name, any of which may be the company number. */
  numbers?: ReadonlySet<string> | undefined
}

export type EvidenceSignals = Pick<MatchSignals, 'eircode_exact' | 'address_contains' | 'company_number_exact'>

/** A signal is null when the query or the record has no value to compare. */
export function compareEvidence(
  { company_number, registered_address }: Company,
  { eircode, address, numbers }: QueryEvidence,
): EvidenceSignals {
  const registered = registered_address.eircode?.replaceAll(' ', '') ?? null
  return {
    eircode_exact: eircode === undefined || registered === null ? null : eircode === registered,
    company_number_exact: numbers?.has(company_number) ?? false,
    address_contains: address === undefined ? null : addressContains(registered_address, address),
  }
}

/** Null instead of false for a record without address lines, because an Eircode alone cannot contradict the fragment. */
function addressContains({ lines, eircode }: Company['registered_address'], fragment: string): boolean | null {
  const text = [...lines, eircode ?? '', eircode?.replaceAll(' ', '') ?? ''].join(' ')
  return containsWords(text, fragment) || (lines.length > 0 ? false : null)
}

/** Compares whole words: "Cork" is not in "Corkagh". */
function containsWords(text: string, fragment: string): boolean {
  return ` ${normaliseText(text)} `.includes(` ${normaliseText(fragment)} `)
}

/**
 * The contradictions between the query and a company (contract 12.4). A missing address fragment is not a contradiction,
 * because the same address is written in many ways.
 */
export function listConflicts(signals: EvidenceSignals, isOtherName: boolean): Candidate['conflicts'] {
  const conflicts: Candidate['conflicts'] = []
  if (signals.eircode_exact === false) conflicts.push('eircode_mismatch')
  if (isOtherName) conflicts.push('name_mismatch')
  return conflicts
}
