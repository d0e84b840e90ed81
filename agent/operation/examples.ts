/** Made-up answers that the examples of several operations share. */
import type { Company } from '../../store/dataset/company.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { MATCHING_VERSION, SCORE_DEFINITION, type Candidate } from './result.ts'

export const EXAMPLE_CANDIDATE: Candidate = {
  company: {
    ...SYNTHETIC_COMPANY,
    company_number: '999999',
    legal_name: 'EXAMPLE TRADING LIMITED',
    registered_address: { lines: ['1 SAMPLE STREET', 'DUBLIN 2'], eircode: 'D02 X285' },
  },
  score: 1000,
  match_type: 'relaxed_name',
  signals: {
    name_similarity: 1,
    strict_name_exact: false,
    relaxed_name_exact: true,
    eircode_exact: true,
    address_contains: null,
    company_number_exact: false,
  },
  conflicts: [],
}

/** The synthetic company on testnet. On mainnet, which does not have it, another made-up company. */
export function exampleCompany(mode: 'mainnet' | 'testnet'): Company {
  return mode === 'testnet' ? SYNTHETIC_COMPANY : EXAMPLE_CANDIDATE.company
}

/** Mainnet has no company that always exists. */
export function quotedNumber(mode: 'mainnet' | 'testnet'): string {
  return mode === 'testnet' ? SYNTHETIC_COMPANY.company_number : '{company_number}'
}

/** The members after the candidates. */
export const EXAMPLE_RANKING = {
  candidate_limit_reached: false,
  matching_version: MATCHING_VERSION,
  score_definition: SCORE_DEFINITION,
  ...SYNTHETIC_PROVENANCE,
}
