/**
 * The action of `reconcile`: a list in, the same list with the company of each row out. Each purchase has its file
 * beside the output, so the same command continues after any interruption and pays nothing twice.
 */
import { basename } from 'node:path'
import type { CommandContext, CommandResult } from '../../agent/command-line/context.ts'
import { showProgress } from '../../agent/command-line/progress.ts'
import { showUsdc } from '../amounts.ts'
import type { Cell } from '../table/cell.ts'
import { TableError } from '../table/table-error.ts'
import { writeTable } from '../table/table-file.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import type { Buy } from '../library/buy.ts'
import { folderStorage } from '../library/folder-storage.ts'
import { committedAmount, paidAmount } from '../library/purchase-state.ts'
import { decisionOf, namesOf, type ColumnNames } from './columns.ts'
import { readList, resultCells, resultHead, type List } from './list.ts'
import { reportInterruption, reportOpen } from './open-payments.ts'
import { describePlan, planList, reviewKey, type Plan } from './plan.ts'
import { readPurchasedRows, rowKey } from './purchased-rows.ts'
import type { ListInput } from './list-input.ts'
import { correctColumns, describeColumns, NO_COLUMNS, proposeColumns, titleOf } from './propose-columns.ts'
import { readChoices, writeReview } from './review.ts'
import { needsReview, type RowCells } from './rows.ts'
import { openListBuyer, runList, type BoughtRow } from './run.ts'

interface ReconcileOptions extends ListInput {
  out: string
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
  const { out, review, isDryRun } = options
  const choices = review === undefined ? undefined : await readChoices(review)
  const list = openList(context, options)
  const keys = new Set(choices && list.rows.map(({ cells }) => reviewKey(cells)))
  const unused = [...(choices?.keys() ?? [])].filter((key) => !keys.has(key)).length
  if (unused > 0) print(`Numbers in ${review} that belong to no row of the list with these columns: ${unused}.`)
  // The purchases of a list. Without them the list is bought again.
  const folder = `${out}.purchases`
  const storage = folderStorage(folder)
  const plan = await planList(list, { ...options, storage, now: now(), choices })
  const allowance = await approve(context, options, plan)
  if (isDryRun) {
    const { paid, open, toPay } = plan
    if (context.isJson)
      context.printJson({ rows: list.rows.length, paid, open, to_pay: toPay, amount: showUsdc(plan.left) })
    return true
  }
  const buy = openListBuyer({ ...options, allowance, runtime: context, folder })
  const began = now()
  const found: Found = { counts: new Map(), review: new Map() }
  const signal = context.interrupted()
  const rows = resultRows(context, { ...options, folder }, { list, plan, buy, found, signal })
  const paidBefore = paidAmount(plan.purchased.all)
  try {
    await writeTable(out, rows, { format: list.format, addedFrom: list.width })
  } catch (cause) {
    if (!signal.aborted) throw cause
    return reportInterruption(context, { ...options, folder, paidBefore })
  }
  const needed = [...found.review.values()]
  if (review !== undefined && !choices) await writeReview(review, needed, list.format)
  const counts = [...found.counts].map(([decision, count]) => `${count} ${decision || 'empty'}`).join(', ')
  print(`${list.rows.length} rows in ${out}: ${counts}`)
  if (review !== undefined && !choices && needed.length > 0)
    print(`${needed.length} rows need a person: write the numbers into ${review}, and run the same command again.`)
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

/** Reads the list by the columns that are proposed or named, and says which they are. */
function openList({ print }: CommandContext, { file, table, headerRow, columns: given }: ReconcileOptions): List {
  const { rows } = table
  if (rows.length <= headerRow) throw new Error(`${file} has no rows`)
  const header = headerRow === 0 ? undefined : rows[headerRow - 1]
  const columns = correctColumns(proposeColumns(rows, headerRow), given, { rows, headerRow })
  if (columns.name === undefined && columns.company_number === undefined)
    throw new TableError(`${NO_COLUMNS}. Name one with --column or --number-column`, { argument: 'column' })
  print(`Columns: ${describeColumns(columns, header)}.`)
  const list = readList(table, { columns, headerRow })
  warnOfNumbers(print, columns, list)
  return list
}

/** The results of a run. */
interface Found {
  counts: Map<string, number>
  /** The rows that need a person, by their review keys. */
  review: Map<string, BoughtRow>
}

/** Buys the rows, and yields those of the output. */
async function* resultRows(
  context: CommandContext,
  { baseUrl, folder, out, review }: ReconcileOptions & { folder: string },
  { list, plan, buy, found, signal }: { list: List; plan: Plan; buy: Buy; found: Found; signal: AbortSignal },
): AsyncGenerator<Cell[]> {
  yield* resultHead(list, out)
  const showRows = showProgress(context)
  // A resumed list begins with the rows that are paid.
  const isKnown = ({ operation, known }: Plan['rows'][number]) =>
    known !== undefined ||
    (operation && /^(?:paid|decided)$/.test(plan.purchased.rows.get(rowKey(baseUrl, operation))?.state.kind ?? ''))
  let done = plan.rows.filter(isKnown).length
  const toDo = new Set(plan.rows.flatMap((row) => (isKnown(row) ? [] : [row.listed])))
  const show = () => showRows({ phase: 'list', rows: done, share: done / list.rows.length })
  show()
  for await (const rows of runList(plan, { baseUrl, buy, runtime: context, signal })) {
    for (const row of rows) {
      const { listed, result } = row
      const decision = decisionOf(result)
      found.counts.set(decision, (found.counts.get(decision) ?? 0) + 1)
      if (review && needsReview(result)) found.review.set(reviewKey(listed.cells), row)
      yield resultCells(listed, result, basename(folder))
    }
    done += rows.filter(({ listed }) => toDo.has(listed)).length
    show()
  }
}

/** A column of other numbers, such as those of VAT, would silently be no evidence. */
function warnOfNumbers(print: CommandContext['print'], columns: ColumnNames<keyof RowCells>, list: List): void {
  const [column] = namesOf(columns.company_number)
  if (column === undefined) return
  const named = list.rows.filter(({ kind }) => kind !== 'empty')
  const without = named.filter(
    ({ operation }) => operation && !Object.hasOwn(operation.input as object, 'company_number'),
  )
  if (without.length * 2 <= named.length) return
  const title = titleOf(column, list.header)
  print(`${without.length} of ${named.length} rows have no usable number in the column ${title}.`)
  print('They are resolved by their names. The column "notes" says what was not read.')
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
  print(`At most ${showUsdc(left)} USDC will be paid on ${DEPLOYMENTS[mode].network}.`)
  if (open > 0)
    print(
      `Open payments of ${showUsdc(committed - paidAmount(purchased.all))} USDC were confirmed by an earlier run and are ` +
        'not in that sum. They are sent again, and no others are signed for their rows.',
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
