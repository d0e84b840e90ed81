/**
 * An operation that the service does not have, to test that a new one needs a definition and a function that answers.
 */
import { z } from 'zod'
import { companyNumber, limit } from '../../agent/operation/fields.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { defineOperation } from '../../agent/operation/operation.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { snapshotIdSchema } from '../../agent/operation/result.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { answerLookup } from '../../agent/answer/companies.ts'
import { type AnswerFunction } from '../../agent/answer/registers.ts'

const wordsSchema = z.strictObject({
  company_number: z.string(),
  words: z.array(z.string()),
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
})

const EXAMPLE = { company_number: SYNTHETIC_COMPANY.company_number, letter_case: 'lower', limit: 2 } as const

export const nameWords = defineOperation({
  name: 'name_words',
  method: 'GET',
  path: '/api/v1/company/{company_number}/words/{letter_case}',
  prices: { mainnet: lookup.prices.mainnet * 3, testnet: lookup.prices.testnet * 3 },

  inputSchema: z.strictObject({
    company_number: companyNumber,
    letter_case: z.enum(['lower', 'upper'], { error: 'must be lower or upper' }).meta({ description: 'Of the words.' }),
    limit,
    starts: z.string().optional().meta({ description: 'Only words that begin with this text.' }),
  }),
  inputFault: 'invalid_query',
  answerSchema: wordsSchema,
  answerName: 'NameWords',
  refusals: ['company_not_found', 'source_data_conflict'],

  isAnswerTo: (input, answer) => input.company_number === answer.company_number,

  examples: () => [EXAMPLE],
  exampleAnswer: () => ({
    company_number: EXAMPLE.company_number,
    words: ['synthetic', 'test'],
    ...SYNTHETIC_PROVENANCE,
  }),
  quotedExample: () => ({ company_number: EXAMPLE.company_number, letter_case: 'lower', limit: '2' }),

  skill: { name: 'Name words', description: 'The words of a company name.', tags: ['test'] },
  tool: {
    name: 'name_words',
    title: 'Words of a company name',
    use: 'Never use it.',
    charge: 'It is charged.',
    size: 'An answer has 1 KB.',
  },
})

export const answerNameWords: AnswerFunction<typeof nameWords> = (input, context) => {
  const { company_number } = input
  const found = answerLookup({ company_number }, context)
  if (found.kind === 'refused') return found
  const { company, source, snapshot_id } = found.answer
  const name = input.letter_case === 'lower' ? company.legal_name.toLowerCase() : company.legal_name
  const words = name.split(' ').filter((word) => word.startsWith(input.starts ?? ''))
  return { kind: 'computed', answer: { company_number, words: words.slice(0, input.limit), source, snapshot_id } }
}
