/** The command `import`. */
import { resolve } from 'node:path'
import { isUrl } from '../../store/base/url-policy.ts'
import type { SnapshotInfo } from '../../store/dataset/snapshot.ts'
import type { AddCommand } from '../../agent/command-line/context.ts'
import { showProgress } from '../../agent/command-line/progress.ts'
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
    .option('--force', 'accept an archive that is older or has too few companies')
    .option('--synthetic', 'mark the records as made up; they are then not sold under the name of the register')
    .addHelpText('after', IMPORT_HELP)
    .action(async (source: string, { acceptChanges = false, force = false, synthetic = false }: ImportOptions) => {
      const { Catalog } = await import('../../store/dataset/catalog.ts')
      const { CRO_COMPANIES, SYNTHETIC } = await import('../../store/dataset/source.ts')
      const { openBuildProcesses } = await import('../../store/import/build-process.ts')
      const { importDataset } = await import('../../store/import/run.ts')
      const { dataDirectory, facilitator } = await loadConfig(context)
      const { now, print } = context
      const path = isUrl(source) ? source : resolve(source)
      await using catalog = new Catalog(dataDirectory)
      const startedAt = now().getTime()
      const processes = openBuildProcesses()
      const { info, changed, changes, compared, historyFailure } = await importDataset({
        ...processes,
        dataDirectory,
        catalog,
        path,
        publication: synthetic ? SYNTHETIC : CRO_COMPANIES,
        isForced: force,
        areChangesAccepted: acceptChanges,
        now,
        onProgress: showProgress(context),
      })
      print(changed ? 'imported' : 'unchanged since the last import')
      printSnapshotInfo(info, print)
      if (changes) print(`changes     ${changes.added} added, ${changes.removed} removed, ${changes.changed} changed`)
      for (const { text, isBeyond } of compared) print(`${isBeyond ? 'warning ' : 'compared'}    ${text}`)
      print(`seconds     ${((now().getTime() - startedAt) / 1000).toFixed(1)}`)
      const peakMemoryBytes = Math.max(process.resourceUsage().maxRSS * 1024, processes.peakMemoryBytes())
      print(`memory      ${Math.round(peakMemoryBytes / 2 ** 20)} MiB at most`)
      if (historyFailure !== undefined) throw historyFailure
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

function printSnapshotInfo(info: SnapshotInfo, print: (line: string) => void): void {
  print(`rows        ${info.row_count}`)
  print(`companies   ${info.company_count}`)
  print(`quarantined ${info.quarantined_company_count}`)
  print(`rejected    ${info.rejected_row_count}`)
  for (const name of Object.keys(info.findings).toSorted()) print(`  ${name} ${info.findings[name]}`)
  print(`snapshot    ${info.snapshot_id}`)
}
