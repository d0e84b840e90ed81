/** Imports records into SQLite: primary key on the number, index on the name, FTS5 index of trigrams, one transaction. */
import Database from 'libsql'

const PRAGMAS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;'

/**
 * `batches` yields rows in the order of `columns`, of which the first is the key and the last the name to search for.
 * @returns how many rows were read
 */
export async function importIntoSqlite({ path, columns, batches }) {
  const database = new Database(path)
  const [key] = columns
  const name = columns.at(-1)
  try {
    database.exec(PRAGMAS)
    database.exec(
      `CREATE TABLE company (${columns.map((column) => `${column} TEXT`).join(', ')}, PRIMARY KEY (${key})) WITHOUT ROWID`,
    )
    // Repeated numbers are left out. The generated register has few.
    const insert = database.prepare(`INSERT OR IGNORE INTO company VALUES (${columns.map(() => '?').join(',')})`)
    database.exec('BEGIN')
    let rows = 0
    for await (const batch of batches) {
      rows += batch.length
      for (const row of batch) insert.run(row)
    }
    database.exec(`
      CREATE INDEX company_name ON company (${name});
      CREATE VIRTUAL TABLE name USING fts5 (${name}, content = '', tokenize = 'trigram');
      INSERT INTO name (rowid, ${name}) SELECT row_number() OVER (), ${name} FROM company;
      COMMIT;
    `)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return rows
  } finally {
    database.close()
  }
}
