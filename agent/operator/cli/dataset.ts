/** The commands about datasets: `import` and `snapshot-id`. */
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { isUrl } from '../../../store/base/url-policy.ts'
import type { AddCommand } from '../../command-line/context.ts'
import { showProgress } from '../../command-line/progress.ts'
import { loadConfig } from './configuration.ts'

const IMPORT_HELP = `
The register's archive is a ZIP with one CSV file, a gzip (.csv.gz), or the CSV file itself. A running service on the
same DATA_DIR sells the new snapshot at once.

Examples:
  irish-company-agent import companies.csv.zip
  irish-company-agent import https://opendata.example/companies.csv.zip
  irish-company-agent import made-up.csv --synthetic`

export const addImportCommand: AddCommand = (program, context) => {
  program
    .command('import')
    .description('Import an archive of the register into DATA_DIR')
    .argument('<source>', 'a path, an https URL, or an http URL on a loopback address')
    .option('--accept-changes', 'accept a file that differs too much from the served snapshot of its location')
    .option('--force', 'accept an archive that is older, has too few companies, or has crashed an import before')
    .option('--synthetic', 'mark the records as made up; they are then not sold under the name of the register')
    .addHelpText('after', IMPORT_HELP)
    .action(async (source: string, { acceptChanges = false, force = false, synthetic = false }: ImportOptions) => {
      const { importCommand } = await import('../../../store/import/command.ts')
      const { dataDirectory, archiveDirectory, facilitator } = await loadConfig(context)
      const path = isUrl(source) ? source : resolve(source)
      const target = { dataDirectory, archiveDirectory, path, synthetic }
      const accepted = { isForced: force, areChangesAccepted: acceptChanges }
      const peakMemoryBytes = () => process.resourceUsage().maxRSS * 1024
      const { now, print } = context
      const onProgress = showProgress(context)
      await importCommand({ ...target, ...accepted, now, peakMemoryBytes, print, onProgress })
      const sample = 'agent/sandbox/register/day-5.csv'
      if (facilitator.kind === 'sandbox' && !path.endsWith(sample))
        print(`sample      to sell the sample of the sandbox again: import ${sample} --synthetic`)
    })
}

interface ImportOptions {
  acceptChanges?: boolean
  force?: boolean
  synthetic?: boolean
}

const SNAPSHOT_ID_HELP = `
The snapshot id is a digest of the records. The same archive always gives the same id. Nothing is kept; the
computation takes the space of one snapshot in the system's temporary folder.

Example:
  irish-company-agent snapshot-id companies.csv.zip`

export const addSnapshotIdCommand: AddCommand = (program, context) => {
  program
    .command('snapshot-id')
    .description('Compute the snapshot id of an archive')
    .argument('<path>', 'a .csv, .csv.gz or .zip file')
    .addHelpText('after', SNAPSHOT_ID_HELP)
    .action(async (path: string) => {
      const { snapshotIdCommand } = await import('../../../store/import/command.ts')
      const { now, print } = context
      const onProgress = showProgress(context)
      await snapshotIdCommand({ path: resolve(path), temporaryDirectory: tmpdir(), now, print, onProgress })
    })
}
