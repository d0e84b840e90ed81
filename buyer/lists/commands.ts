/** The commands that buy for the rows of a list. */
import type { Command } from 'commander'
import { matching } from '../../agent/command-line/arguments.ts'
import { parseAmount, parseTableName } from '../arguments.ts'
import { setStatuses } from '../../agent/command-line/exit-statuses.ts'
import type { CommandContext, CommandResult } from '../../agent/command-line/context.ts'
import { TableError } from '../table/table-error.ts'
import { STREAM } from '../table/table-name.ts'
import { fileEntry } from '../library/folder-storage.ts'
import { PurchaseError } from '../library/purchase-error.ts'
import { findPurchase } from '../library/purchase-file.ts'
import { describeFailure } from '../failure.ts'
import { setUsedOptions, SOLD } from '../help.ts'
import { refuse, type Client } from '../target.ts'
import { exitStatusOf } from '../library/outcome.ts'
import { addTableOptions, readListInput, type ListOptions } from './list-input.ts'

const RECONCILE_HELP = `
Writes the list again with a decision for each row, why, and the company: number, name, status, address, dates, receipt and
snapshot_id. Only the decision "matched" names a company. A row with only a number is looked up. Equal rows are bought once.
Each purchase is a file in OUT.purchases, which "irish-company-agent verify" checks. With --batch, missing and quarantined
numbers are charged. If the run ends early, OUT has the rows that are paid, and marks the others "not_bought".

--review writes the candidates of the rows that need a person to a file. Write the number of the right company, or "none",
into its last column, and run the same command again: the decision is then "chosen" or "none". The record of a candidate
with a score is paid already; that of another number is bought.

OUT is replaced only as this list has written it. FILE and OUT can be -, for stdin and stdout, with --purchases.

After Ctrl-C, a failure or a crash the same command continues, and pays nothing twice. To buy the list again, remove
OUT.purchases or name another --out.

Example:
  reconcile suppliers.csv --review review.csv --max-total 50.00`

const WATCH_HELP = `
The first run buys the changes and the record of each company, and keeps them in STATE. Each later run asks for the id of
the snapshot, which is free. It buys nothing if it is that of the last run; otherwise it buys the changes since then, 100
companies for a payment, and the records that changed. The exit status is 3 if something changed, and 0 if nothing did.

After Ctrl-C, a failure or a crash the same command continues, and pays nothing twice. STATE and the folder STATE.purchases
belong together.

Example:
  watch suppliers.csv --state watch.json --report watch.csv --max-total 2.00`

const FILE = 'a CSV, or an .xlsx file'

/** A review is read by the next run, which reads no JSON. */
const parseReviewName = (text: string) =>
  matching(/(?<!\.json)$/i, 'A review cannot be JSON: name a .csv, .tsv or .xlsx.')(parseTableName(text))

const collect = (column: string, columns: readonly string[] = []) => [...columns, column]

/** The options and arguments that both commands have. */
const addPayOptions = (command: Command) =>
  command.option('--yes', 'pay without a question').option('--dry-run', 'only say the price')

export function addLists(parent: Command, client: Client): void {
  const reconcileCommand = parent
    .command('reconcile')
    .description('Buy a decision for each row of a spreadsheet')
    .argument('<file>', FILE)
    .option(
      '--column <column>',
      'the column of the names: its header, its number from 1, or none; by default it is found',
    )
    .option('--number-column <column>', 'that of the company numbers, likewise')
    .option('--eircode-column <column>', 'that of the Eircodes, as evidence')
    .option('--address-column <column>', 'that of the address, as evidence; repeat it to join several', collect)
  addTableOptions(reconcileCommand)
    .option(
      '--out <file>',
      'the file to write, a .csv, .tsv, .xlsx or .json, or - for stdout; by default FILE.reconciled.csv or .xlsx',
      parseTableName,
    )
    .option('--force', 'replace OUT, also if it is not an output of this list or was changed')
    .option('--all-columns', 'add score, evidence, alternatives and all other columns')
    .option('--purchases <folder>', 'the folder of the purchases; by default OUT.purchases')
    .option(
      '--review <file>',
      'write the rows that need a person; if it exists, take the numbers that are in it',
      parseReviewName,
    )
    .option(
      '--max-total <usdc>',
      'pay at most this for the list, earlier runs included; required on mainnet',
      parseAmount,
    )
    .option('--batch', 'buy up to 25 names or 100 numbers with one payment')
  addPayOptions(reconcileCommand)
    .addHelpText('after', RECONCILE_HELP)
    .action((file: string, options: ReconcileOptions, command: Command) => reconcile(command, client, file, options))

  setStatuses(reconcileCommand, { ...SOLD, 0: 'done' })
  const watchCommand = parent
    .command('watch')
    .description('Buy what changed in the companies of a spreadsheet')
    .argument('<file>', FILE)
    .option(
      '--column <column>',
      'the column of the company numbers: its header, or its number from 1; by default found',
    )
    .requiredOption('--state <file>', 'the file that keeps the records from one run to the next')
  addTableOptions(watchCommand)
    .option('--report <file>', 'the report to write, a .csv, .tsv, .xlsx or .json', parseTableName)
    .option('--max-total <usdc>', 'pay at most this in a run; required without --dry-run', parseAmount)
  addPayOptions(watchCommand)
    .addHelpText('after', WATCH_HELP)
    .action((file: string, options: WatchOptions, command: Command) => watch(command, client, file, options))
  setStatuses(watchCommand, { ...SOLD, 0: 'done', 3: 'something changed' })
  const used = ['url', 'keyFile', 'mode', 'maxAmount', 'maxPerDay', 'rpc', 'json', 'quiet']
  for (const each of [reconcileCommand, watchCommand]) setUsedOptions(each, used)
}

interface ReconcileOptions extends ListOptions {
  column?: string
  numberColumn?: string
  eircodeColumn?: string
  addressColumn?: string[]
  out?: string
  force?: boolean
  allColumns?: boolean
  purchases?: string
  review?: string
  batch?: boolean
}

async function reconcile(command: Command, client: Client, file: string, options: ReconcileOptions): Promise<void> {
  const { column: name, numberColumn: company_number, eircodeColumn: eircode, addressColumn: address } = options
  const ends = /(?:\.csv|(\.xlsx))?$/i
  const named = file === STREAM ? STREAM : file.replace(ends, (_end, sheet = '.csv') => `.reconciled${sheet}`)
  const { review, out = named, purchases } = options
  if (out === STREAM && purchases === undefined)
    refuse(command, "option '--purchases' is required if stdout is the output")
  if (out === STREAM && client.context.isJson) refuse(command, "option '--json' cannot be used if stdout is the output")
  const folder = purchases ?? `${out}.purchases`
  const columns = { name, company_number, eircode, address }
  const written = { '--out': out, '--review': review }
  const input = await readListInput(command, client, { file, options, columns, written })
  const { foreignOutput } = await import('./output-file.ts')
  const foreign = options.force || options.dryRun ? undefined : await foreignOutput({ out, file, folder })
  if (foreign !== undefined) refuse(command, foreign)
  const { reconcileFile } = await import('./reconcile-file.ts')
  const list = {
    ...input,
    out,
    folder,
    hasAllColumns: options.allColumns === true,
    columns,
    review,
    totalMax: options.maxTotal,
    isBatched: options.batch === true,
  }
  await finish(command, client, (context) => reconcileFile(context, list), out)
}

interface WatchOptions extends ListOptions {
  column?: string
  state: string
  report?: string
}

async function watch(command: Command, client: Client, file: string, options: WatchOptions): Promise<void> {
  if (options.maxTotal === undefined && !options.dryRun)
    refuse(command, "required option '--max-total <usdc>' not specified")
  const { watch: run } = await import('../watch/watch.ts')
  const { column, state: stateFile, report: reportFile, maxTotal: totalMax } = options
  const written = { '--state': stateFile, '--report': reportFile }
  const input = await readListInput(command, client, { file, options, columns: { number: column }, written })
  const list = { ...input, column, stateFile, reportFile, totalMax }
  await finish(command, client, (context) => run(context, list))
}

/** Finishes with the result of a run, or of the purchase that stopped it. A missing column is a wrong argument. */
async function finish(
  command: Command,
  { context: given }: Client,
  run: (context: CommandContext) => Promise<CommandResult>,
  out?: string,
): Promise<void> {
  // With --json stdout has one document, which the run prints. It can also be the output.
  const context = given.isJson || out === STREAM ? { ...given, print: given.note } : given
  const result = await run(context).catch(async (cause: unknown) => {
    if (cause instanceof TableError && cause.argument === 'column') refuse(command, cause.message)
    if (!(cause instanceof PurchaseError)) throw cause
    const saved =
      cause.file === undefined ? undefined : await findPurchase(fileEntry(cause.file)).catch(() => undefined)
    const { message, ...failure } = describeFailure(cause, { saved, now: context.now(), isOfList: true })
    context.fail({ message: `${message} The same command continues, and pays nothing twice.`, ...failure })
    return exitStatusOf(cause.outcome)
  })
  const advise = () => context.note('The paid answers are kept. Run the same command again: it writes all rows.')
  if (out === STREAM) await context.flush().catch(advise)
  context.finish(result)
}
