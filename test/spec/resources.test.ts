/**
 * The objects of contract 2, compared with the schemas of the OpenAPI description. support/openapi-check.ts checks
 * every answer of every test against these schemas.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Company } from '../../store/dataset/company.ts'
import { startFakedService } from '../support/faked-service.ts'
import { registerRow, toCsv } from '../support/register.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { useService } from '../support/use-service.ts'

/** A type as text: a question mark stands for null, brackets for an array. An object has the types of its members. */
type Notation = string | { [member: string]: Notation }

const each = (names: string, type: string) => Object.fromEntries(names.split(' ').map((name) => [name, type]))

const SNAPSHOT_ID = '/^sha256:[0-9a-f]{64}$/'
const DATA = { source: 'Source', snapshot_id: SNAPSHOT_ID }
const CODES = 'status status_code company_type company_type_code nace_v2_code principal_object_code'
const DATES =
  'registered_date dissolved_date last_annual_return_date next_annual_return_date last_accounts_date status_date ' +
  'name_effective_date type_effective_date'
const RANKED = {
  candidates: '[Candidate] to 10',
  candidate_limit_reached: 'boolean',
  ...each('matching_version score_definition', 'string'),
  ...DATA,
}
const GAPS = '[date] to 1000'
const FIELDS = `[legal_name ${CODES} ${DATES} registered_address]`.replaceAll(' ', '|')

/** The objects of the contract. A member whose name ends in a question mark can be absent. */
const OBJECTS: Record<string, Notation> = {
  Company: {
    company_number: '/^[0-9]{1,20}$/',
    legal_name: 'string',
    ...each(CODES, 'string?'),
    ...each(DATES, 'date?'),
    registered_address: { lines: '[string]', eircode: 'string?' },
  },
  Source: {
    ...each('publisher dataset dataset_url license license_url resource_id notice', 'string'),
    retrieved_at: 'date-time',
    source_updated_at: 'date-time?',
    ...each('modified synthetic', 'boolean'),
  },
  CompanyResponse: { company: 'Company', ...DATA },
  Candidate: {
    company: 'Company',
    score: 'integer 0 to 1000',
    match_type: 'company_number|strict_name|relaxed_name|fuzzy_name',
    signals: 'MatchSignals',
    conflicts: '[eircode_mismatch|name_mismatch|number_mismatch]',
  },
  MatchSignals: {
    name_similarity: 'number 0 to 1',
    ...each('strict_name_exact relaxed_name_exact company_number_exact', 'boolean'),
    ...each('eircode_exact address_contains', 'boolean?'),
  },
  SearchResponse: {
    query: { q: 'string', limit: 'integer' },
    'filters?': { 'status?': 'string', 'eircode?': 'string' },
    ...RANKED,
  },
  ResolveResponse: {
    query: { 'name?': 'string', 'company_number?': 'string', 'eircode?': 'string', 'address?': 'string' },
    status: 'matched|ambiguous|conflicting|no_match',
    match: 'Candidate?',
    ...RANKED,
  },
  ErrorResponse: { error: 'Error' },
  DataError: { company: '?', error: 'Error', ...DATA },
  HistoryResponse: {
    company_number: 'string',
    versions:
      '[{state: present|absent|quarantined|erased, first_seen: {snapshot_id: ' +
      `${SNAPSHOT_ID}, date: date}, last_seen: {snapshot_id: ${SNAPSHOT_ID}, date: date}?, company: Company?, changed: ${FIELDS}}] to 100`,
    next_before: 'string?',
    complete_since: 'date',
    gaps: GAPS,
    ...DATA,
  },
  ChangesResponse: {
    changes:
      '[{company_number: string, date: date, kind: added|removed|changed, ' +
      `changed: ${FIELDS}, before: {legal_name: string, status: string?}?, after: {legal_name: string, status: string?}?}] to 100`,
    next_cursor: 'string?',
    gaps: GAPS,
    'not_in_register?': '[string]',
    ...DATA,
  },
}

interface Schema {
  $ref?: string
  type?: string | string[]
  pattern?: string
  format?: string
  enum?: string[]
  minimum?: number
  maximum?: number
  maxItems?: number
  items?: Schema
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean
}

function notationOf(schema: Schema): Notation {
  const { $ref, type, anyOf, items, properties } = schema
  if ($ref !== undefined) return $ref.split('/').at(-1) ?? ''
  if (anyOf) return anyOf.map((option) => (option.type === 'null' ? '?' : textOf(notationOf(option)))).join('')
  if (Array.isArray(type)) return type.map((name) => (name === 'null' ? '?' : name)).join('')
  if (type === 'null') return '?'
  if (items) return `[${textOf(notationOf(items))}]${schema.maxItems === undefined ? '' : ` to ${schema.maxItems}`}`
  if (!properties) return valueNotation(schema)
  expect(schema.additionalProperties).to.equal(false)
  const isRequired = (name: string) => schema.required?.includes(name) === true
  return Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [isRequired(name) ? name : `${name}?`, notationOf(member)]),
  )
}

function valueNotation({ type, pattern, format, minimum, maximum, ...schema }: Schema): string {
  const bounds = maximum !== undefined && maximum < 1e6 ? ` ${minimum} to ${maximum}` : ''
  return schema.enum?.join('|') ?? (pattern === undefined ? (format ?? `${String(type)}${bounds}`) : `/${pattern}/`)
}

function textOf(notation: Notation): string {
  if (typeof notation === 'string') return notation
  return `{${Object.entries(notation)
    .map(([name, type]) => `${name}: ${textOf(type)}`)
    .join(', ')}}`
}

describe('[2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.11, 2.12] the objects of the contract', () => {
  const { get, lookup, buy } = useService(async () => {
    const path = join(await makeTemporaryDirectory(), 'companies.csv')
    const full = registerRow({ company_num: '000073848', company_name: 'PLAIN FIXTURE LIMITED' })
    const nothing = Object.fromEntries(Object.keys(full).map((column) => [column, '']))
    const bare = { ...nothing, company_num: '1', company_name: 'BARE FIXTURE LIMITED' }
    await writeFile(path, toCsv(full, { ...registerRow(), ...bare }))
    return startFakedService({ dataset: path })
  })

  it('have the described members, and no others', async () => {
    const { components } = (await get('/openapi.json')).json as { components: { schemas: Record<string, Schema> } }
    for (const [name, members] of Object.entries(OBJECTS))
      expect(notationOf(components.schemas[name] ?? {}), name).to.deep.equal(members)
  })

  it('[4.1.1] keep leading zeros of a number, have null for a field without a value, and mark made-up data', async () => {
    const answers = []
    for (const number of ['000073848', '1', '00000000']) answers.push(await buy((payment) => lookup(number, payment)))
    const bodies = answers.map(({ json }) => json as unknown as { company: Company; source: { synthetic: boolean } })
    expect(bodies.map(({ company }) => company.company_number)).to.deep.equal(['000073848', '1', '00000000'])
    expect(bodies.map(({ source }) => source.synthetic)).to.deep.equal([false, false, true])
    const { company_number, legal_name, registered_address, ...others } = bodies[1]!.company
    expect([company_number, legal_name]).to.deep.equal(['1', 'BARE FIXTURE LIMITED'])
    expect(registered_address).to.deep.equal({ lines: [], eircode: null })
    expect(Object.values(others)).to.deep.equal(Array(14).fill(null))
  })

  it('[1.4, 9.1] are served under v1, and metadata, OpenAPI description and card state the same version', async () => {
    const meta = (await get('/api/v1/meta')).json as { version: string; endpoints: string[] }
    const description = (await get('/openapi.json')).json as { openapi: string; info: { version: string } }
    const card = (await get('/.well-known/agent-card.json')).json
    expect([meta.version, description.info.version, card['version']]).to.deep.equal(Array(3).fill('0.1.0'))
    expect(description.openapi).to.equal('3.1.0')
    for (const endpoint of meta.endpoints) expect(endpoint).to.match(/^(GET|POST) \/api\/v1\//)
    expect((await get('/docs')).text).to.contain('id="http-x402-v1"')
  })
})
