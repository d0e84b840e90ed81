/** Keeps docs/spec-rows.md: every row of the contract is in it once, and names a test that there is. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const read = (path: string) => readFileSync(fileURLToPath(import.meta.resolve(`#root/${path}`)), 'utf8')

/** The contract's rows, as they stand there. */
const ROWS = [
  '4.1 path parameter, 1 to 20 ASCII digits',
  '4.1 no query string',
  '4.1 no body',
  '4.1 price',
  '4.1 200 with PAYMENT-RESPONSE',
  '4.1 400',
  '4.1 402 with PAYMENT-REQUIRED',
  '4.1 404 DataError',
  '4.1 405',
  '4.1 409 source_data_conflict',
  '4.1 429 with Retry-After',
  '4.1 503',
  '4.2 q',
  '4.2 limit',
  '4.2 status',
  '4.2 eircode',
  '4.2 duplicate parameters',
  '4.2 200',
  '4.2 no match is charged',
  '4.2 405',
  '4.2 503',
  '4.2 retries preserve the query string',
  '4.3 Content-Type',
  '4.3 4 KiB',
  '4.3 unknown fields',
  '4.3 name',
  '4.3 company_number',
  '4.3 eircode',
  '4.3 address',
  '4.3 200',
  '4.3 405',
  '4.3 409',
  '4.3 ambiguous is charged',
  '4.3 conflicting is charged',
  '4.3 no match is charged',
  '4.3 quarantined records are no candidates',
  '4.3 retries keep the body',
  '4.4 GET /api/v1/meta',
  '4.4 GET /api/v1/meta 503',
  '4.4 GET /attribution',
  '4.4 GET /docs',
  '4.4 GET /docs/api.md',
  '4.4 GET /docs/a2a.md',
  '4.4 GET /llms.txt',
  '4.4 GET /openapi.json',
  '4.4 GET /robots.txt',
  '4.4 GET /.well-known/jwks.json',
  '4.4 GET /.well-known/agent-card.json',
  '4.4 GET /.well-known/agent-card.json 404',
  '4.5 headers',
  '4.5 body',
  '4.5 text part',
  '4.5 data part',
  '4.5 402 names the REST resource',
  '4.5 413',
  '4.5 502',
  '4.5 binding to operation and input',
  '7 400',
  '7 400 query_too_broad',
  '7 402',
  '7 404',
  '7 405',
  '7 409',
  '7 413',
  '7 415',
  '7 429',
  '7 502',
  '7 503 stale',
  '7 503 payment_outcome_unknown',
]

const table = [...read('docs/spec-rows.md').matchAll(/^\| (\d.*?) +\| (test\/\S+) +\| (.+?) +\|$/gm)].map(
  ([, row = '', file = '', title = '']) => ({ row, file, title }),
)

/** The titles of a file's tests and groups, as they are written there. */
function titlesOf(file: string): string[] {
  return [...read(file).matchAll(/\b(?:it|describe)\((['`])(.*?)\1, /g)].map(([, , title = '']) => title)
}

describe('the table of the contract’s rows', () => {
  it('has every row once', () => {
    expect(table.map(({ row }) => row)).to.deep.equal(ROWS)
  })

  for (const { row, file, title } of table) {
    it(`has a test for ${row}`, () => {
      expect(existsSync(fileURLToPath(import.meta.resolve(`#root/${file}`))), file).to.equal(true)
      expect(titlesOf(file)).to.include(title)
    })
  }
})
