/** One company by its exact number (contract 4.1). */
import * as z from 'zod'
import { SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { exampleCompany } from './examples.ts'
import { companyNumber } from './fields.ts'
import { defineOperation } from './operation.ts'
import { API_PREFIX } from './endpoints.ts'
import { companyResponseSchema } from './result.ts'

/**
 * @example
 * `{"company_number": "335801"}` costs 0.01 USDC and answers the company with exactly this number.
 */
export const lookup = defineOperation({
  name: 'lookup',
  method: 'GET',
  path: `${API_PREFIX}/company/{company_number}`,
  priceKey: `${API_PREFIX}/company`,
  prices: { mainnet: 10_000, testnet: 1_000 },
  batchInputsMax: 100,
  toolInputsMax: 50,

  inputSchema: z.strictObject({ company_number: companyNumber }),
  inputFault: 'invalid_company_number',
  answerSchema: companyResponseSchema,
  answerName: 'CompanyResponse',
  refusals: ['company_not_found', 'source_data_conflict'],

  isAnswerTo: (input, { company }) => company.company_number === input.company_number,

  examples: ({ company_number }) => [{ company_number }],
  exampleAnswer: (mode) => ({ company: exampleCompany(mode), ...SYNTHETIC_PROVENANCE }),

  skill: {
    name: 'Company lookup',
    description:
      'One Irish company record by exactly its company number, with source, licence and snapshot id. ' +
      'Not charged when there is no such record.',
    tags: ['ireland', 'company', 'registry', 'lookup', 'kyb'],
  },
  tool: {
    name: 'lookup_company',
    title: 'Look up one Irish company by its number',
    bestFor: 'an exact company number; leading zeros are significant',
    notFor: 'names',
    charge: 'A missing record is not charged.',
    size: 'An answer has 1 to 2 KB.',
  },
})
