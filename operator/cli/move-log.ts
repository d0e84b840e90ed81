/** The command `move-log`: moves the response log from LMDB to PostgreSQL. */
import type { AddCommand } from '../../agent/command-line/context.ts'
import { loadConfig } from './configuration.ts'

const HELP = `
URL is that of a database in which "migrate" has run, and which has no response log. Stop all services before. The log in
DATA_DIR sells nothing from then on, and stays as it is. After a failure run the command again. Then start the services
with RESPONSE_LOG.

Example:
  irish-company-agent move-log --to postgres://companies@database.internal/companies`

export const addMoveLogCommand: AddCommand = (program, context) => {
  program
    .command('move-log')
    .description('Move the response log from DATA_DIR to PostgreSQL')
    .requiredOption('--to <url>', 'a postgres:// URL')
    .addHelpText('after', HELP)
    .action(async ({ to: target }: { to: string }) => {
      const { LmdbResponseLog } = await import('../../store/log/lmdb-responses.ts')
      const { openPostgresResponseLog } = await import('../../store/log/postgres/responses.ts')
      const { moveLog } = await import('../../store/log/move.ts')
      const { dataDirectory, responseLog } = await loadConfig(context)
      if (responseLog !== undefined) throw new Error('RESPONSE_LOG is set: the response log is in PostgreSQL already')
      const { faultOfLogUrl } = await import('../../agent/service/config.ts')
      const fault = faultOfLogUrl(target)
      if (fault !== undefined) throw new Error(`--to ${fault}`)
      const { host, pathname } = new URL(target)
      const to = host + pathname
      const source = new LmdbResponseLog(dataDirectory)
      try {
        const opened = await openPostgresResponseLog({ url: target, report: () => undefined })
        const { records, damaged } = await moveLog({ source, target: opened, to }).finally(() => opened.close())
        for (const key of damaged) context.print(`damaged, not moved: ${key}`)
        context.print(`moved ${records} records to ${to}`)
        context.finish(damaged.length === 0)
      } finally {
        await source.close()
      }
    })
}
