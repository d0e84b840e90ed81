/**
 * The child process that reads every value of an environment: FOLDER KIND. LMDB ends the process that reads a damaged
 * page.
 */
import { openEnvironment } from './environment.ts'
import type { EnvironmentKind } from './layout.ts'

const [folder = '', kind = ''] = process.argv.slice(2)
const upgrade = () => undefined
const environment = openEnvironment({ folder, kind: kind as EnvironmentKind, readOnly: true, upgrade })
for (const key of environment.getKeys({ snapshot: false })) if (key.includes(':')) environment.getBinary(key)
// The first database has the names of the others among its keys. They are listed before another one is opened.
const names = Array.from(environment.getKeys()).filter((key) => !key.includes(':'))
for (const name of names) {
  const database = environment.openDB({ name, encoding: 'binary' }) as typeof environment | undefined
  if (database) for (const { value } of database.getRange({ snapshot: false })) void value
}
await environment.close()
