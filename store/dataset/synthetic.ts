/** The synthetic test company 00000000. It exists only on testnet and belongs to no dataset (contract 1.7). */
import { mapFields, type Company } from './company.ts'
import { dateOfSource, SYNTHETIC, type Source } from './source.ts'

export const SYNTHETIC_COMPANY: Company = {
  company_number: '00000000',
  legal_name: 'SYNTHETIC TEST COMPANY LIMITED',
  ...mapFields(() => null),
  status: 'Normal',
  status_code: '1151',
  company_type: 'LTD - Private Company Limited by Shares',
  company_type_code: '1153',
  registered_date: '2026-01-01',
  name_effective_date: '2026-01-01',
  type_effective_date: '2026-01-01',
  registered_address: { lines: ['1 SYNTHETIC STREET', 'DUBLIN'], eircode: null },
}

/** Constant, so every lookup of the record returns the same bytes. */
export const SYNTHETIC_PROVENANCE: { source: Source; snapshot_id: string } = {
  source: { ...SYNTHETIC, retrieved_at: '2026-01-01T00:00:00Z', source_updated_at: null },
  /** Of a snapshot that contains only this record. Not computed, because browsers have no synchronous hash. */
  snapshot_id: 'sha256:c031b6a83ba4ff860e9f33e99140d52be1b3590b1e5318181ef5fe617e4dce00',
}

/** The company has one version since this day. */
export const SYNTHETIC_DAY = dateOfSource(SYNTHETIC_PROVENANCE.source)
