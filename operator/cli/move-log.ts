/** The command `move-log`: moves the response log between LMDB and PostgreSQL. */
import { resolve } from 'node:path'
import type { AddCommand } from '../../agent/command-line/context.ts'
import { loadConfig } from './configuration.ts'

const HELP = `
TARGET is a URL of PostgreSQL, in which "migrate" has run, or a DATA_DIR without a response log. The log that RESPONSE_LOG
or DATA_DIR names sells nothing from then on, and stays as it is. After a failure run the command again. Then start the
services with the new log.

Examples:
  irish-company-agent move-log --to postgres://companies@database.internal/companies
  RESPONSE_LOG=postgres://companies@database.internal/companies irish-company-agent move-log --to /var/lib/companies`

export const addMoveLogCommand: AddCommand = (program, context) => {
  program
    .command('move-log')
    .description('Move the response log to another database, or back to a directory')
    .requiredOption('--to <target>', 'a postgres:// URL or a directory')
    .option('--cancel', 'give up an unfinished move; the target cannot be used afterwards')
    .addHelpText('after', HELP)
    .action(async ({ to: target, cancel }: { to: string; cancel?: true }) => {
      const { openConfiguredLog } = await import('../../agent/service/response-log.ts')
      const { acquireProcessLock } = await import('../../store/files/process-lock.ts')
      const { movesFolder } = await import('../../store/files/layout.ts')
      const { cancelMove, moveLog } = await import('../../store/log/move.ts')
      const config = await loadConfig(context)
      const url = /^postgres(?:ql)?:\/\//.test(target) ? new URL(target) : undefined
      if (!url && target.includes('://')) throw new Error('--to must be a postgres:// URL or a directory')
      const directory = resolve(target)
      const to = url ? url.host + url.pathname : directory
      await using lock = await acquireProcessLock({ folder: movesFolder(config.dataDirectory), ownPid: process.pid })
      if (!lock) throw new Error('Another process moves the response log')
      await using source = await openConfiguredLog(config, { moving: 'source' })
      const targetConfig = { dataDirectory: directory, responseLog: url && target }
      await using opened = await openConfiguredLog(targetConfig, { moving: 'target' })
      const move = { source, target: opened, to }
      if (cancel) {
        await cancelMove(move)
        return context.print(`The move to ${to} is cancelled; the target cannot be used`)
      }
      const { records, damaged } = await moveLog(move)
      for (const key of damaged) context.print(`damaged, not moved: ${key}`)
      context.print(`moved ${records} records to ${to}`)
      context.finish(damaged.length === 0)
    })
}
