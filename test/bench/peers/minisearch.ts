/** MiniSearch, a search index in JavaScript, with the fuzziness and prefixes that its guide shows. */
import MiniSearch from 'minisearch'
import { peerText, RANKED, type OpenContender } from './contender.ts'

const OPTIONS = { fuzzy: 0.2, prefix: true }

export const openMiniSearch: OpenContender = async (companies) => {
  const index = new MiniSearch<{ id: string; name: string }>({ fields: ['name'] })
  index.addAll(companies.map(({ number, name }) => ({ id: number, name: peerText(name) })))
  return {
    name: 'MiniSearch, fuzzy 0.2, prefix',
    top(name) {
      const found = index.search(peerText(name), OPTIONS)
      return found.slice(0, RANKED).map(({ id }) => String(id))
    },
    close: async () => undefined,
  }
}
