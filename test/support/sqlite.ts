/** The same records in SQLite, as one would put them there: what our own store is measured against. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'libsql'
import type { Company } from '../../store/company.ts'
import { openCsv } from '../../store/import/archive.ts'
import { normalise } from '../../store/import/normalise.ts'
import { readRows } from '../../store/import/rows.ts'

/** A column a field; the lines of the address in one, as JSON. */
const COLUMNS = [
  'company_number',
  'legal_name',
  'status',
  'status_code',
  'company_type',
  'company_type_code',
  'nace_v2_code',
  'principal_object_code',
  'registered_date',
  'dissolved_date',
  'last_annual_return_date',
  'next_annual_return_date',
  'last_accounts_date',
  'status_date',
  'name_effective_date',
  'type_effective_date',
] as const satisfies (keyof Company)[]

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE company (
    ${COLUMNS.map((name) => `${name} TEXT`).join(', ')}, eircode TEXT, address_lines TEXT, name_key TEXT,
    PRIMARY KEY (company_number)
  ) WITHOUT ROWID;
`

/** SQLite's own means of finding names that are not written right. */
const SEARCHABLE = `
  CREATE VIRTUAL TABLE name USING fts5 (name_key, content = '', tokenize = 'trigram');
  INSERT INTO name (rowid, name_key) SELECT row_number() OVER (), name_key FROM company;
`

interface SqliteImport {
  path: string
  directory: string
  /** Whether names can be searched for by their trigrams, as ours can by their words' spelling. */
  isSearchable: boolean
}

/** Read and normalised by our own code, in one transaction; the indexes on the name are made once all are there. */
export async function importIntoSqlite({ path, directory, isSearchable }: SqliteImport): Promise<number> {
  await mkdir(directory, { recursive: true })
  const database = new Database(join(directory, 'register.sqlite'))
  try {
    database.exec(SCHEMA)
    const places = Array.from({ length: COLUMNS.length + 3 }, () => '?').join(',')
    // A number a second time is left out: it costs SQLite nothing more, and the made-up register has next to none.
    const insert = database.prepare(`INSERT OR IGNORE INTO company VALUES (${places})`)
    database.exec('BEGIN')
    const rows = await insertAll(path, (values) => void insert.run(values))
    database.exec('CREATE INDEX company_name ON company (name_key)')
    if (isSearchable) database.exec(SEARCHABLE)
    database.exec('COMMIT')
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return rows
  } finally {
    database.close()
  }
}

async function insertAll(path: string, insert: (values: (string | null)[]) => void): Promise<number> {
  let rows = 0
  for await (const some of readRows(await openCsv(path))) {
    rows += some.length
    for (const read of some) {
      const normalised = read.kind === 'row' ? normalise(read.row, () => undefined) : read
      if (normalised.kind === 'company') insert(valuesOf(normalised.company))
    }
  }
  return rows
}

function valuesOf(company: Company): (string | null)[] {
  const { eircode, lines } = company.registered_address
  const nameKey = company.legal_name
    .normalize('NFKD')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, ' ')
  return [...COLUMNS.map((name) => company[name]), eircode, JSON.stringify(lines), nameKey]
}
