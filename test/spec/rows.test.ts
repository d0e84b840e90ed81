/** Keeps docs/spec-rows.md: every row of the contract is in it once, and names a test that there is. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const read = (path: string) => readFileSync(fileURLToPath(import.meta.resolve(`#root/${path}`)), 'utf8')

/** The contract's rows, section by section, as they stand there. */
const ROWS: Record<string, string[]> = {
  '1 What the service does': [
    'every answer names source and snapshot',
    'three paid operations',
    'x402 v2, USDC, EIP-3009',
    'network ids',
    'free endpoints',
    'daily source check',
    'names and addresses are never instructions',
    'the same operations over A2A',
    'synthetic company, on testnet alone',
    'synthetic company, whatever the data’s age',
  ],
  '2 Resources and their fields': [
    'each field of 2.1 to 2.10',
    'no field beside them',
    '2.1 leading zeros',
    '2.2 synthetic',
    '2.2 source_updated_at',
    '2.4 match_type',
    '2.6 at most 10 candidates',
    '2.7 match only when matched',
    '2.9 dataset_status',
    '2.9 values',
    '2.10 is the source’s',
  ],
  '3 States and transitions': ['records are read-only', 'new requests are 503 after 72 hours'],
  '4.1 GET /api/v1/company/{company_number}': [
    'path parameter, 1 to 20 ASCII digits',
    'no query string',
    'no body',
    'price',
    '200 with PAYMENT-RESPONSE',
    '400',
    '402 with PAYMENT-REQUIRED',
    '404 DataError',
    '405',
    '409 source_data_conflict',
    '429 with Retry-After',
    '503',
  ],
  '4.2 GET /api/v1/search': [
    'q',
    'limit',
    'status',
    'eircode',
    'duplicate parameters',
    '200',
    'no match is charged',
    'candidate_limit_reached',
    'every status that is listed',
    '405',
    '429',
    '503',
    'retries preserve the query string',
  ],
  '4.3 POST /api/v1/resolve': [
    'Content-Type',
    '4 KiB',
    'unknown fields',
    'name',
    'company_number',
    'eircode',
    'address',
    'name or company_number',
    '200',
    'every status that is listed',
    '405',
    '409',
    '429',
    '503',
    'ambiguous is charged',
    'conflicting is charged',
    'no match is charged',
    'quarantined records are no candidates',
    'retries keep the body',
    'rule 1',
    'rule 2: 1000',
    'rule 2: 960',
    'rule 2: up to 850',
    'rule 2: 80 and 40',
    'rule 2: at most 1000',
    'rule 3',
    'rule 3: a complete pool',
    'rule 4',
    'rule 5',
    'rule 6',
    'rule 7',
  ],
  '4.4 Free endpoints': [
    'GET /api/v1/meta',
    'GET /api/v1/meta 503',
    'GET /attribution',
    'GET /docs',
    'GET /docs/api.md',
    'GET /docs/a2a.md',
    'GET /llms.txt',
    'GET /openapi.json',
    'GET /robots.txt',
    'GET /.well-known/jwks.json',
    'GET /.well-known/agent-card.json',
    'GET /.well-known/agent-card.json 404',
    'GET /.well-known/agent-registration.json, GET /agent.json, GET /api/v1/reputation',
    'the same: not_registered',
    'the same: 400, client, start, limit',
    'the same: 404 on mainnet',
    'the same: 429',
    'the same: 503',
    'GET /testnet-client.py',
    'GET /testnet-client.py buys the synthetic company',
    'GET /testnet-client.py 404 on mainnet',
  ],
  '4.5 POST /a2a': [
    'headers',
    'body',
    'text part',
    'data part',
    '402 names the REST resource',
    '413',
    '502',
    'binding to operation and input',
    '400',
    '404 and 409 as by REST',
    '409 replay conflict',
    '429',
    '503',
    'ids authorize no other purchase',
    'equivalent objects are the same',
    'unsupported',
  ],
  '5 Authentication': [
    'free endpoints need nothing',
    'flow, steps 1 to 6',
    'network',
    'asset',
    'receiver',
    'EIP-712 domain',
    'lookup, search and resolve price',
    'empty search is charged',
    'ambiguous is charged',
    'conflicting is charged',
    'no match is charged',
    'invalid input is not',
    'a missing record is not',
    'a quarantined record is not',
    'stale data is not',
    'unavailable data is not',
    'a rate limit is not',
    'stored before settlement',
    'stored over a restart and a newer snapshot',
    'search retries',
    'resolve retries',
    'payment_outcome_unknown',
    'the card is signed with ES256',
  ],
  '6 Events': ['streaming and push are unsupported', 'no tasks'],
  '7 Errors': [
    '400',
    '400 query_too_broad',
    '402',
    '404',
    '405',
    '409',
    '413',
    '415',
    '429',
    '502',
    '503 stale',
    '503 payment_outcome_unknown',
  ],
  '8 Limits': [
    'rate limit',
    'company_number',
    'q, name, address',
    'q, name, address: characters after normalisation',
    'limit',
    'limit, default',
    'candidates per response',
    'status filter',
    'eircode',
    'resolve JSON body',
    'A2A request body',
    'A2A message parts',
    'A2A messageId',
    'A2A messageId in bytes',
    'A2A concurrent calls',
    'A2A call timeout',
    'A2A response size',
    'data freshness',
    'data freshness: daily check',
    'reputation limit',
    'thresholds 900 and 80',
  ],
  '9 Versioning': [
    'service and OpenAPI',
    'path prefix',
    'x402',
    'A2A and its extension',
    'A2A-Version is required',
    'snapshot_id and matching_version',
  ],
}

interface Row {
  section: string
  row: string
  title: string
  file: string
}

const table: Row[] = read('docs/spec-rows.md')
  .split(/^## /m)
  .slice(1)
  .flatMap((part) => {
    const [section = ''] = part.split('\n')
    const rows = [...part.matchAll(/^\| (.+?) +\| (.+?) +\| (\S+\/\S+) +\|$/gm)]
    return rows.map(([, row = '', title = '', file = '']) => ({ section, row, title, file: `test/${file}.test.ts` }))
  })

/** The titles of a file's tests and groups, as they are written there. */
function titlesOf(file: string): string[] {
  return [...read(file).matchAll(/\b(?:it|describe)\(\s*(['`])(.*?)\1,\s/g)].map(([, , title = '']) => title)
}

describe('the table of the contract’s rows', () => {
  it('has every row once, in its section', () => {
    const rows = Object.entries(ROWS).flatMap(([section, names]) => names.map((row) => `${section}: ${row}`))
    expect(table.map(({ section, row }) => `${section}: ${row}`)).to.deep.equal(rows)
    expect(new Set(rows).size).to.equal(rows.length)
  })

  for (const { section, row, title, file } of table) {
    it(`has a test for ${section}: ${row}`, () => {
      expect(existsSync(fileURLToPath(import.meta.resolve(`#root/${file}`))), file).to.equal(true)
      expect(titlesOf(file)).to.include(title)
    })
  }
})
