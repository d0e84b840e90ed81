/** The dataset of the simulation: one snapshot, which may be replaced, stale or missing at any time. */
import type { Catalog, Dataset } from '../../../store/dataset/catalog.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { SYNTHETIC } from '../../../store/dataset/source.ts'
import type { Simulator } from './simulator.ts'

export const NUMBERS = ['1', '2', '3', '4'] as const
export const MISSING = '9'

const STALE_MS = 80 * 60 * 60 * 1000

export class SimulatedCatalog {
  readonly #sim: Simulator
  #version = 1
  #isStale = false
  #isPresent = true

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Publishes another snapshot, possibly a stale one, or removes it. */
  change(): void {
    const sim = this.#sim
    this.#version += 1
    this.#isStale = sim.fault('stale data', 0.1)
    this.#isPresent = !sim.fault('no data', 0.05)
    sim.count('fault another snapshot')
    sim.trace(
      'catalog',
      () => `snapshot ${this.#version}${this.#isStale ? ', stale' : ''}${this.#isPresent ? '' : ', missing'}`,
    )
  }

  open(): Pick<Catalog, 'current' | 'retrieval'> {
    const read = () => (this.#isPresent ? this.#dataset() : undefined)
    return { current: read, retrieval: read }
  }

  #dataset(): Dataset {
    const version = this.#version
    const retrievedAt = new Date(this.#sim.now - (this.#isStale ? STALE_MS : 0)).toISOString()
    const source = { ...SYNTHETIC, retrieved_at: retrievedAt, source_updated_at: null }
    const snapshot = {
      info: { snapshot_id: `sha256:${String(version).padStart(64, '0')}` },
      hold: <T>(work: () => T) => work(),
      find: (companyNumber: string) => {
        if (companyNumber === MISSING) return undefined
        return {
          ...SYNTHETIC_COMPANY,
          company_number: companyNumber,
          legal_name: `COMPANY ${companyNumber} OF ${version} LIMITED`,
        }
      },
    }
    return { snapshot, source } as unknown as Dataset
  }
}
