/**
 * Reconciliation queries and results (Reconciliation Service API 0.2, sections 4.1 and 4.2) as rows and their results.
 */
import * as z from 'zod'
import { SCORE_MAX } from '../../operation/result.ts'
import type { ResolveResponse } from '../../operation/resolve.ts'
import { readTypedNumber } from '../../operation/typed-number.ts'
import { parseRow, ROWS_AT_ONCE, type RowCells, type RowResult } from './rows.ts'

/** Every company has this type. A client that asks for types gets one that is always right. */
const TYPE = { id: 'company', name: 'Irish company' }

/** A property value. An object is a cell that was reconciled before. */
const valueSchema = z.union([
  z.string(),
  z.number().transform(String),
  z.boolean().transform(String),
  z.object({ id: z.string() }).transform(({ id }) => id),
])

const querySchema = z.object({
  query: z.string().default(''),
  limit: z.number().optional(),
  type: z.unknown().optional(),
  properties: z.array(z.object({ pid: z.string(), v: z.union([valueSchema, z.array(valueSchema)]) })).default([]),
})

/** The queries of a batch by their keys, not validated yet, so that the caller can check their number first. */
export const batchSchema = z.record(z.string(), z.unknown())

interface Query {
  cells: RowCells
  limit: number
  /** Whether it asks for entities of other types only, so that no company is an answer. */
  isForeign: boolean
}

/** The valid queries of a batch, by their keys. */
export function parseQueries(values: z.infer<typeof batchSchema>): [key: string, query: Query][] {
  return Object.entries(values).flatMap(([key, value]) => {
    const parsed = querySchema.safeParse(value).data
    if (!parsed || parseRow(toCells(parsed)).kind === 'invalid') return []
    return [[key, { cells: toCells(parsed), limit: parsed.limit ?? 0, isForeign: isForeign(parsed.type) }]]
  })
}

/** A type is an id, an object with an id, or a list of them. Without one, every type is asked for. */
function isForeign(type: unknown): boolean {
  const types = (Array.isArray(type) ? type : [type]).filter((each) => each !== undefined && each !== null)
  const idOf = (each: unknown) => (typeof each === 'object' && each !== null && 'id' in each ? each.id : each)
  return types.length > 0 && !types.some((each) => idOf(each) === TYPE.id)
}

/** Properties that a query can have. Others are ignored. Of several values the first one counts. */
const PROPERTIES = ['company_number', 'eircode', 'address'] as const

function toCells({ query, properties }: z.infer<typeof querySchema>): RowCells {
  // The API expects that an identifier as the query finds its entity. The service itself reads a number with a label.
  const number = readTypedNumber(query)
  const cells: RowCells = number?.isLabelled === false ? { company_number: number.digits } : { name: query }
  for (const property of PROPERTIES) {
    const value = properties.find(({ pid }) => pid === property)?.v
    const [first] = Array.isArray(value) ? value : [value]
    if (first !== undefined) cells[property] = first
  }
  return cells
}

/** A query that the service refused has no candidates. */
export function toResult({ limit }: Query, result: RowResult | undefined): object {
  const candidates = result?.kind === 'bought' ? toCandidates(result.answer) : []
  return { result: limit > 0 ? candidates.slice(0, limit) : candidates }
}

/** Only the match of a decided answer has `match: true`, so a client never matches an undecided row by itself. */
function toCandidates({ match, candidates }: ResolveResponse): object[] {
  return candidates.map(({ company, score, signals, conflicts }) => ({
    id: company.company_number,
    name: company.legal_name,
    description: [company.status, ...company.registered_address.lines].filter(Boolean).join(', '),
    type: [TYPE],
    score: (score / SCORE_MAX) * 100,
    features: [
      ...Object.entries(signals).flatMap(([id, value]) => (value === null ? [] : { id, value })),
      ...conflicts.map((id) => ({ id, value: true })),
    ],
    match: company.company_number === match?.company.company_number,
  }))
}

/** The manifest. It names no suggest, preview or extension service. */
export function createManifest(baseUrl: string, version: string): object {
  return {
    versions: ['0.2'],
    name: 'Irish companies (paid)',
    identifierSpace: `${baseUrl}/api/v1/company/`,
    schemaSpace: `${baseUrl}/docs/api.md`,
    documentation: `${baseUrl}/docs`,
    serviceVersion: version,
    defaultTypes: [TYPE],
    batchSize: ROWS_AT_ONCE,
  }
}
