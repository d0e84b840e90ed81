/** The command `migrate`: brings the schema of the response log in PostgreSQL up to date. */
import type { AddCommand } from '../../agent/command-line/context.ts'
import { loadConfig } from './configuration.ts'

const HELP = `
Run it once before the first start, and after an update that says so. Needs RESPONSE_LOG. LMDB needs no migration.

Example:
  RESPONSE_LOG=postgres://companies@database.internal/companies irish-company-agent migrate`

export const addMigrateCommand: AddCommand = (program, context) => {
  program
    .command('migrate')
    .description('Create or update the tables of RESPONSE_LOG')
    .addHelpText('after', HELP)
    .action(async () => {
      const { responseLog: url } = await loadConfig(context)
      if (url === undefined) throw new Error('RESPONSE_LOG must be set for this command')
      const { migrateDatabase, SCHEMA_VERSION } = await import('../../store/log/postgres/schema.ts')
      const applied = await migrateDatabase(url)
      for (const version of applied) context.print(`applied migration ${version}`)
      context.print(`schema version ${SCHEMA_VERSION}`)
    })
}
