/**
 * Reconciliation queries and results (Reconciliation Service API 0.2, sections 4.1, 4.2 and 4.5) as rows and their
 * results.
 */
import * as z from 'zod'
import { candidateRows, companyRow, type CandidateRow } from '../candidate-row.ts'
import { SCORE_MAX } from '../../agent/operation/result.ts'
import type { ResolveResponse } from '../../agent/operation/resolve.ts'
import { readTypedNumber } from '../../agent/operation/typed-number.ts'
import type { Company } from '../../store/dataset/company.ts'
import { parseRow, type ParsedRow, type RowCells, type RowResult } from './rows.ts'
import { ROWS_AT_ONCE } from './run.ts'

/** Every company has this type. A client that asks for types gets one that is always right. */
const TYPE = { id: 'company', name: 'Irish company' }

/** A property value. An object is a cell that was reconciled before. */
const valueSchema = z.union([
  z.string(),
  z.number().transform(String),
  z.boolean().transform(String),
  z.object({ id: z.string() }).transform(({ id }) => id),
])

const propertySchema = z.object({ pid: z.string(), v: z.union([valueSchema, z.array(valueSchema)]) })

/** A client can send null for what it leaves out, and a number as text. */
const querySchema = z.object({
  query: z.string().default(''),
  limit: z
    .union([
      z.number(),
      z
        .string()
        .regex(/^[0-9]{1,9}$/)
        .transform(Number),
    ])
    .nullish(),
  type: z.unknown().optional(),
  properties: z.array(propertySchema).nullish(),
})

/** The queries of a batch by their keys, not validated yet, so that the caller can check their number first. */
export const batchSchema = z.record(z.string(), z.unknown())

interface Query {
  /** Undefined for a query that is not well-formed, or has a property without a meaning here: no candidates. */
  row: ParsedRow | undefined
  limit: number
  /** Whether it asks for entities of other types only, so that no company is an answer. */
  isForeign: boolean
}

/** The queries of a batch, by their keys. */
export function parseQueries(values: z.infer<typeof batchSchema>): [key: string, query: Query][] {
  return Object.entries(values).map(([key, value]) => {
    const parsed = querySchema.safeParse(value).data
    const cells = parsed && toCells(parsed)
    return [key, { row: cells && parseRow(cells), limit: parsed?.limit ?? 0, isForeign: isForeign(parsed?.type) }]
  })
}

/** A type is an id, an object with an id, or a list of them. Without one, every type is asked for. */
function isForeign(type: unknown): boolean {
  const types = (Array.isArray(type) ? type : [type]).filter((each) => each !== undefined && each !== null)
  const idOf = (each: unknown) => (typeof each === 'object' && each !== null && 'id' in each ? each.id : each)
  return types.length > 0 && !types.some((each) => idOf(each) === TYPE.id)
}

/** Properties that a query can have, by their names without case, spaces and underscores. */
const PROPERTIES = new Map<string, keyof RowCells>([
  ['companynumber', 'company_number'],
  ['number', 'company_number'],
  ['eircode', 'eircode'],
  ['postcode', 'eircode'],
  ['address', 'address'],
])

/** Undefined for an unknown property. Of several values the first one counts. */
function toCells({ query, properties }: z.infer<typeof querySchema>): RowCells | undefined {
  // The API expects that an identifier as the query finds its entity. The service itself reads a number with a label.
  const number = readTypedNumber(query)
  const cells: RowCells = number?.isLabelled === false ? { company_number: query } : { name: query }
  for (const { pid, v: value } of properties ?? []) {
    const property = PROPERTIES.get(pid.toLowerCase().replaceAll(/[\s_]/g, ''))
    if (property === undefined) return undefined
    const [first] = Array.isArray(value) ? value : [value]
    if (first !== undefined) cells[property] ??= first
  }
  return cells
}

/** A query that is empty, not well-formed, too short or too long, or that the service refused, has no candidates. */
export function toResult({ limit }: Query, result: RowResult | undefined): object {
  const candidates =
    result?.kind === 'bought'
      ? toCandidates(result.answer)
      : result?.kind === 'found'
        ? [toFound(result.answer.company)]
        : []
  return { result: limit > 0 ? candidates.slice(0, limit) : candidates }
}

/** Of 100. A match has at least 90. */
const CONTRADICTED_SCORE_MAX = 50

/** Only the match of a decided answer has `match: true`, so a client never matches an undecided row by itself. */
function toCandidates(answer: ResolveResponse): { score: number }[] {
  const rows = candidateRows(answer)
  const all = answer.candidates.map(({ company, score, signals, conflicts }, index) => ({
    ...describe(rows[index] ?? companyRow(company)),
    score: Math.min((score / SCORE_MAX) * 100, conflicts.length > 0 ? CONTRADICTED_SCORE_MAX : 100),
    features: [
      ...Object.entries(signals).flatMap(([id, value]) => (value === null ? [] : { id, value })),
      ...conflicts.map((id) => ({ id, value: true })),
    ],
    match: company.company_number === answer.match?.company.company_number,
  }))
  return all.toSorted((one, other) => other.score - one.score)
}

const toFound = (company: Company) => ({
  ...describe(companyRow(company)),
  score: 100,
  features: [{ id: 'company_number_exact', value: true }],
  match: true,
})

const describe = ({ number, name, status, address, eircode, registered_date: date, reason }: CandidateRow) => ({
  id: number,
  name,
  description: [status, address, eircode, date && `registered ${date}`, reason].filter(Boolean).join(', '),
  type: [TYPE],
})

/** The columns that can be added to matched cells, with their names. */
export const EXTENSIONS = {
  status: 'Status',
  company_type: 'Type',
  address: 'Address',
  eircode: 'Eircode',
  registered_date: 'Registered',
  dissolved_date: 'Dissolved',
  status_date: 'Status since',
  next_annual_return_date: 'Next annual return',
  last_accounts_date: 'Last accounts',
} as const

type Extension = keyof typeof EXTENSIONS

/** The values of a record in an added column. */
export function valuesOf(company: Company, id: Extension): object[] {
  const value = { ...company, ...companyRow(company) }[id]
  if (!value) return []
  return [id.endsWith('_date') ? { date: `${value}T00:00:00Z` } : { str: value }]
}

const extensionIds = Object.keys(EXTENSIONS) as Extension[]

export const PROPERTY_LIST = extensionIds.map((id) => ({ id, name: EXTENSIONS[id] }))

/** Companies of one extension request. OpenRefine sends ten. */
const IDS_MAX = 100

export const extendSchema = z.object({
  ids: z.array(z.string()).max(IDS_MAX),
  properties: z.array(z.object({ id: z.enum(extensionIds) })),
})

/** @param local the URL of this service, as the client knows it */
export function createManifest(baseUrl: string, version: string, local: string): object {
  return {
    versions: ['0.2'],
    name: 'Irish companies (paid)',
    identifierSpace: `${baseUrl}/api/v1/company/`,
    schemaSpace: `${baseUrl}/docs/api.md`,
    documentation: `${baseUrl}/docs`,
    serviceVersion: version,
    defaultTypes: [TYPE],
    batchSize: ROWS_AT_ONCE,
    view: { url: `${baseUrl}/api/v1/company/{{id}}` },
    preview: { url: `${local}preview?id={{id}}`, width: 420, height: 260 },
    extend: { propose_properties: { service_url: local, service_path: 'properties' }, property_settings: [] },
  }
}
