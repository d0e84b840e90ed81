/** The commands that buy for the rows of a list. */
import { parseAmount, parseTableName } from '../../command-line/arguments.ts'
import type { CommandResult } from '../../command-line/context.ts'
import { TableError } from '../../command-line/table/table-error.ts'
import { PurchaseError } from '../library/purchase-error.ts'
import { option, required, type Call, type Definition } from '../definition.ts'
import { describeOutcome, EXIT_STATUSES } from '../library/outcome.ts'
import { readListInput, tableOptions } from './list-input.ts'
import type { RowCells } from './rows.ts'

const RECONCILE_HELP = `
Writes the list again with the company of each row: its number, name, status, type, address and dates, the decision and its
score, the evidence, notes on what was not read, up to three alternatives, snapshot_id and receipt. Only the decision
"matched" names a company. A row with only a number is looked up. Equal rows are bought once. Each purchase is a file in
OUT.purchases, which "irish-company-agent verify" checks. With --batch, missing and quarantined numbers are charged.

--review writes the candidates of the rows that need a person to a file. Write the number of the right company into its
last column, and run the same command again: the decision is then "chosen". The record of a candidate is paid already; that
of another number is bought.

After Ctrl-C, a failure or a crash the same command continues, and pays nothing twice. To buy the list again, remove
OUT.purchases or name another --out.

Example:
  reconcile suppliers.csv --column Supplier --eircode-column Postcode --review review.csv --max-total 50000000`

const WATCH_HELP = `
The first run buys the record of each company and keeps it in STATE. Each later run asks for the id of the snapshot, which
is free. It buys nothing if it is that of the last run; otherwise it buys the changes since then, 100 companies for a
payment, and the records that changed. The exit status is 3 if something changed, and 0 if nothing did.

After Ctrl-C, a failure or a crash the same command continues, and pays nothing twice. STATE and the folder STATE.purchases
belong together.

Example:
  watch suppliers.csv --column Number --state watch.json --report watch.xlsx --max-total 2000000`

const FILE: Definition['arguments'] = { file: ['<file>', 'a CSV, or an .xlsx file'] }
const payOptions = () => [option('--yes', 'pay without a question'), option('--dry-run', 'only say the price')]

export const LISTS: readonly Definition[] = [
  {
    name: 'reconcile',
    description: 'Buy a decision for each row of a spreadsheet',
    arguments: FILE,
    options: [
      required(option('--column <column>', 'the column of the names: its header, or its number from 1')),
      option('--number-column <column>', 'the column of the company numbers'),
      option('--eircode-column <column>', 'the column of the Eircodes, as evidence'),
      option('--address-column <column>', 'the column of a part of the address, as evidence'),
      option('--no-header', 'the first row is data; name columns by their numbers'),
      ...tableOptions(),
      option(
        '--out <file>',
        'the file to write, a .csv, .tsv, .xlsx or .json; by default FILE.reconciled.csv or .xlsx',
        parseTableName,
      ),
      option(
        '--review <file>',
        'write the rows that need a person; if it exists, take the numbers that are in it',
        parseTableName,
      ),
      option(
        '--max-total <n>',
        'pay at most this for the list, earlier runs included; required on mainnet',
        parseAmount,
      ),
      option('--batch', 'buy up to 25 names or 100 numbers with one payment'),
      ...payOptions(),
    ],
    help: RECONCILE_HELP,
    run: reconcile,
  },
  {
    name: 'watch',
    description: 'Buy what changed in the companies of a spreadsheet',
    arguments: FILE,
    options: [
      required(option('--column <column>', 'the column of the company numbers: its header, or its number from 1')),
      required(option('--state <file>', 'the file that keeps the records from one run to the next')),
      ...tableOptions(),
      option('--report <file>', 'the report to write, a .csv, .tsv, .xlsx or .json', parseTableName),
      required(option('--max-total <n>', 'pay at most this in a run, in micro-USDC', parseAmount)),
      ...payOptions(),
    ],
    help: WATCH_HELP,
    run: watch,
  },
]

async function reconcile(call: Call): Promise<CommandResult> {
  const { context, args, options } = call
  const { column: name, numberColumn: company_number, eircodeColumn: eircode, addressColumn: address } = options
  const { review, maxTotal } = options as { review?: string; maxTotal?: number }
  const ends = /(?:\.csv|(\.xlsx))?$/i
  const byDefault = (args['file'] ?? '').replace(ends, (_end, sheet = '.csv') => `.reconciled${sheet}`)
  const out = String(options['out'] ?? byDefault)
  const input = await readListInput(call, { '--out': out, '--review': review })
  const { reconcileFile } = await import('./reconcile-file.ts')
  const list = {
    ...input,
    out,
    columns: { name, company_number, eircode, address } as RowCells,
    review,
    totalMax: maxTotal,
    isBatched: options['batch'] === true,
  }
  return endOf(call, () => reconcileFile(context, list))
}

const STATUS_CHANGED = 3

async function watch(call: Call): Promise<CommandResult> {
  const { context, options } = call
  const { watch: run } = await import('../watch/watch.ts')
  const { state: stateFile = '', report: reportFile } = options as { state?: string; report?: string }
  const list = {
    ...(await readListInput(call, { '--state': stateFile, '--report': reportFile })),
    column: String(options['column']),
    stateFile,
    reportFile,
    totalMax: Number(options['maxTotal']),
  }
  return endOf(call, async () => ((await run(context, list)) ? STATUS_CHANGED : true))
}

/** The result of a run, or of the purchase that stopped it. A missing column is a wrong argument. */
async function endOf({ context, refuse }: Call, run: () => Promise<CommandResult>): Promise<CommandResult> {
  const { note } = context
  return run().catch((cause: unknown) => {
    if (cause instanceof TableError && cause.argument === 'column') refuse(cause.message)
    if (!(cause instanceof PurchaseError)) throw cause
    note(`${cause.message}. ${cause.advice}`)
    // That one payment was not charged says nothing about the others.
    const outcome = cause.outcome.kind === 'not_sold' ? '' : `${describeOutcome(cause.outcome)} `
    note(`${outcome}The same command continues, and pays nothing twice.`)
    return EXIT_STATUSES[cause.outcome.kind]
  })
}
