/** A deployment as the documents show it. */
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { buildTerms, type Mode } from '../../agent/payment/terms.ts'
import type { DocumentedDeployment } from '../../rest-facade/documents/examples.ts'

export const PAY_TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

export function deploymentOf(mode: Mode, change: Partial<DocumentedDeployment> = {}): DocumentedDeployment {
  return {
    // The linters refuse local names and example.com.
    baseUrl: 'https://a-rather-long-name-for-a-service.example.org',
    version: '7.8.9',
    terms: buildTerms(mode, PAY_TO, OPERATIONS),
    rateLimitPerMinute: 77,
    addressBudget: 193,
    a2aEnabled: true,
    retentionDays: 45,
    exampleCompany: { company_number: '73848', legal_name: 'PLAIN FIXTURE LIMITED', date: '2026-01-02' },
    exampleCompanies: [{ company_number: '73848', legal_name: 'PLAIN FIXTURE LIMITED' }],
    isMadeUp: false,
    statuses: 'Dissolved, Normal',
    licence: { name: 'Some Licence 1.0', url: 'https://licences.example.org/some' },
    ...change,
  }
}
