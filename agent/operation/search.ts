/** The companies with the most similar names, best first, with the evidence for each (contract 4.2). */
import * as z from 'zod'
import { EXAMPLE_CANDIDATE, EXAMPLE_RANKING } from './examples.ts'
import { CANDIDATES_MAX, countUpTo, eircode, foldStatus, longText, statusText } from './fields.ts'
import { defineOperation } from './operation.ts'
import { API_PREFIX } from './endpoints.ts'
import { rankingMembers, repeatsInput } from './result.ts'
import { showStatuses } from './statuses.ts'

/** The 200 (contract 2.6). `query` and `filters` repeat the canonical input. */
export const searchResponseSchema = z.strictObject({
  query: z.strictObject({ q: z.string(), limit: z.int() }),
  filters: z.strictObject({ status: z.string().optional(), eircode: z.string().optional() }).optional(),
  ...rankingMembers,
})

export type SearchResponse = z.infer<typeof searchResponseSchema>

const EXAMPLE = { q: 'example trading', limit: 5 }

const EXAMPLE_ANSWER: SearchResponse = {
  query: EXAMPLE,
  candidates: [{ ...EXAMPLE_CANDIDATE, score: 960, signals: { ...EXAMPLE_CANDIDATE.signals, eircode_exact: null } }],
  ...EXAMPLE_RANKING,
}

/**
 * @example
 * `{"q": "example trading", "limit": 5}` costs 0.01 USDC and answers five companies with similar names, best first.
 */
export const search = defineOperation({
  name: 'search',
  method: 'GET',
  path: `${API_PREFIX}/search`,
  prices: { mainnet: 10_000, testnet: 1_000 },

  inputSchema: z.strictObject({
    q: longText('Company name or a part of it'),
    limit: countUpTo(CANDIDATES_MAX, 'candidates', 5),
    status: statusText('Only companies of this status', ' Without it, dissolved companies are included.').optional(),
    eircode: eircode.optional(),
  }),
  inputFault: 'invalid_query',
  answerSchema: searchResponseSchema,
  answerName: 'SearchResponse',
  refusals: ['query_too_broad'],
  reserved: ['company_not_found', 'body_too_large', 'unsupported_media_type'],

  quoteNote({ status: asked }, statusesOf) {
    if (asked === undefined) return undefined
    const statuses = statusesOf()
    if (statuses.some((each) => each !== null && foldStatus(each) === foldStatus(asked))) return undefined
    const detail = 'no company has this status, so the answer would be empty'
    return { detail, description: `Note: ${detail}. The statuses are: ${showStatuses(statuses)}.` }
  },
  isAnswerTo: repeatsInput,

  examples: () => [EXAMPLE, { q: 'example trading', status: 'Normal', eircode: 'D02 X285' }],
  exampleAnswer: () => EXAMPLE_ANSWER,
  quotedExample: () => ({ q: 'ryanair', limit: '5' }),

  skill: {
    name: 'Company name search',
    description:
      'Up to ten Irish companies ranked by how well their names fit, with the evidence for each. ' +
      'An empty list is an answer and is charged.',
    tags: ['ireland', 'company', 'registry', 'search', 'kyb'],
  },
  tool: {
    name: 'search_companies',
    title: 'Search Irish companies by name',
    use: 'Use it when you want several candidates to choose from.',
    charge: 'An empty list is charged.',
    size: 'An answer has 2 KB and 1 KB for each candidate.',
  },
})
