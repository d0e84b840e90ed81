/** Made-up answers that the examples of several operations share. */
import type { Company } from '../../store/dataset/company.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_DAY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import type { ExampleCompany } from './operation.ts'
import { MATCHING_VERSION, SCORE_DEFINITION, type Candidate } from './result.ts'

const MADE_UP: Company = {
  ...SYNTHETIC_COMPANY,
  company_number: '999999',
  legal_name: 'EXAMPLE TRADING LIMITED',
  registered_address: { lines: ['1 SAMPLE STREET', 'DUBLIN 2'], eircode: 'D02 X285' },
}

/** The synthetic company on testnet. On mainnet, which does not have it, another made-up company. */
export function exampleCompany(mode: 'mainnet' | 'testnet'): Company {
  return mode === 'testnet' ? SYNTHETIC_COMPANY : MADE_UP
}

export const exampleCandidate = (mode: 'mainnet' | 'testnet'): Candidate => ({
  company: exampleCompany(mode),
  score: 1000,
  match_type: 'strict_name',
  signals: {
    name_similarity: 1,
    strict_name_exact: true,
    relaxed_name_exact: true,
    eircode_exact: null,
    address_contains: null,
    company_number_exact: false,
  },
  conflicts: [],
})

/** The company of the examples on testnet. */
export const SYNTHETIC_EXAMPLE: ExampleCompany = {
  company_number: SYNTHETIC_COMPANY.company_number,
  legal_name: SYNTHETIC_COMPANY.legal_name,
  date: SYNTHETIC_DAY,
}

/** The company of the examples in documents without a dataset, when nothing is sold. */
export const MADE_UP_EXAMPLE: ExampleCompany = {
  company_number: MADE_UP.company_number,
  legal_name: MADE_UP.legal_name,
  date: SYNTHETIC_DAY,
}

/** The members after the candidates. */
export const EXAMPLE_RANKING = {
  candidate_limit_reached: false,
  matching_version: MATCHING_VERSION,
  score_definition: SCORE_DEFINITION,
  ...SYNTHETIC_PROVENANCE,
}
