/** A search in process, from its input to the body of its response, beside another search engine with the same queries. */
import { timed } from '../search/contender.ts'
import { median, quantile } from '../statistics.ts'
import { timesOf, type NamesBench } from './names.ts'
import { withBaseline, type PerfRow } from './perf-row.ts'

export async function measureSearch({ search, groups, peerQueries, openPeer }: NamesBench): Promise<PerfRow[]> {
  const exact = await timesOf(search, groups, 'exact')
  const fuzzy = await timesOf(search, groups, 'fuzzy')
  const others = [...(await timesOf(search, groups, 'broad')), ...(await timesOf(search, groups, 'hostile'))]
  const peer = await openPeer()
  const baseline = (times: readonly number[], share: number) => ({ name: peer.name, value: quantile(times, share) })
  try {
    const [peerExact, peerFuzzy] = [
      (await timed(peer, peerQueries('exact'))).times,
      (await timed(peer, peerQueries('fuzzy'))).times,
    ]
    return [
      withBaseline('search exact p99', quantile(exact, 0.99), baseline(peerExact, 0.99)),
      withBaseline('search fuzzy p50', median(fuzzy), baseline(peerFuzzy, 0.5)),
      withBaseline('search fuzzy p99', quantile(fuzzy, 0.99), baseline(peerFuzzy, 0.99)),
      { id: 'search slowest', value: quantile([...exact, ...fuzzy, ...others], 1) },
    ]
  } finally {
    await peer.close()
  }
}
