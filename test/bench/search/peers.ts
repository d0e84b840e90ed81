/** The contenders of a search by name: the product and other search engines, which test/peers installs on demand. */
import { parseOperation } from '../../../agent/operation/operations.ts'
import type { SearchResponse } from '../../../agent/operation/search.ts'
import type { SkillContext } from '../../../agent/skills/registers.ts'
import { prepareAnswer } from '../../../agent/skills/skills.ts'
import { installPeers, peerPath } from '../install-peers.ts'
import { fold, partsOf } from '../quality/names.ts'
import { RANKED, type Contender, type OpenContender } from './contender.ts'

/** What a peer module exports: builds a contender over texts; undefined if its software is not installed. */
interface PeerModule {
  open: (companies: { number: string; text: string }[], limit: number) => Promise<Contender | undefined>
}

const PEER_MODULES = ['postgres', 'sqlite', 'minisearch'] as const

/** Open them one after the other: two at once would share memory and processor caches. */
export async function loadSearchPeers(): Promise<OpenContender[]> {
  await installPeers()
  return Promise.all(PEER_MODULES.map(async (name) => withPeerTexts((await import(peerPath(name))) as PeerModule)))
}

function withPeerTexts({ open }: PeerModule): OpenContender {
  return async (companies) => {
    const texts = companies.map(({ number, name }) => ({ number, text: toPeerText(name) }))
    const peer = await open(texts, RANKED)
    if (!peer) return undefined
    return { name: peer.name, top: (name) => peer.top(toPeerText(name)), close: () => peer.close() }
  }
}

/** Folded and without the legal form. This helps the peers: LIMITED makes any two short names similar to a trigram index. */
function toPeerText(name: string): string {
  return fold(partsOf(name).core)
}

/** The product from the input of a request to the body of its response, with validation of both. */
export function productContender(context: SkillContext, operation: 'search' | 'resolve' = 'search'): Contender {
  return {
    name: operation === 'search' ? 'this service' : 'this service, resolve',
    top(name) {
      const parsed = parseOperation(operation, operation === 'search' ? { q: name, limit: RANKED } : { name })
      if (parsed.kind === 'invalid') return []
      const prepared = prepareAnswer(parsed.operation, context)
      if (prepared.kind === 'refused') return []
      const { candidates } = JSON.parse(prepared.body) as Pick<SearchResponse, 'candidates'>
      return candidates.map(({ company }) => company.company_number)
    },
    close: async () => undefined,
  }
}
