/** Writes the OpenAPI description of both deployments to a folder, for `npm run openapi-lint`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { buildTerms } from '../../agent/payment/terms.ts'
import { renderDocuments } from '../../rest-facade/documents/render-documents.ts'
import { loadTemplates } from '../../rest-facade/documents/templates.ts'

/** The linters refuse local names and example.com. */
const BASE_URL = 'https://irish-companies.example.org'

const [, , folder = ''] = process.argv
mkdirSync(folder, { recursive: true })
const templates = await loadTemplates()
for (const mode of ['testnet', 'mainnet'] as const) {
  const deployment = {
    baseUrl: BASE_URL,
    version: '0.1.0',
    terms: buildTerms(mode, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', OPERATIONS),
    rateLimitPerMinute: 120,
    addressBudget: 300,
    a2aEnabled: true,
    retentionDays: 30,
    exampleCompany: { company_number: '73848', date: '2026-01-02' },
    statuses: 'Dissolved, Normal',
    licence: { name: 'CC BY 4.0', url: 'https://creativecommons.org/licenses/by/4.0/' },
  }
  const pages = renderDocuments(deployment, templates)
  writeFileSync(join(folder, `${mode}.json`), pages.get('/openapi.json')?.text ?? '')
}
