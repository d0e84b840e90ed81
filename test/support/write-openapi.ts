/** Writes the description of both deployments, for the linters: `node dist/test/support/write-openapi.js FOLDER`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OPERATION_NAMES } from '../../agent/operation/schema.ts'
import { termsOf } from '../../agent/payments/terms.ts'
import { pagesOf } from '../../rest-facade/documents/pages.ts'

/** Linters refuse local names and example.com. */
const BASE_URL = 'https://irish-companies.example.org'

const [, , folder = ''] = process.argv
mkdirSync(folder, { recursive: true })
for (const mode of ['testnet', 'mainnet'] as const) {
  const pages = await pagesOf({
    baseUrl: BASE_URL,
    version: '0.1.0',
    terms: termsOf(mode, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'),
    onSale: OPERATION_NAMES,
    rateLimitPerMinute: 120,
    a2aEnabled: true,
    retentionDays: 30,
    extensionUri: `${BASE_URL}/docs#http-x402-v1`,
    contactEmail: 'help@irish-companies.example.org',
  })
  writeFileSync(join(folder, `${mode}.json`), pages.get('/openapi.json')?.text ?? '')
}
