/** The command `import`. */
import { Option } from 'commander'
import { resolve } from 'node:path'
import type { Config } from '../../agent/service/config.ts'
import { isUrl } from '../../base/url-policy.ts'
import type { SnapshotInfo } from '../../store/dataset/snapshot.ts'
import type { AddCommand, CommandContext } from '../../agent/command-line/context.ts'
import { showProgress } from '../../agent/command-line/progress.ts'
import { loadConfig } from './configuration.ts'

const IMPORT_HELP = `
The register's archive is a ZIP with one CSV file, a gzip (.csv.gz), or the CSV file itself. A running service on the
same DATA_DIR sells the new snapshot at once.

Examples:
  irish-company-agent import companies.csv.zip
  irish-company-agent import https://opendata.example/companies.csv.zip
  irish-company-agent import made-up.csv --synthetic`

const LOCK_EVERY_MS = 1_000

export const addImportCommand: AddCommand = (program, context) => {
  program
    .command('import')
    .description('Import an archive of the register into DATA_DIR')
    .argument('<source>', 'a path, an https URL, or an http URL on a loopback address')
    .option('--accept-changes', 'accept a file that differs too much from the served snapshot of its location')
    .option('--force', 'accept an archive that is older or has too few companies')
    .option('--synthetic', 'mark the records as made up; they are then not sold under the name of the register')
    // The service names its sample, whose path can change.
    .addOption(new Option('--location <name>').hideHelp())
    .addHelpText('after', IMPORT_HELP)
    .action(async (source: string, options: ImportOptions) => {
      const config = await loadConfig(context)
      await context.runInBackground()
      const work = () => importSource(source, options, { config, context })
      await runExclusively(config.dataDirectory, context, work).catch(toImportError)
    })
}

interface ImportOptions {
  acceptChanges?: boolean
  force?: boolean
  synthetic?: boolean
  location?: string
}

async function importSource(
  source: string,
  { acceptChanges = false, force = false, synthetic = false, location }: ImportOptions,
  { config, context }: { config: Config; context: CommandContext },
): Promise<void> {
  const { Catalog } = await import('../../store/dataset/catalog.ts')
  const { CRO_COMPANIES, SYNTHETIC } = await import('../../store/dataset/source.ts')
  const { notRecorded } = await import('../../store/import/errors.ts')
  const { importDataset } = await import('../../store/import/run.ts')
  const { dataDirectory, facilitator } = config
  const { now, print } = context
  const path = isUrl(source) ? source : resolve(source)
  await using catalog = new Catalog(dataDirectory)
  const startedAt = now().getTime()
  const { info, changed, changes, compared, historyFailure } = await importDataset({
    dataDirectory,
    catalog,
    path,
    ...(location !== undefined && { location }),
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
  print(`memory      ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB at most`)
  if (historyFailure !== undefined) throw notRecorded(historyFailure)
  const sample = 'agent/sandbox/register/day-5.csv'
  if (facilitator.kind === 'sandbox' && !path.endsWith(sample))
    print(`sample      to sell the sample of the sandbox again: import ${sample} --synthetic`)
}

/** The service starts imports too. Of two at once, the one that began first could publish last. */
async function runExclusively(dataDirectory: string, { note, sleep }: CommandContext, work: () => Promise<void>) {
  const { acquireProcessLock } = await import('../../store/files/process-lock.ts')
  const { importLockFolder } = await import('../../store/files/layout.ts')
  for (let isTold = false; ; isTold = true) {
    await using lock = await acquireProcessLock(importLockFolder(dataDirectory))
    if (lock) return await work()
    if (!isTold) note('Another import is running; waiting for its end.')
    await sleep(LOCK_EVERY_MS)
  }
}

/** Gives failures of the disk a code. Any other one is a defect, whose message can have text of the file. */
async function toImportError(cause: unknown): Promise<never> {
  const { StoreError } = await import('../../store/files/environment.ts')
  const { ImportError } = await import('../../store/import/errors.ts')
  if (!(cause instanceof StoreError || (cause instanceof Error && 'syscall' in cause))) throw cause
  const reason = cause.cause instanceof Error ? ` (${cause.cause.message})` : ''
  throw new ImportError('import_failed', cause.message + reason, cause)
}

function printSnapshotInfo(info: SnapshotInfo, print: (line: string) => void): void {
  print(`rows        ${info.row_count}`)
  print(`companies   ${info.company_count}`)
  print(`quarantined ${info.quarantined_company_count}`)
  print(`rejected    ${info.rejected_row_count}`)
  for (const name of Object.keys(info.findings).toSorted()) print(`  ${name} ${info.findings[name]}`)
  print(`snapshot    ${info.snapshot_id}`)
}
