/** The members of every object of contract 2, checked on bought answers. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startFakedService } from '../support/faked-service.ts'
import { registerRow, toCsv } from '../support/register.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import type { Ask } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

type Json = Record<string, unknown>
type Rule = (value: unknown) => boolean

const text: Rule = (value) => typeof value === 'string' && value !== ''
const flag: Rule = (value) => typeof value === 'boolean'
const object: Rule = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const list: Rule = (value) => Array.isArray(value)
const matches =
  (pattern: RegExp): Rule =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
const oneOf =
  (...values: unknown[]): Rule =>
  (value) =>
    values.includes(value)
const whole =
  (min: number, max = Number.MAX_SAFE_INTEGER): Rule =>
  (value) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max
const date: Rule = (value) => matches(/^\d{4}-\d{2}-\d{2}$/)(value) && !Number.isNaN(Date.parse(String(value)))
const time: Rule = (value) => matches(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/)(value) && !Number.isNaN(Date.parse(String(value)))
const share: Rule = (value) => typeof value === 'number' && value >= 0 && value <= 1
const snapshotId = matches(/^sha256:[0-9a-f]{64}$/)

const SOURCE = 'publisher dataset dataset_url license license_url resource_id notice'
const CODES = 'status status_code company_type company_type_code nace_v2_code principal_object_code'
const DATES =
  'registered_date dissolved_date last_annual_return_date next_annual_return_date last_accounts_date status_date ' +
  'name_effective_date type_effective_date'
const ofEach = (names: string, rule: Rule): Record<string, Rule> =>
  Object.fromEntries(names.split(' ').map((name) => [name, rule]))

interface Resource {
  fields: Record<string, Rule>
  /** Members that may be null, and are null in one of the answers. */
  nullable?: readonly string[]
  /** Members that may be absent, and are absent in one of the answers. */
  optional?: readonly string[]
}

const MATCH_TYPES = ['company_number', 'strict_name', 'relaxed_name', 'fuzzy_name']
const STATUSES = ['matched', 'ambiguous', 'conflicting', 'no_match']
const SEARCH_FIELDS: Record<string, Rule> = {
  query: object,
  candidates: (value) => list(value) && (value as unknown[]).length <= 10,
  source: object,
  snapshot_id: snapshotId,
  matching_version: matches(/^ie-names-[0-9]+$/),
  score_definition: text,
  candidate_limit_reached: flag,
}

/** The objects of contract 2. */
const RESOURCES: Record<string, Resource> = {
  '2.1 Company': {
    fields: {
      company_number: matches(/^[0-9]{1,20}$/),
      legal_name: text,
      ...ofEach(CODES, text),
      ...ofEach(DATES, date),
      registered_address: object,
    },
    nullable: [...CODES.split(' '), ...DATES.split(' ')],
  },
  '2.1 registered_address': {
    fields: { lines: (value) => list(value) && (value as unknown[]).every(text), eircode: text },
    nullable: ['eircode'],
  },
  '2.2 Source': {
    fields: { ...ofEach(SOURCE, text), retrieved_at: time, source_updated_at: time, modified: flag, synthetic: flag },
    nullable: ['source_updated_at'],
  },
  '2.3 CompanyResponse': { fields: { company: object, source: object, snapshot_id: snapshotId } },
  '2.4 Candidate': {
    fields: {
      company: object,
      score: whole(0, 1000),
      match_type: oneOf(...MATCH_TYPES),
      signals: object,
      conflicts: (value) => list(value) && (value as unknown[]).every(text),
    },
  },
  '2.5 MatchSignals': {
    fields: {
      name_similarity: share,
      ...ofEach('strict_name_exact relaxed_name_exact eircode_exact address_contains company_number_exact', flag),
    },
    nullable: ['eircode_exact', 'address_contains'],
  },
  '2.6 SearchResponse': { fields: { ...SEARCH_FIELDS, filters: object }, optional: ['filters'] },
  '2.7 ResolveResponse': {
    fields: { ...SEARCH_FIELDS, status: oneOf(...STATUSES), match: object },
    nullable: ['match'],
  },
  '2.8 DataError': { fields: { company: oneOf(null), error: object, source: object, snapshot_id: snapshotId } },
  '2.8 ErrorResponse': { fields: { error: object } },
  '2.8 Error': { fields: { code: text, message: text } },
}

const NUMBERED = 12
const BARE = { company_num: '1', company_name: 'BARE FIXTURE LIMITED' }

/** A complete company, one with number and name only, a quarantined one, and twelve with similar names. */
function register(): string {
  const full = registerRow({ company_num: '000073848', company_name: 'PLAIN FIXTURE LIMITED' })
  const nothing = Object.fromEntries(Object.keys(full).map((column) => [column, '']))
  const twice = ['ONE', 'OTHER'].map((word) =>
    registerRow({ company_num: '2001', company_name: `${word} FIXTURE LIMITED` }),
  )
  const alike = Array.from({ length: NUMBERED }, (_, index) =>
    registerRow({ company_num: String(5000 + index), company_name: 'ALIKE CONTRIVANCE LIMITED' }),
  )
  return toCsv(full, { ...registerRow(), ...nothing, ...BARE }, ...twice, ...alike)
}

describe('[1.4, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8] the objects of the contract', () => {
  const { get, lookup, search, resolve, buy } = useService(async () => {
    const path = join(await makeTemporaryDirectory(), 'companies.csv')
    await writeFile(path, register())
    return startFakedService({ dataset: path })
  })
  /** All received objects by type. */
  const seen = new Map<string, Json[]>(Object.keys(RESOURCES).map((name) => [name, []]))
  const all = (name: keyof typeof RESOURCES) => seen.get(name) ?? []
  const resolutions: Json[] = []
  let searched: Json = {}

  /** Buys and returns the body. */
  const bodyOf = async (ask: Ask) => (await buy(ask)).json
  const note = (name: string, value: unknown) => void seen.get(name)?.push(value as Json)
  function noteCompany(value: unknown): void {
    note('2.1 Company', value)
    note('2.1 registered_address', (value as Json)['registered_address'])
  }
  function noteCandidates(answer: Json): void {
    note('2.2 Source', answer['source'])
    for (const candidate of answer['candidates'] as Json[]) {
      note('2.4 Candidate', candidate)
      note('2.5 MatchSignals', candidate['signals'])
      noteCompany(candidate['company'])
    }
  }

  before(async () => {
    for (const number of ['000073848', '1', '00000000']) {
      const answer = await bodyOf((payment) => lookup(number, payment))
      note('2.3 CompanyResponse', answer)
      note('2.2 Source', answer['source'])
      noteCompany(answer['company'])
    }
    for (const number of ['999', '2001']) {
      const refused = await bodyOf((payment) => lookup(number, payment))
      note('2.8 DataError', refused)
      note('2.2 Source', refused['source'])
    }
    for (const { json } of [await lookup('x'), await get('/api/v1/search')]) note('2.8 ErrorResponse', json)
    for (const { error } of [...all('2.8 DataError'), ...all('2.8 ErrorResponse')]) note('2.8 Error', error)

    searched = await bodyOf((payment) => search('q=Alike%20Contrivance%20Limited&limit=10', payment))
    for (const query of ['q=Plain%20Fixtur', 'q=Plain%20Fixture%20Ltd&status=normal&eircode=D02X285'])
      note('2.6 SearchResponse', await bodyOf((payment) => search(query, payment)))
    note('2.6 SearchResponse', searched)
    for (const body of [
      { company_number: '000073848' },
      { name: 'Plain Fixture Limited', eircode: 'T12AB34', address: '1 Fixture Street' },
      { name: 'Plain Fixture Limited', eircode: 'D02X285' },
      { name: 'Alike Contrivance Limited' },
      { name: 'Qwxzvkj Yqxzwvk' },
    ])
      resolutions.push(await bodyOf((payment) => resolve(body, payment)))
    for (const answer of resolutions) note('2.7 ResolveResponse', answer)
    for (const answer of [...all('2.6 SearchResponse'), ...resolutions]) noteCandidates(answer)
  })

  for (const [name, { fields, nullable = [], optional = [] }] of Object.entries(RESOURCES)) {
    it(`${name} has its members, each of its type, and no other`, () => {
      const objects = all(name)
      for (const each of objects) expect(fields).to.include.all.keys(Object.keys(each))
      for (const [field, rule] of Object.entries(fields)) {
        const values = objects.filter((each) => Object.hasOwn(each, field)).map((each) => each[field])
        if (optional.includes(field)) expect(values.length, field).to.be.within(1, objects.length - 1)
        else expect([values.length, objects.length > 0], field).to.deep.equal([objects.length, true])
        const mayBeNull = nullable.includes(field)
        const present = mayBeNull ? values.filter((value) => value !== null) : values
        expect(
          present.filter((value) => !rule(value)),
          field,
        ).to.deep.equal([])
        // Only a portal states `source_updated_at`: test/spec/freshness.test.ts.
        if (mayBeNull) expect(present.length).to.be.within(field === 'source_updated_at' ? 0 : 1, values.length - 1)
      }
    })
  }

  it('[4.1.1] keep leading zeros of a number, and mark made-up data as synthetic', () => {
    const answers = all('2.3 CompanyResponse') as { company: Json; source: Json }[]
    expect(answers.map(({ company, source }) => [company['company_number'], source['synthetic']])).to.deep.equal([
      ['000073848', false],
      ['1', false],
      ['00000000', true],
    ])
  })

  it('contain every match_type', () => {
    const kinds = new Set(all('2.4 Candidate').map((candidate) => candidate['match_type']))
    expect([...kinds]).to.have.members(MATCH_TYPES)
  })

  it('[2.6] have at most ten candidates', () => {
    for (const answer of [searched, resolutions[3]]) expect(answer?.['candidates']).to.have.lengthOf(10)
  })

  it('[2.7] have a match only when status is matched, and it is the first candidate', () => {
    const statuses = ['matched', 'matched', 'conflicting', 'ambiguous', 'no_match']
    expect(resolutions.map(({ status }) => status)).to.deep.equal(statuses)
    for (const { status, match, candidates } of resolutions)
      expect(match).to.deep.equal(status === 'matched' ? (candidates as Json[])[0] : null)
  })

  it('[9.1] are served under v1, and metadata, OpenAPI description and card state the same version', async () => {
    const meta = (await get('/api/v1/meta')).json as { version: string; endpoints: string[] }
    const description = (await get('/openapi.json')).json as { openapi: string; info: { version: string } }
    const card = (await get('/.well-known/agent-card.json')).json
    expect([meta.version, description.info.version, card['version']]).to.deep.equal(Array(3).fill('0.1.0'))
    expect(description.openapi).to.equal('3.1.0')
    for (const endpoint of meta.endpoints) expect(endpoint).to.match(/^(GET|POST) \/api\/v1\//)
    expect((await get('/docs')).text).to.contain('id="http-x402-v1"')
  })
})
