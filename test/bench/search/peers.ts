/** The contenders of a search by name: the product and other search engines. */
import type { SearchResponse } from '../../../agent/operation/search.ts'
import type { AnswerContext } from '../../../agent/answer/registers.ts'
import { prepareAnswer } from '../../../agent/answer/answers.ts'
import { installPeers, peerPath } from '../install-peers.ts'
import { coreWords } from '../quality/names.ts'
import { RANKED, type Contender, type OpenContender } from './contender.ts'
import { openPostgresPeer } from './postgres-peer.ts'
import { parseOperation } from '../../../agent/operation/operation.ts'
import { singleOf } from '../../support/operations.ts'

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
