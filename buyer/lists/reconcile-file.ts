/**
 * The action of `reconcile`: a list in, the same list with the company of each row out. Each purchase has its file
 * beside the output, so the same command continues after any interruption and pays nothing twice.
 */
import { dirname, relative, resolve as resolvePath } from 'node:path'
import type { CommandContext, CommandResult } from '../../agent/command-line/context.ts'
import { showProgress } from '../../agent/command-line/progress.ts'
import { showUsdc } from '../amounts.ts'
import { counted } from '../../base/grammar.ts'
import type { Cell } from '../table/cell.ts'
import { TableError } from '../table/table-error.ts'
import { formOf, STREAM } from '../table/table-name.ts'
import { SHEET_ROWS_MAX } from '../table/write-sheet.ts'
import { toDay } from '../../base/day.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import type { Buy } from '../library/buy.ts'
import { folderStorage } from '../library/folder-storage.ts'
import { committedAmount, listPurchases, paidAmount } from '../library/purchase-state.ts'
import type { ColumnNames } from './columns.ts'
import { resultCells, resultHead, type List } from './list.ts'
import { describePaid, interruptedAloud, reportInterruption, reportOpen } from './open-payments.ts'
import { describePlan, planList, reviewKey, type Plan } from './plan.ts'
import { writeOutput } from './output-file.ts'
import { readKnownResult, readPurchasedRows, rowKey } from './purchased-rows.ts'
import { decisionOf } from './result-columns.ts'
import type { ListInput } from './list-input.ts'
import { NumberColumnError, type JudgedColumns } from './check-numbers.ts'
import { keepColumns, readKeptColumns } from './kept-columns.ts'
import { describeChange, openList } from './open-list.ts'
import { describeWaiting, readReview, writeReview } from './review.ts'
import { restOfList } from './rest-of-list.ts'
import { choose, isNumbered, isUnknownNumber, needsReview, type RowCells, type RowResult } from './rows.ts'
import { openListBuyer, runList, type BoughtRow } from './run.ts'

interface ReconcileOptions extends ListInput {
  /** A file, or `STREAM`. */
  out: string
  /** Of the purchases. Without them the list is bought again. */
  folder: string
  hasAllColumns: boolean
  /** What a person has named, instead of what is proposed. */
  columns: ColumnNames<keyof RowCells>
  /** The file of the rows that need a person. */
  review: string | undefined
  /** Micro-USDC for the list, earlier runs included. */
  totalMax: number | undefined
  /** Buys rows in batches. */
  isBatched: boolean
}

/**
 * Returns the exit status of the payment whose outcome is known last.
 * @throws an error if the list cannot be read, is too expensive, or if the run ends early
 */
export async function reconcileFile(context: CommandContext, options: ReconcileOptions): Promise<CommandResult> {
  const { print, now } = context
  const { file, out, folder, review, isDryRun } = options
  const reviewed = review === undefined ? undefined : await readReview(review)
  const choices = reviewed?.choices
  const storage = folderStorage(folder)
  const opened = openList(context, options, await readKeptColumns(storage, file))
  const { list } = opened
  if (formOf(out) === 'xlsx' && options.table.rows.length >= SHEET_ROWS_MAX)
    throw new Error(`${file} has more rows than an .xlsx file. Name a .csv with --out`)
  const keys = new Set(choices && list.rows.map(({ cells }) => reviewKey(cells)))
  const unused = [...(choices?.keys() ?? [])].filter((key) => !keys.has(key)).length
  if (unused > 0) print(`Numbers in ${review} that belong to no row of the list with these columns: ${unused}.`)
  const plan = await planList(list, { ...options, storage, now: now(), choices })
  const change = describeChange(opened, plan, options.baseUrl)
  if (change !== undefined) print(change)
  const allowance = await approve(context, options, plan)
  if (isDryRun) {
    const { paid, open, toPay } = plan
    if (context.isJson)
      context.printJson({ rows: list.rows.length, paid, open, to_pay: toPay, amount: showUsdc(plan.left) })
    return true
  }
  if (!opened.isKept && plan.left > 0) await keepColumns(storage, file, opened.kept)
  const buy = openListBuyer({ ...options, allowance, runtime: context })
  const began = now()
  const found: Found = {
    counts: new Map(),
    review: new Map(),
    unknown: 0,
    unasked: 0,
    chosenUnknown: 0,
    failure: undefined,
  }
  const signal = interruptedAloud(context)
  const rows = resultRows(context, options, {
    list,
    judgedColumns: opened.kept.is_number_named ? undefined : opened.judged,
    plan,
    buy,
    found,
    choices,
    signal,
  })
  const paidBefore = paidAmount(plan.purchased.all)
  const headerRow = list.header && list.above.length + 1
  try {
    await writeOutput(context, options, rows, { format: list.format, addedFrom: list.width, headerRow })
    if (found.failure) {
      print(`The rows that are paid are in ${out}. The others have the decision not_bought.`)
      throw found.failure.cause
    }
  } catch (cause) {
    if (signal.aborted) return reportInterruption(context, { ...options, paidBefore })
    const paid = describePaid(await listPurchases(storage, now()), paidBefore)
    const early = found.failure ? found.failure.cause : cause
    if (early instanceof NumberColumnError) throw adviseColumn(early, paid)
    print(paid)
    throw early
  }
  if (review !== undefined && !reviewed) await writeReview(review, [...found.review.values()], list.format)
  const counts = [...found.counts].map(([decision, count]) => `${count} ${decision}`).join(', ')
  print(`${counted(list.rows.length, 'row')}${out === STREAM ? '' : ` in ${out}`}: ${counts}`)
  if (review !== undefined) for (const line of describeWaiting(review, [...found.review.keys()], reviewed)) print(line)
  if (found.unknown > 0 && opened.judged)
    print(`${counted(found.unknown, 'row has', 'rows have')} a number in ${opened.judged.number} that no company has.`)
  if (found.chosenUnknown > 0)
    print(`${counted(found.chosenUnknown, 'row has', 'rows have')} a chosen_number that no company has.`)
  if (found.unasked > 0) print(`The same command asks ${found.unasked} of them by their names.`)
  const seconds = Math.round((now().getTime() - began.getTime()) / 1000)
  const after = await readPurchasedRows(storage, { baseUrl: options.baseUrl, now: now() })
  const paid = paidAmount(after.all)
  const spent = showUsdc(paid - paidBefore)
  print(`Paid in ${seconds} s: ${spent} USDC, in all runs ${showUsdc(paid)} USDC.`)
  const status = await reportOpen(context, options, after.open)
  if (context.isJson)
    context.printJson({
      out,
      rows: list.rows.length,
      decisions: Object.fromEntries(found.counts),
      paid: spent,
      paid_in_all_runs: showUsdc(paid),
      open_payments: after.open.length,
      exit_status: typeof status === 'number' ? status : 0,
    })
  return status
}

/** What to do after the first payments have shown a wrong column. */
const adviseColumn = (cause: NumberColumnError, paid: string): TableError =>
  new TableError(
    `${cause.message}. ${paid} Nothing more was bought. Add --number-column with this column to go on, another one, or none, or name that of the names with --column`,
    { argument: 'column', cause },
  )

/** The results of a run. */
interface Found {
  counts: Map<string, number>
  /** The rows that need a person, by their review keys. */
  review: Map<string, BoughtRow>
  /** Rows whose number no company has. */
  unknown: number
  /** Those of them that were not asked by their names. */
  unasked: number
  /** Rows for which a person has chosen a number that no company has. */
  chosenUnknown: number
  /** What ended the run early. */
  failure: { cause: unknown } | undefined
}

interface Run {
  list: List
  judgedColumns: JudgedColumns | undefined
  plan: Plan
  buy: Buy
  found: Found
  choices: ReadonlyMap<string, string> | undefined
  signal: AbortSignal
}

/** Buys the rows, and yields those of the output. */
async function* resultRows(context: CommandContext, options: ReconcileOptions, run: Run): AsyncGenerator<Cell[]> {
  const { folder, out, review, hasAllColumns } = options
  const { list, found } = run
  yield* resultHead(list, out, hasAllColumns)
  const folderOfOut = out === STREAM ? '.' : dirname(out)
  const receiptFolder = relative(resolvePath(folderOfOut), resolvePath(folder)).replaceAll('\\', '/')
  const added = { receiptFolder, hasAllColumns, today: toDay(context.now()) }
  for await (const row of decidedRows(context, options, run)) {
    const { result } = row
    const chosen = row.isChosen && isUnknownNumber(result) ? run.choices?.get(reviewKey(row.listed.cells)) : undefined
    if (chosen !== undefined) found.chosenUnknown += 1
    const notes = [...row.listed.notes, ...(chosen === undefined ? [] : [`the chosen_number is ${chosen}`])]
    const listed = { ...row.listed, notes }
    const decision = decisionOf(result)
    found.counts.set(decision, (found.counts.get(decision) ?? 0) + 1)
    const isRefused = isUnknownNumber(result) && !row.isChosen && (listed.cells.company_number ?? '').trim() !== ''
    if (isRefused || row.unknownNumber !== undefined) found.unknown += 1
    if (isRefused && listed.operation && isNumbered(listed.operation)) found.unasked += 1
    if (review && needsReview(result)) found.review.set(reviewKey(listed.cells), row)
    yield resultCells(listed, result, added)
  }
}

/**
 * Buys the rows, with what a person has decided for them. If the run ends early, the others follow as far as they are
 * paid.
 * @throws what ended the run, if no row is paid
 */
async function* decidedRows(context: CommandContext, options: ReconcileOptions, run: Run): AsyncGenerator<BoughtRow> {
  const { list, plan, found, choices } = run
  let done = 0
  try {
    for await (const rows of boughtRows(context, options, run)) {
      for (const row of rows) {
        const result = await decide(row, plan, options, choices)
        done += 1
        yield { ...row, result }
      }
    }
  } catch (cause) {
    const storage = folderStorage(options.folder)
    const now = await planList(list, { ...options, storage, now: context.now(), choices })
    if (now.paid === 0) throw cause
    found.failure = { cause }
    for await (const row of restOfList(now, { ...options, storage, from: done }))
      yield { ...row, result: await decide(row, now, options, choices) }
  }
}

/** What a person has decided about the candidates. A chosen company that was looked up has them too. */
async function decide(
  { listed, result }: BoughtRow,
  { purchased }: Plan,
  { baseUrl, folder }: ReconcileOptions,
  choices: ReadonlyMap<string, string> | undefined,
): Promise<RowResult> {
  const number = choices?.get(reviewKey(listed.cells))
  if (number === undefined) return result
  if (result.kind !== 'chosen' || result.resolution) return choose(result, number) ?? result
  const saved = listed.operation && purchased.rows.get(rowKey(baseUrl, listed.operation))
  const asked = saved && listed.operation && (await readKnownResult(folderStorage(folder), listed.operation, saved))
  return asked?.kind === 'bought' ? { ...result, resolution: asked.answer } : result
}

/** Buys the rows in groups, and shows the progress. */
async function* boughtRows(
  context: CommandContext,
  { baseUrl, folder }: ReconcileOptions,
  { list, plan, judgedColumns, buy, signal }: Run,
): AsyncGenerator<BoughtRow[]> {
  const showRows = showProgress(context)
  // A resumed list begins with the rows that are paid.
  const isKnown = ({ operation, known }: Plan['rows'][number]) =>
    known !== undefined || (operation && plan.purchased.rows.get(rowKey(baseUrl, operation))?.state.kind === 'paid')
  const remaining = new Set(plan.rows.flatMap((row) => (isKnown(row) ? [] : [row.listed.at])))
  const show = () => {
    const done = list.rows.length - remaining.size
    showRows({ phase: 'list', rows: done, share: done / list.rows.length })
  }
  const onBought = ({ listed }: Pick<BoughtRow, 'listed'>) => remaining.delete(listed.at) && show()
  show()
  const run = { baseUrl, buy, runtime: context, signal, storage: folderStorage(folder), judgedColumns, onBought }
  for await (const rows of runList(plan, run)) {
    yield rows
    for (const { listed } of rows) remaining.delete(listed.at)
    show()
  }
}

/**
 * Returns the micro-USDC that may be signed, which is what was announced.
 * @throws unless the limit allows the list and the user agrees
 */
async function approve(
  { print, confirm }: CommandContext,
  { mode, totalMax, isConfirmed, isBatched, isDryRun }: ReconcileOptions,
  plan: Plan,
): Promise<{ left: number }> {
  const { purchased, open, left } = plan
  const committed = committedAmount(purchased.all)
  const total = committed + left
  print(describePlan(plan))
  const most = `At most ${showUsdc(left)} USDC will be paid on ${DEPLOYMENTS[mode].network}.`
  print(left === 0 ? 'No new payment is needed.' : most)
  if (open > 0)
    print(
      `Besides, open payments of ${showUsdc(committed - paidAmount(purchased.all))} USDC, to which you agreed in an ` +
        'earlier run, are sent again. No others are signed for their rows.',
    )
  if (isBatched)
    print(
      `One payment buys up to ${resolve.batchInputsMax} names or ${lookup.batchInputsMax} numbers. ` +
        'Numbers that are missing or quarantined are charged then.',
    )
  if (totalMax !== undefined && total > totalMax)
    throw new Error(
      `The list can cost ${showUsdc(total)} USDC, and --max-total is ${showUsdc(totalMax)}. Nothing was signed. Raise --max-total`,
    )
  if (left === 0 || isDryRun || isConfirmed || (await confirm('Continue?'))) return { left }
  throw new Error('Nothing was signed. To pay without a question, add --yes')
}
