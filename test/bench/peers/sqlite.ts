/** SQLite's full text search over trigrams, in memory: any trigram of the query, ranked by bm25. */
import Database from 'libsql'
import { peerText, RANKED, type OpenContender } from './contender.ts'

const TRIGRAM_LETTERS = 3

export const openSqlite: OpenContender = async (companies) => {
  const database = new Database(':memory:')
  database.exec("CREATE VIRTUAL TABLE company USING fts5(name, number UNINDEXED, tokenize = 'trigram')")
  const insert = database.prepare('INSERT INTO company (name, number) VALUES (?, ?)')
  database.exec('BEGIN')
  for (const { number, name } of companies) insert.run(peerText(name), number)
  database.exec('COMMIT')
  const select = database.prepare(`SELECT number FROM company WHERE name MATCH ? ORDER BY rank LIMIT ${RANKED}`)
  return {
    name: 'SQLite FTS5, trigrams, bm25',
    top(name) {
      const trigrams = trigramsOf(peerText(name))
      if (trigrams.length === 0) return []
      const found = select.all(trigrams.map((trigram) => `"${trigram}"`).join(' OR ')) as { number: string }[]
      return found.map(({ number }) => number)
    },
    close: async () => void database.close(),
  }
}

function trigramsOf(text: string): string[] {
  const letters = Array.from(text)
  const starts = letters.slice(TRIGRAM_LETTERS - 1).keys()
  return [...new Set(Array.from(starts, (at) => letters.slice(at, at + TRIGRAM_LETTERS).join('')))]
}
