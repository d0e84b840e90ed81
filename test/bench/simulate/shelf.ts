/** The data on sale in the simulation: a snapshot that another may take the place of at any moment, and that may be missing. */
import type { Catalog, Dataset } from '../../../store/catalog.ts'
import { SYNTHETIC_COMPANY } from '../../../store/synthetic.ts'
import { SYNTHETIC } from '../../../store/source.ts'
import type { World } from './world.ts'

export const NUMBERS = ['1', '2', '3', '4'] as const
export const QUARANTINED = '8'
export const MISSING = '9'

const STALE_MS = 80 * 60 * 60 * 1000

export class SimulatedShelf {
  readonly #world: World
  #version = 1
  #isStale = false
  #isThere = true

  constructor(world: World) {
    this.#world = world
  }

  /** Another snapshot, an old one, or none. */
  change(): void {
    const world = this.#world
    this.#version += 1
    this.#isStale = world.fault('stale data', 0.1)
    this.#isThere = !world.fault('no data', 0.05)
    world.count('fault another snapshot')
    world.trace(
      'shelf',
      () => `snapshot ${this.#version}${this.#isStale ? ', stale' : ''}${this.#isThere ? '' : ', missing'}`,
    )
  }

  catalog(): Catalog {
    const never = () => {
      throw new Error('Nobody asks for this')
    }
    return {
      current: () => (this.#isThere ? this.#dataset() : undefined),
      retrieval: never,
      info: never,
      publish: never,
      openSnapshots: () => [],
      close: () => Promise.resolve(),
    }
  }

  #dataset(): Dataset {
    const version = this.#version
    const retrievedAt = new Date(this.#world.now - (this.#isStale ? STALE_MS : 0)).toISOString()
    const source = { ...SYNTHETIC, retrieved_at: retrievedAt, source_updated_at: null }
    const snapshot = {
      info: { snapshot_id: `sha256:${String(version).padStart(64, '0')}` },
      find: (companyNumber: string) => {
        if (companyNumber === MISSING) return undefined
        if (companyNumber === QUARANTINED) return 'quarantined'
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
