/** Where the records come from (contract 2.2): the register's dataset, or synthetic data for tests. */
import * as z from 'zod'
import { toDay } from '../../base/day.ts'

export const sourceSchema = z.strictObject({
  publisher: z.string(),
  dataset: z.string(),
  dataset_url: z.string(),
  license: z.string(),
  license_url: z.string(),
  resource_id: z.string(),
  notice: z.string(),
  retrieved_at: z.iso.datetime(),
  source_updated_at: z.iso.datetime().nullable(),
  modified: z.boolean(),
  synthetic: z.boolean(),
})

export type Source = z.infer<typeof sourceSchema>

/** The day of a file of the register, in UTC: that of the publisher's update, else of the retrieval. */
export function dateOfSource({ source_updated_at, retrieved_at }: Source): string {
  return toDay(source_updated_at ?? retrieved_at)
}

/** One retrieval of a file of the register: a step of the journal, and a part of the catalogue's entry. */
export const retrievalSchema = z.object({
  snapshot_id: z.string(),
  /** The path, URL or name that was retrieved, to retrieve it again. */
  location: z.string(),
  archive_sha256: z.string(),
  source: sourceSchema,
})

export type Retrieval = z.infer<typeof retrievalSchema>

/** The part of a source that does not change from one retrieval to the next. */
export type Publication = Omit<Source, 'retrieved_at' | 'source_updated_at'>

export const CRO_COMPANIES: Publication = {
  publisher: 'Companies Registration Office (CRO)',
  dataset: 'Companies',
  dataset_url: 'https://opendata.cro.ie/dataset/companies',
  license: 'Creative Commons Attribution 4.0 International (CC BY 4.0)',
  license_url: 'https://creativecommons.org/licenses/by/4.0/',
  resource_id: '3fef41bc-b8f4-4b10-8434-ce51c29b1bba',
  notice:
    'Contains Irish Public Sector Data (CRO) licensed under a Creative Commons Attribution 4.0 International (CC BY 4.0) licence. Changes were made: fields are normalised. This is not an official registry service.',
  modified: true,
  synthetic: false,
}

/** The resource's page at the portal. It names the archive's URL and time. */
export const CRO_COMPANIES_LOCATION =
  'https://opendata.cro.ie/dataset/bf6f837d-0946-4c14-9a99-82cd6980c121/resource/3fef41bc-b8f4-4b10-8434-ce51c29b1bba'

/**
 * The register has over 800,000 companies and loses few. A file with fewer than this is incomplete or another dataset.
 */
const CRO_COMPANIES_MIN = 500_000

export function minCompanyCount(location: string): number {
  const isRegister = URL.canParse(location) && new URL(location).host === new URL(CRO_COMPANIES_LOCATION).host
  return isRegister ? CRO_COMPANIES_MIN : 0
}

/** Synthetic records in the register's format: the sandbox's sample and the synthetic test company. */
export const SYNTHETIC: Publication = {
  publisher: 'irish-company-agent',
  dataset: 'Synthetic companies',
  dataset_url: 'urn:irish-company-agent:synthetic',
  license: 'Creative Commons Zero 1.0 Universal (CC0 1.0)',
  license_url: 'https://creativecommons.org/publicdomain/zero/1.0/',
  resource_id: 'synthetic',
  notice: 'Made-up records in the shape of the companies register, for tests. They describe no real company.',
  modified: true,
  synthetic: true,
}
