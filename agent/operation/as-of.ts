/** One company as the register had it on a day (contract 4.9). */
import * as z from 'zod'
import { dateOfSource } from '../../store/dataset/source.ts'
import { SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { exampleCompany } from './examples.ts'
import { companyNumber, day } from './fields.ts'
import { defineOperation } from './operation.ts'
import { API_PREFIX } from './endpoints.ts'
import { companyResponseSchema } from './result.ts'

/**
 * @example
 * `{"company_number": "335801", "date": "2026-01-02"}` costs 0.01 USDC and answers the company as the last file of that
 * day or before had it.
 */
export const asOf = defineOperation({
  name: 'as_of',
  method: 'GET',
  path: `${API_PREFIX}/company/{company_number}/as-of/{date}`,
  prices: { mainnet: 10_000, testnet: 1_000 },
  batchInputsMax: 100,
  toolInputsMax: 50,

  inputSchema: z.strictObject({ company_number: companyNumber, date: day('The day') }),
  inputFault: 'invalid_query',
  memberFaults: { company_number: 'invalid_company_number' },
  answerSchema: companyResponseSchema,
  answerName: 'CompanyResponse',
  refusals: ['company_not_found', 'date_not_covered', 'source_data_conflict'],

  isAnswerTo: (input, { company, source }) =>
    company.company_number === input.company_number && dateOfSource(source) <= input.date,

  examples: ({ company_number, date }) => [{ company_number, date }],
  exampleAnswer: (mode) => ({ company: exampleCompany(mode), ...SYNTHETIC_PROVENANCE }),

  skill: {
    name: 'Company on a day',
    description:
      'One Irish company record as the last file of the register of that day or before had it. ' +
      'Not charged when there is no such record or no file.',
    tags: ['ireland', 'company', 'registry', 'point-in-time', 'kyb'],
  },
  tool: {
    name: 'company_on_day',
    title: 'Look up one Irish company on a past day',
    bestFor: 'what the register showed on a day',
    notFor: 'what was in force on that day',
    charge: 'A missing record and a day without a file are not charged.',
    size: 'An answer has 1 to 2 KB.',
  },
})
