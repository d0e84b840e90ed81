/** Queries by name in process, one at a time, for the rows of search and resolve. */
import { noJournal } from '../../support/journal.ts'
import { openCatalog } from '../../../store/dataset/catalog.ts'
import { readableCompanies, type ImportedRegister } from '../generated-register.ts'
import { ReferenceRegister, toBenchCompany } from '../quality/register.ts'
import { timed, type Contender, type TimedQueries } from '../search/contender.ts'
import { exhaustiveOf } from '../search/exhaustive.ts'
import { loadSearchPeers, productContender } from '../search/peers.ts'
import { makeQueries, type QueryGroup } from '../search/queries.ts'

const SEED = 1
/** Peers take a tenth of a second and more for some queries. */
const PEER_QUERIES_MAX = 100

export interface NamesBench extends AsyncDisposable {
  search: Contender
  resolve: Contender
  groups: readonly QueryGroup[]
  /** The queries of a kind, as many as a peer is asked. */
  peerQueries: (kind: QueryGroup['kind']) => string[]
  /** The reference for recall. */
  openExhaustive: () => Promise<Contender>
  /** The first installed peer: PostgreSQL where there is one, otherwise SQLite. */
  openPeer: () => Promise<Contender>
}

/** @param count how many queries of each group are made */
export async function openNamesBench({ dataDirectory }: ImportedRegister, count: number): Promise<NamesBench> {
  const catalog = openCatalog(dataDirectory)
  const dataset = catalog.current()
  if (!dataset) throw new Error('Nothing is imported')
  const register = new ReferenceRegister([...readableCompanies(dataset.snapshot)].map(toBenchCompany))
  // The clock stands still, so that no slow search is refused.
  const context = { dataset, journal: noJournal, hasSyntheticCompany: false, now: () => new Date(0) }
  const groups = makeQueries(register, { count, seed: SEED })
  return {
    search: productContender(context),
    resolve: productContender(context, 'resolve'),
    groups,
    peerQueries: (kind) =>
      groups.filter((group) => group.kind === kind).flatMap(({ queries }) => queries.slice(0, PEER_QUERIES_MAX)),
    async openExhaustive() {
      const exhaustive = await exhaustiveOf(context)(register.companies)
      if (!exhaustive) throw new Error('There is no exhaustive scan')
      return exhaustive
    },
    async openPeer() {
      for (const open of await loadSearchPeers()) {
        const peer = await open(register.companies)
        if (peer) return peer
      }
      throw new Error('No peer is installed')
    },
    [Symbol.asyncDispose]: () => catalog.close(),
  }
}

/** @returns the times of all queries of a kind. Throws if an exact name is not found: a failure would be fast. */
export async function timesOf(
  contender: Contender,
  groups: readonly QueryGroup[],
  kind: QueryGroup['kind'],
): Promise<number[]> {
  const times: number[] = []
  for (const { queries } of groups.filter((group) => group.kind === kind)) {
    const measured: TimedQueries = await timed(contender, queries)
    const missing = queries.find((_, index) => measured.rankings[index]?.length === 0)
    if (kind === 'exact' && missing !== undefined) throw new Error(`${contender.name} did not find ${missing}`)
    times.push(...measured.times)
  }
  return times
}
