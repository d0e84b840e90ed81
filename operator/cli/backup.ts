/** The commands `backup` and `restore`: a copy of the response log, the keys, the catalogue and the journal. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { matching } from '../../agent/command-line/arguments.ts'
import type { Config } from '../../agent/service/config.ts'
import type { AddCommand, CommandContext } from '../../agent/command-line/context.ts'
import { responsesFolder } from '../../store/files/layout.ts'
import { loadConfig } from './configuration.ts'

const BACKUP_HELP = `
The copy is taken while the service runs. It contains private keys, payments and paid answers: keep it secret. Copy the
database of RESPONSE_LOG with pg_dump. docs/operations/drills.md has all steps.

Example:
  irish-company-agent backup --keep 24 /var/backups/companies/2026-01-01`

const RESTORE_HELP = `
DATA_DIR must have no response log and no keys. docs/operations/drills.md says what to do for the buyers of payments
after the backup.

Example:
  DATA_DIR=/var/lib/companies irish-company-agent restore /var/backups/companies-1`

export const addBackupCommands: AddCommand = (program, context) => {
  program
    .command('backup')
    .description('Copy the response log, the keys, the catalogue and the journal of DATA_DIR to a new folder')
    .argument('<folder>', 'a folder that does not exist yet')
    .option(
      '--keep <number>',
      'remove older backups beside this one, so that this many remain',
      matching(/^[1-9][0-9]{0,3}$/, 'It must be a number from 1 to 9999.'),
    )
    .addHelpText('after', BACKUP_HELP)
    .action(async (folder: string, { keep }: { keep?: string }) => {
      const { backUp } = await import('../../store/backup/write.ts')
      const { openCurrentLog } = await import('../../agent/service/response-log.ts')
      const config = await loadConfig(context)
      const isHere = config.responseLog === undefined && existsSync(responsesFolder(config.dataDirectory))
      if (isHere) await (await openCurrentLog(config, { readOnly: true })).close()
      const directories = await readDirectories(context, folder)
      const counts = await backUp({
        ...directories,
        now: context.now,
        ...(keep !== undefined && { keep: Number(keep) }),
      })
      const note = directories.hasLog ? '' : '. The response log is in a database: copy it with pg_dump.'
      context.print(`backed up ${describeCopy(directories, counts)}${note}`)
      context.finish(counts.damaged === 0)
    })
  program
    .command('restore')
    .description('Put a backup into an empty DATA_DIR')
    .argument('<folder>', 'a folder that "backup" has written')
    .addHelpText('after', RESTORE_HELP)
    .action(async (folder: string) => {
      const { restore } = await import('../../store/backup/restore.ts')
      const directories = await readDirectories(context, folder)
      const { createdAt, ...counts } = await restore(directories)
      context.print(`restored ${describeCopy(directories, counts)} of ${createdAt}`)
      context.finish(counts.damaged === 0)
    })
}

function describeCopy(
  { hasLog }: { hasLog: boolean },
  { records, damaged }: { records: number; damaged: number },
): string {
  if (!hasLog) return 'the keys, the catalogue and the journal'
  return damaged === 0 ? `${records} records` : `${records} records and ${damaged} damaged ones`
}

async function readDirectories(context: CommandContext, folder: string) {
  const { dataDirectory, keysDirectory, responseLog }: Config = await loadConfig(context)
  return { dataDirectory, keysDirectory, folder: resolve(folder), hasLog: responseLog === undefined }
}
