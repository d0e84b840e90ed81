/**
 * The action of `reconcile`: a list in, the same list with the company of each row out. Each purchase has its file
 * beside the output, so the same command continues after any interruption and pays nothing twice.
 */
import { basename, resolve as resolvePath } from 'node:path'
import type { CommandContext } from '../../command-line/context.ts'
import type { ReadAuthorization } from '../library/authorization-state.ts'
import { readPayment, type Purchase } from '../library/purchase-file.ts'
import { chargeOf } from '../library/purchase-state.ts'
import type { Operation } from '../../operation/operation.ts'
import { amountOf, DEPLOYMENTS, toUsdc, type Mode } from '../../payment/terms.ts'
import { BATCH_ROWS_MAX, estimate, planBatches, readBought, rowKey, type BoughtRows } from './batches.ts'
import { addedFields, addedHeader, findColumns, readCells } from './columns.ts'
import { needsReview, readChoices, reviewKey, writeReview } from './review.ts'
import {
  createRowResolver,
  openBuyers,
  parseRow,
  ROWS_AT_ONCE,
  type ParsedRow,
  type RowCells,
  type RowResult,
} from './rows.ts'
import { showProgress } from '../../command-line/progress.ts'
import { openTable, readTable, type Cell, type Table } from '../../command-line/table-file.ts'

type ReconcileContext = Omit<CommandContext, 'environment' | 'stderr' | 'finish'>

interface ReconcileOptions {
  file: string
  out: string
  /** The header or the number, from 1, of each column. */
  columns: RowCells
  hasHeader: boolean
  separator: string | undefined
  /** The file of the rows that need a person. */
  review: string | undefined
  baseUrl: string
  mode: Mode
  key: `0x${string}`
  /** Micro-USDC for one row. By default the usual price. */
  amountMax: number | undefined
  /** Micro-USDC for the list, earlier runs included. */
  totalMax: number | undefined
  /** Pays without a question. */
  isConfirmed: boolean
  /** Buys rows in batches. */
  isBatched: boolean
  /** What a node says about a payment. */
  readAuthorization: ReadAuthorization | undefined
}

interface ListedRow extends ParsedRow {
  row: readonly Cell[]
  cells: RowCells
}

interface List {
  header: readonly Cell[] | undefined
  rows: ListedRow[]
  format: Table['format']
  /** The different rows that can be resolved, by their keys. */
  operations: Map<string, Operation>
}

/** Limits the memory. A service sells few batches a second. */
const BATCHES_AT_ONCE = 4

/** The purchases of a list. Without them the list is bought again. */
const purchasesFolder = (out: string) => `${out}.purchases`

/**
 * Returns false if the outcome of a payment is not known.
 * @throws an error if the list cannot be read, is too expensive, or if the run ends early
 */
export async function reconcileFile(context: ReconcileContext, options: ReconcileOptions): Promise<boolean> {
  const { print, now } = context
  const { file, out, baseUrl, mode, review, amountMax } = options
  if (resolvePath(file) === resolvePath(out)) throw new Error('--out is the file itself')
  const choices = review === undefined ? undefined : await readChoices(review)
  const list = await readList(options, choices)
  const keys = new Set(choices && list.rows.map(({ cells }) => reviewKey(cells)))
  const unused = [...(choices?.keys() ?? [])].filter((key) => !keys.has(key)).length
  if (unused > 0) print(`Numbers in ${review} that belong to no row of the list with these columns: ${unused}.`)
  const readFolder = () => readBought(purchasesFolder(out), { baseUrl, now: now(), listed: list.operations })
  const before = await readFolder()
  const batches = options.isBatched ? planBatches(before, baseUrl, list.operations) : before.batches
  const priceOf = (operation: Operation) => amountMax ?? amountOf({ mode }, operation)
  warnOfNumbers(context, options, list)
  const announced = estimate(before, batches, list.operations, priceOf)
  const allowance = await approve(context, options, { ...before, ...announced, rows: list.rows.length })
  const openBuyer = openBuyers({ ...options, allowance, runtime: context, folder: purchasesFolder(out) })
  const buyerOf = (operation: Operation, rows: number) => openBuyer(rows * priceOf(operation))
  const resolveRows = createRowResolver({ baseUrl, buyerOf, runtime: context, batches })
  const began = now()
  const found = await resolveList(context, options, list, resolveRows)
  if (review !== undefined && !choices) await writeReview(review, found.review, list.format)
  const counts = [...found.counts].map(([decision, count]) => `${count} ${decision}`).join(', ')
  print(`${list.rows.length} rows in ${out}: ${counts}`)
  if (review !== undefined && !choices && found.review.size > 0)
    print(`${found.review.size} rows need a person: write the numbers into ${review}, and run the same command again.`)
  const seconds = Math.round((now().getTime() - began.getTime()) / 1000)
  const after = await readFolder()
  const spent = toUsdc(paidOf(after) - paidOf(before))
  print(`Paid in ${seconds} s: ${spent} USDC, in all runs ${toUsdc(paidOf(after))} USDC.`)
  return reportUnknown(context, options, after)
}

/** Resolves the rows in groups and writes them. */
async function resolveList(
  context: ReconcileContext,
  { out, isBatched, review: isReviewed }: ReconcileOptions,
  { header, rows, format }: List,
  resolveRows: ReturnType<typeof createRowResolver>,
) {
  const counts = new Map<string, number>()
  const review = new Map<string, { cells: RowCells; added: string[] }>()
  const written = openTable(out, format, { addedFrom: rows[0]?.row.length ?? 0 })
  if (header) written.add([...header, ...addedHeader(header)])
  const size = isBatched ? BATCHES_AT_ONCE * BATCH_ROWS_MAX : ROWS_AT_ONCE
  const stop = context.interrupted()
  const onProgress = showProgress(context)
  for (let start = 0; start < rows.length; start += size) {
    if (stop.aborted) throw new Error('Interrupted. The same command continues, and pays nothing twice')
    const group = rows.slice(start, start + size)
    for (const [index, result] of (await resolveRows(group)).entries()) {
      const { row, cells, notes } = group[index]!
      const added = addedFields(result, notes, basename(purchasesFolder(out)))
      const decision = decisionOf(result)
      counts.set(decision, (counts.get(decision) ?? 0) + 1)
      if (isReviewed && needsReview(result)) review.set(reviewKey(cells), { cells, added })
      written.add([...row, ...added])
    }
    onProgress({ phase: 'rows', share: start / rows.length })
  }
  await written.close()
  return { counts, review }
}

const sumOf = (purchases: readonly Purchase[]) =>
  purchases.reduce((sum, each) => sum + Number(readPayment(each).amount), 0)
const paidOf = ({ committed, open }: BoughtRows) => committed - sumOf(open)

/** Prints what is not known yet. Returns whether all is known. */
async function reportUnknown(
  { print, now }: ReconcileContext,
  options: ReconcileOptions,
  { open }: BoughtRows,
): Promise<boolean> {
  const unknown: Purchase[] = []
  for (const purchase of open)
    if ((await chargeOf(purchase, now(), options.readAuthorization)) !== 'no') unknown.push(purchase)
  if (unknown.length === 0) return true
  const until = new Date(Math.max(...unknown.map((each) => readPayment(each).validBefore.getTime())))
  print(`${unknown.length} payments, ${toUsdc(sumOf(unknown))} USDC, may have been charged or may still be.`)
  print(`Run the same command again after ${until.toISOString()} to find it out.`)
  return false
}

function decisionOf(result: RowResult): string {
  if (result.kind === 'bought') return result.answer.status
  return result.kind === 'refused' ? result.code : result.kind
}

/** @param choices the lookups that a person has chosen, which replace the resolution of their rows */
async function readList(
  { file, columns: names, hasHeader, separator, baseUrl }: ReconcileOptions,
  choices: ReadonlyMap<string, Operation> | undefined,
): Promise<List> {
  const { rows, format } = await readTable(file, separator)
  const header = hasHeader ? rows.shift() : undefined
  const [first] = rows
  if (!first) throw new Error(`${file} has no rows`)
  const columns = findColumns(names, header ?? first, hasHeader)
  const operations = new Map<string, Operation>()
  const listed: ListedRow[] = []
  for (const row of rows) {
    const cells = readCells(row, columns)
    const chosen = choices?.get(reviewKey(cells))
    const parsed = chosen ? { kind: 'valid' as const, operation: chosen, notes: [] } : parseRow(cells)
    if (parsed.operation) operations.set(rowKey(baseUrl, parsed.operation), parsed.operation)
    listed.push({ row, cells, ...parsed })
  }
  return { header, rows: listed, format, operations }
}

/** A column of other numbers, such as those of VAT, would silently be no evidence. */
function warnOfNumbers({ print }: ReconcileContext, { columns }: ReconcileOptions, { rows }: List): void {
  if (columns.company_number === undefined) return
  const named = rows.filter(({ kind }) => kind !== 'empty')
  const without = named.filter(
    ({ operation }) => operation && !Object.hasOwn(operation.input as object, 'company_number'),
  )
  if (without.length * 2 <= named.length) return
  print(`${without.length} of ${named.length} rows have no usable number in the column ${columns.company_number}.`)
  print('They are resolved by their names. The column "notes" says what was not read.')
}

/**
 * Returns the micro-USDC that may be signed, which is what was announced.
 * @throws unless the limit allows the list and the user agrees
 */
async function approve(
  { print, confirm }: ReconcileContext,
  { mode, totalMax, isConfirmed, isBatched }: ReconcileOptions,
  { rows, committed, paid, open, toPay, left }: { rows: number; committed: number } & ReturnType<typeof estimate>,
): Promise<{ left: number }> {
  const total = committed + left
  print(`${rows} rows, ${paid + open + toPay} different ones to resolve: ${paid} paid, ${open} open, ${toPay} to pay.`)
  print(`At most ${toUsdc(left)} USDC will be paid on ${DEPLOYMENTS[mode].network}.`)
  if (open > 0)
    print('Open payments were confirmed by an earlier run. They are sent again, and no other one is signed.')
  if (isBatched)
    print(`One payment buys up to ${BATCH_ROWS_MAX} rows. Numbers that are missing or quarantined are charged then.`)
  if (totalMax !== undefined && total > totalMax)
    throw new Error(`The list can cost ${total} micro-USDC, and --max-total is ${totalMax}. Nothing was signed`)
  if (left === 0 || isConfirmed || (await confirm('Continue?'))) return { left }
  throw new Error('Nothing was signed. To pay without a question, add --yes')
}
