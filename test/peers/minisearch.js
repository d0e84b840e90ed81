/** MiniSearch, a search index in JavaScript, with the fuzziness and prefixes that its guide shows. */
import MiniSearch from 'minisearch'

const OPTIONS = { fuzzy: 0.2, prefix: true }

export async function open(companies, limit) {
  const index = new MiniSearch({ fields: ['text'] })
  index.addAll(companies.map(({ number, text }) => ({ id: number, text })))
  return {
    name: 'MiniSearch, fuzzy 0.2, prefix',
    top: (text) =>
      index
        .search(text, OPTIONS)
        .slice(0, limit)
        .map(({ id }) => String(id)),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
