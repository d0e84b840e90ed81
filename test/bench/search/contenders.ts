/**
 * The product and the other search engines, as the benchmarks of the search by name compare and time them.
 * PostgreSQL runs pg_trgm, of Debian's package postgresql-contrib, with a GIN index and `%` at its default threshold.
 */
import pg from 'pg'
import { prepareAnswer } from '../../../agent/answer/answers.ts'
import type { AnswerContext } from '../../../agent/answer/registers.ts'
import { parseOperation } from '../../../agent/operation/operation.ts'
import type { SearchResponse } from '../../../agent/operation/search.ts'
import { singleOf } from '../../support/operations.ts'
import { findPostgres, startPostgres } from '../../support/postgres.ts'
import { installPeers, peerPath } from '../install-peers.ts'
import { coreWords } from '../quality/names.ts'
import type { BenchCompany } from '../quality/register.ts'

/** Ranks companies by name: the product or a peer. */
export interface Contender extends AsyncDisposable {
  name: string
  /** The numbers of the ten best companies, best first. */
  top(name: string): Promise<readonly string[]> | readonly string[]
}

/** Builds a contender over the companies; undefined if its software is not installed. */
export type OpenContender = (companies: readonly BenchCompany[]) => Promise<Contender | undefined>

export const RANKED = 10

/** Queries before the measurement: after fewer, the slowest ones are those that the compiler has not optimised yet. */
const WARM_UP_QUERIES = 1_000
/** Some peers take a tenth of a second for a query. */
const WARM_UP_MS_MAX = 10_000

/** The ranking for each query, and its time in milliseconds. */
export async function timed(contender: Contender, names: readonly string[]) {
  const end = performance.now() + WARM_UP_MS_MAX
  for (let at = 0; at < WARM_UP_QUERIES && performance.now() < end; at += 1)
    await contender.top(names[at % names.length] ?? '')
  const [rankings, times] = [[] as (readonly string[])[], [] as number[]]
  for (const name of names) {
    const began = performance.now()
    // Awaiting a synchronous contender would add a turn of the event loop.
    const answer = contender.top(name)
    const ranking = answer instanceof Promise ? await answer : answer
    times.push(performance.now() - began)
    rankings.push(ranking)
  }
  return { rankings, times }
}

/** The share of the ten best of an exhaustive ranking that were found; 1 if that ranking is empty. */
export function recall(found: readonly string[], best: readonly string[]): number {
  const wanted = Math.min(RANKED, best.length)
  const hits = found.slice(0, RANKED).filter((number) => best.includes(number)).length
  return wanted === 0 ? 1 : Math.min(hits, wanted) / wanted
}

/** Builds a peer over texts; undefined if its software is not installed. */
type OpenPeer = (companies: { number: string; text: string }[], limit: number) => Promise<Contender | undefined>

/** test/peers installs these on demand. */
const PEER_MODULES = ['sqlite', 'minisearch'] as const

/** Open them one after the other: two at once would share memory and processor caches. */
export async function loadSearchPeers(): Promise<OpenContender[]> {
  await installPeers()
  const modules = await Promise.all(PEER_MODULES.map((name) => import(peerPath(name)) as Promise<{ open: OpenPeer }>))
  return [openPostgresPeer, ...modules.map(({ open }) => open)].map(withPeerTexts)
}

/** Peers get names without the legal form: LIMITED makes any two short names similar to a trigram index. */
function withPeerTexts(open: OpenPeer): OpenContender {
  const toText = (name: string) => coreWords(name).join(' ')
  return async (companies) => {
    const texts = companies.map(({ number, name }) => ({ number, text: toText(name) }))
    const peer = await open(texts, RANKED)
    return peer && { ...peer, top: (name) => peer.top(toText(name)) }
  }
}

/** The product from the input of a request to the body of its response, with validation of both. */
export function productContender(context: AnswerContext, operation: 'search' | 'resolve' = 'search'): Contender {
  return {
    name: operation === 'search' ? 'this service' : 'this service, resolve',
    top(name) {
      const parsed = parseOperation(singleOf(operation), operation === 'search' ? { q: name, limit: RANKED } : { name })
      if (parsed.kind === 'invalid') return []
      const prepared = prepareAnswer(parsed.operation, context)
      if (prepared.kind === 'refused') return []
      const { candidates } = JSON.parse(prepared.body) as Pick<SearchResponse, 'candidates'>
      return candidates.map(({ company }) => company.company_number)
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** Memory for the whole index and no waiting for the disk: the benchmark measures the search. */
const SETTINGS = {
  shared_buffers: '512MB',
  fsync: 'off',
  full_page_writes: 'off',
  max_parallel_workers_per_gather: '0',
}
const BATCH_ROWS = 10_000

async function openPostgresPeer(
  companies: { number: string; text: string }[],
  limit: number,
): Promise<Contender | undefined> {
  if (findPostgres() === undefined) return undefined
  const server = await startPostgres(SETTINGS)
  const client = new pg.Client({ connectionString: await server.createDatabase() })
  const close = async () => {
    await client.end()
    await server.stop()
  }
  try {
    await client.connect()
    await client.query('create extension pg_trgm')
    await client.query('create unlogged table company (number text not null, text text not null)')
    for (let from = 0; from < companies.length; from += BATCH_ROWS) {
      const batch = companies.slice(from, from + BATCH_ROWS)
      const values = [batch.map(({ number }) => number), batch.map(({ text }) => text)]
      await client.query('insert into company select * from unnest($1::text[], $2::text[])', values)
    }
    await client.query('create index on company using gin (text gin_trgm_ops)')
    await client.query('vacuum analyze company')
  } catch (cause) {
    await close()
    throw cause
  }
  // A named statement is prepared once.
  const text = 'select number from company where text % $1 order by similarity(text, $1) desc, number limit $2'
  return {
    name: 'PostgreSQL, pg_trgm, GIN',
    async top(name) {
      const { rows } = await client.query<{ number: string }>({ name: 'top', text, values: [name, limit] })
      return rows.map(({ number }) => number)
    },
    [Symbol.asyncDispose]: close,
  }
}
