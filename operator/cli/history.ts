/** The commands `history`: the journal of what each file of the register said. */
import { matching } from '../../agent/command-line/arguments.ts'
import type { AddCommand } from '../../agent/command-line/context.ts'
import { showProgress } from '../../agent/command-line/progress.ts'
import { loadConfig } from './configuration.ts'
import { companyKey } from '../../store/files/layout.ts'

const HELP = `
Each import writes the journal. "build" adds files of days without an import, the oldest first. Files older than one in
the journal are refused. docs/data.md says how to build a journal again.

Examples:
  irish-company-agent history build 2026-01-01.zip=2026-01-01 2026-01-02.zip=2026-01-02
  irish-company-agent history erase 123456`

export const addHistoryCommand: AddCommand = (program, context) => {
  const history = program.command('history').description('Build or erase past records').addHelpText('after', HELP)
  history
    .command('build')
    .description('add files of the register to the end of the journal of DATA_DIR')
    .argument('<file...>', 'FILE=DATE or FILE=TIME, the oldest first')
    .option('--synthetic', 'the records are made up')
    .action(async (archives: string[], { synthetic = false }: { synthetic?: boolean }) => {
      const { buildHistory } = await import('../../store/import/history.ts')
      const { dataDirectory } = await loadConfig(context)
      const { now, print } = context
      await buildHistory({ archives, synthetic, dataDirectory, now, print, onProgress: showProgress(context) })
    })
  history
    .command('erase')
    .description('erase the past records of a number')
    .argument('<number>', 'the company number', matching(/^[0-9]{1,20}$/, 'It must be 1 to 20 digits.'))
    .action(async (companyNumber: string) => {
      const { HistoryDatabase } = await import('../../store/history/history-database.ts')
      const { eraseNumber } = await import('../../store/history/write-journal.ts')
      const { dataDirectory } = await loadConfig(context)
      await using journal = new HistoryDatabase(dataDirectory, { readOnly: false })
      const isFound = eraseNumber(journal, companyKey(companyNumber), context.now().toISOString())
      context.print(isFound ? `erased the past records of ${companyNumber}` : `no file has had ${companyNumber}`)
      context.finish(isFound)
    })
}
