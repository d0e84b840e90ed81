/** The dataset of the simulation. Each minute has another snapshot, so that a stored answer differs from a new one. */
import type { Dataset } from '../../../store/dataset/catalog.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { SYNTHETIC } from '../../../store/dataset/source.ts'

export const NUMBERS = ['1', '2', '3', '4'] as const
const SNAPSHOT_MS = 60_000

export function datasetAt(now: number): Dataset {
  const version = Math.floor(now / SNAPSHOT_MS)
  const source = { ...SYNTHETIC, retrieved_at: new Date(now).toISOString(), source_updated_at: null }
  const snapshot = {
    info: { snapshot_id: `sha256:${String(version).padStart(64, '0')}` },
    hold: <T>(work: () => T) => work(),
    find: (company_number: string) => ({
      ...SYNTHETIC_COMPANY,
      company_number,
      legal_name: `COMPANY ${company_number} OF ${version} LIMITED`,
    }),
  }
  return { snapshot, source } as unknown as Dataset
}
