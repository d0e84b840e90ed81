/** SQLite full text search over trigrams, in memory: matches any trigram of the query, ranked by bm25. */
import Database from 'libsql'

const TRIGRAM_LETTERS = 3

export async function open(companies, limit) {
  const database = new Database(':memory:')
  database.exec("CREATE VIRTUAL TABLE company USING fts5(text, number UNINDEXED, tokenize = 'trigram')")
  const insert = database.prepare('INSERT INTO company (text, number) VALUES (?, ?)')
  database.exec('BEGIN')
  for (const { number, text } of companies) insert.run(text, number)
  database.exec('COMMIT')
  const select = database.prepare(`SELECT number FROM company WHERE text MATCH ? ORDER BY rank LIMIT ${limit}`)
  return {
    name: 'SQLite FTS5, trigrams, bm25',
    top(text) {
      const trigrams = toTrigrams(text)
      if (trigrams.length === 0) return []
      return select.all(trigrams.map((trigram) => `"${trigram}"`).join(' OR ')).map(({ number }) => number)
    },
    [Symbol.asyncDispose]: async () => void database.close(),
  }
}

function toTrigrams(text) {
  const letters = Array.from(text)
  const starts = letters.slice(TRIGRAM_LETTERS - 1).keys()
  return [...new Set(Array.from(starts, (at) => letters.slice(at, at + TRIGRAM_LETTERS).join('')))]
}
