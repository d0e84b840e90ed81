/** A resolution of an exact name in process, beside a search for the same name by another search engine. */
import { timed } from '../search/contender.ts'
import { quantile } from '../statistics.ts'
import { timesOf, type NamesBench } from './names.ts'
import { withBaseline, type PerfRow } from './perf-row.ts'

export async function measureResolve({ resolve, groups, peerQueries, openPeer }: NamesBench): Promise<PerfRow[]> {
  const times = await timesOf(resolve, groups, 'exact')
  const peer = await openPeer()
  try {
    const { times: peerTimes } = await timed(peer, peerQueries('exact'))
    const baseline = { name: peer.name, value: quantile(peerTimes, 0.99) }
    return [withBaseline('resolve p99', quantile(times, 0.99), baseline)]
  } finally {
    await peer.close()
  }
}
