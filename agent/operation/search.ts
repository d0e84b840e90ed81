/** The companies with the most similar names, best first, with the evidence for each (contract 4.2). */
import * as z from 'zod'
import { EXAMPLE_RANKING, exampleCandidate } from './examples.ts'
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

function exampleAnswer(mode: 'mainnet' | 'testnet'): SearchResponse {
  const candidate = exampleCandidate(mode)
  const explained = { explanation: '1 candidate.', next: 'choose' as const }
  const query = { q: candidate.company.legal_name, limit: 5 }
  return { query, candidates: [candidate], ...explained, ...EXAMPLE_RANKING }
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

  examples: ({ legal_name: q }) => [{ q, limit: 5 }],
  exampleAnswer,

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
    bestFor: 'several candidates for a name or a part of it',
    notFor: 'a decision for one company',
    charge: 'An empty list is charged.',
    size: 'An answer has 2 KB and 1 KB for each candidate.',
  },
})
