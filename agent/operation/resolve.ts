/** A name, a number or both to one company, or the reason why no company is certain (contract 4.3). */
import * as z from 'zod'
import { EXAMPLE_RANKING, exampleCandidate } from './examples.ts'
import { companyNumber, eircode, longText } from './fields.ts'
import { defineOperation } from './operation.ts'
import { API_PREFIX } from './endpoints.ts'
import {
  candidateSchema,
  MATCHING_VERSION,
  rankingMembers,
  repeatsInput,
  resolutionMembers,
  SCORE_DEFINITION,
  type Candidate,
} from './result.ts'

/** The 200 (contract 2.7). `query` repeats the canonical input. */
export const resolveResponseSchema = z.strictObject({
  status: z.enum(['matched', 'ambiguous', 'conflicting', 'no_match']),
  match: candidateSchema.nullable(),
  query: z.strictObject({
    name: z.string().optional(),
    company_number: z.string().optional(),
    eircode: z.string().optional(),
    address: z.string().optional(),
  }),
  ...resolutionMembers,
  ...rankingMembers,
})

export type ResolveResponse = z.infer<typeof resolveResponseSchema>

/** The first candidate of an answer that is matched. */
export const matchOf = ({ status, candidates }: Pick<ResolveResponse, 'status' | 'candidates'>): Candidate | null =>
  status === 'matched' ? (candidates[0] ?? null) : null

function exampleAnswer(mode: 'mainnet' | 'testnet'): ResolveResponse {
  const candidate = exampleCandidate(mode)
  const query = { name: candidate.company.legal_name }
  const explained = {
    explanation: 'The first candidate has 1000 points.',
    next: 'nothing' as const,
    differs_in: [],
    related: [],
    past: null,
  }
  return { status: 'matched', match: candidate, query, candidates: [candidate], ...explained, ...EXAMPLE_RANKING }
}

/**
 * @example `{"name": "Example Trading Ltd", "eircode": "D02 X285"}` costs 0.02 USDC and answers the one company that
 * has this name and this Eircode, with `status` "matched".
 */
export const resolve = defineOperation({
  name: 'resolve',
  method: 'POST',
  path: `${API_PREFIX}/resolve`,
  /** Contract 4.3.1. */
  bodyBytesMax: 4096,
  prices: { mainnet: 20_000, testnet: 2_000 },
  /** A resolution takes many times the time of a lookup. */
  batchInputsMax: 25,
  toolInputsMax: 15,
  batchItem: {
    shared: { matching_version: MATCHING_VERSION, score_definition: SCORE_DEFINITION },
    omitted: ['query', 'match'],
    restore: (query, item) => ({ query, match: matchOf(item as ResolveResponse) }),
  },

  inputSchema: z
    .strictObject({
      name: longText('Company name').optional(),
      company_number: companyNumber.optional(),
      eircode: eircode.optional(),
      address: longText('A fragment of the registered address, as evidence').optional(),
    })
    .refine((input) => input.name !== undefined || input.company_number !== undefined, {
      error: 'name or company_number is required',
    }),
  inputFault: 'invalid_body',
  answerSchema: resolveResponseSchema,
  answerName: 'ResolveResponse',
  refusals: ['query_too_broad', 'company_not_found', 'source_data_conflict'],

  isAnswerTo(input, answer) {
    const { company_number: number } = input
    if (!repeatsInput(input, answer)) return false
    return number === undefined || answer.candidates.every(({ company }) => company.company_number === number)
  },

  examples: ({ legal_name: name, company_number }) => [{ name }, { company_number }],
  exampleAnswer,

  skill: {
    name: 'Company resolution',
    description:
      'A name, with number, Eircode or address as evidence, to one Irish company, or an honest "ambiguous", ' +
      '"conflicting" or "no_match", which are answers and are charged.',
    tags: ['ireland', 'company', 'registry', 'entity-resolution', 'kyb'],
  },
  tool: {
    name: 'resolve_company',
    title: 'Resolve a name to one Irish company',
    bestFor: 'one company from a name, ideally with Eircode, address or number. Act only on status "matched"',
    notFor: 'lists of candidates',
    charge: 'Every status is charged.',
    size: 'An answer has 2 KB and 1 KB for each candidate, of which there are at most ten.',
  },
})
