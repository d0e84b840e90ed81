/**
 * The action of `client reconcile`: a CSV in, the same CSV with the company of each row out. Each purchase has its file
 * beside the output, so the same command continues after any interruption and pays nothing twice.
 */
import { basename, resolve as resolvePath } from 'node:path'
import type { BuyerRuntime } from '../library/buy.ts'
import type { Buyer } from '../library/buyer.ts'
import type { ReadAuthorization } from '../library/authorization-state.ts'
import { openBuyer } from '../library/open-buyer.ts'
import { readPayment, type Purchase } from '../library/purchase-file.ts'
import { chargeOf } from '../library/purchase-state.ts'
import type { Operation } from '../../operation/operation.ts'
import { DEPLOYMENTS, toUsdc, type Mode } from '../../payment/terms.ts'
import { BATCH_ROWS_MAX, estimate, planBatches, readBought, rowKey, type Bought } from './batches.ts'
import { addedFields, addedHeader, findColumns, readCells } from './columns.ts'
import { findFormat, readCsv, writeCsv } from './csv-file.ts'
import { createRowResolver, parseRow, ROWS_AT_ONCE, type RowCells, type RowResult } from './rows.ts'

interface ReconcileContext extends BuyerRuntime {
  print: (line: string) => void
  /** Asks the user a question. False if there is no user to ask. */
  confirm: (question: string) => Promise<boolean>
  /** Aborted when the user interrupts the command after this call. */
  interrupted: () => AbortSignal
  /** Opens a progress bar. `share` is from 0 to 1. */
  openBar: () => Disposable & { onProgress: (progress: { share: number; text: string }) => void }
}

interface ReconcileOptions {
  file: string
  out: string
  /** The header or the number, from 1, of each column. */
  columns: RowCells
  hasHeader: boolean
  separator: string | undefined
  baseUrl: string
  mode: Mode
  key: `0x${string}`
  /** Micro-USDC for one row. */
  amountMax: number
  /** Micro-USDC for the list, earlier runs included. */
  totalMax: number | undefined
  /** Pays without a question. */
  isConfirmed: boolean
  /** Buys rows in batches. */
  isBatched: boolean
  /** What a node says about a payment. */
  readAuthorization: ReadAuthorization | undefined
}

type List = Awaited<ReturnType<typeof readList>>

const USDC_DIGITS = 3

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
  const { file, out, baseUrl } = options
  if (resolvePath(file) === resolvePath(out)) throw new Error('--out is the file itself')
  const list = await readList(options)
  const listed = new Set(list.operations.keys())
  const readFolder = () => readBought(purchasesFolder(out), { baseUrl, now: now(), listed })
  const before = await readFolder()
  const batches = options.isBatched ? planBatches(before, baseUrl, list.operations) : before.batches
  const allowance = await approve(context, options, {
    rows: list.rows,
    committed: before.committed,
    ...estimate(before, batches, listed),
  })
  const resolveRows = openResolver(context, options, { batches, allowance })
  const interrupted = context.interrupted()
  const counts = new Map<string, number>()
  {
    using bar = context.openBar()
    const onRow = (result: RowResult) => {
      const decision = decisionOf(result)
      counts.set(decision, (counts.get(decision) ?? 0) + 1)
    }
    const rows = resolvedRows(list, options, { resolveRows, onProgress: bar.onProgress, onRow, interrupted })
    await writeCsv(out, rows, { ...list.format, addedFrom: list.width })
  }
  print(`${list.rows} rows in ${out}: ${[...counts].map(([decision, count]) => `${count} ${decision}`).join(', ')}`)
  return summarize(context, options, await readFolder())
}

/** Prints what is not known yet. Returns whether all is known. */
async function summarize(
  { print, now }: ReconcileContext,
  options: ReconcileOptions,
  bought: Bought,
): Promise<boolean> {
  const { open, committed } = bought
  const unknown: Purchase[] = []
  for (const purchase of open)
    if ((await chargeOf(purchase, now(), options.readAuthorization)) !== 'no') unknown.push(purchase)
  const amountOf = (purchases: Purchase[]) => purchases.reduce((sum, each) => sum + Number(readPayment(each).amount), 0)
  print(`Paid in all runs: ${toUsdc(committed - amountOf(open))} USDC.`)
  if (unknown.length === 0) return true
  const until = new Date(Math.max(...unknown.map((each) => readPayment(each).validBefore.getTime())))
  print(`${unknown.length} payments, ${toUsdc(amountOf(unknown))} USDC, may have been charged or may still be.`)
  print(`Run the same command again after ${until.toISOString()} to find it out.`)
  return false
}

function decisionOf(result: RowResult): string {
  if (result.kind === 'bought') return result.answer.status
  return result.kind === 'refused' ? result.code : 'empty'
}

/** Reads the whole file once, so that nothing is bought for a file with a fault. */
async function readList({ file, columns: names, hasHeader, separator, baseUrl }: ReconcileOptions) {
  const format = await findFormat(file, separator)
  /** The different rows that can be resolved, by their keys. */
  const operations = new Map<string, Operation>()
  let columns: ReturnType<typeof findColumns> | undefined
  /** The number of fields of a row. */
  let width = 0
  let rows = 0
  for await (const row of readCsv(file, format)) {
    if (!columns) {
      width = row.length
      columns = findColumns(names, row, hasHeader)
      if (hasHeader) continue
    }
    rows += 1
    if (row.length > width)
      throw new Error(`Row ${rows} has ${row.length} fields, and the first row of the file ${width}. Add --separator`)
    const operation = operationOf(readCells(row, columns))
    if (operation) operations.set(rowKey(baseUrl, operation), operation)
  }
  if (!columns || rows === 0) throw new Error(`${file} has no rows`)
  return { format, columns, width, rows, operations }
}

/** Undefined if the row has nothing to resolve. */
function operationOf(cells: RowCells): Operation | undefined {
  const parsed = parseRow(cells)
  return parsed?.kind === 'valid' ? parsed.operation : undefined
}

/**
 * Returns the micro-USDC that may be signed, which is what was announced.
 * @throws unless the limit allows the list and the user agrees
 */
async function approve(
  { print, confirm }: ReconcileContext,
  { mode, amountMax, totalMax, isConfirmed, isBatched }: ReconcileOptions,
  { rows, committed, paid, open, toPay, signable }: { rows: number; committed: number } & ReturnType<typeof estimate>,
): Promise<{ left: number }> {
  const left = signable * amountMax
  const total = committed + left
  print(`${rows} rows, ${paid + open + toPay} different ones to resolve: ${paid} paid, ${open} open, ${toPay} to pay.`)
  print(`At most ${toUsdc(left)} USDC will be paid on ${DEPLOYMENTS[mode].network}, ${toUsdc(amountMax)} for a row.`)
  if (open > 0)
    print('Open payments were confirmed by an earlier run. They are sent again, and no other one is signed.')
  if (isBatched)
    print(`One payment buys up to ${BATCH_ROWS_MAX} rows. Numbers that are missing or quarantined are charged then.`)
  if (totalMax !== undefined && total > totalMax)
    throw new Error(`The list can cost ${total} micro-USDC, and --max-total is ${totalMax}. Nothing was signed`)
  if (left === 0 || isConfirmed || (await confirm('Continue?'))) return { left }
  throw new Error('Nothing was signed. To pay without a question, add --yes')
}

function openResolver(
  runtime: BuyerRuntime,
  { baseUrl, mode, key, out, amountMax, readAuthorization }: ReconcileOptions,
  { batches, allowance }: { batches: Bought['batches']; allowance: { left: number } },
) {
  /** By the number of rows that a purchase may cost. */
  const buyers = new Map<number, Promise<Buyer>>()
  const buyerOf = (rows: number) => {
    const known = buyers.get(rows)
    if (known) return known
    const opened = openBuyer({
      baseUrl,
      mode,
      key,
      amountMax: rows * amountMax,
      allowance,
      readAuthorization,
      runtime,
      folder: purchasesFolder(out),
      // An answer is kept forever. A refused payment is replaced after it has expired.
      maxAgeSeconds: Infinity,
    })
    buyers.set(rows, opened)
    return opened
  }
  return createRowResolver({ baseUrl, buyerOf, runtime, batches })
}

interface Resolving {
  resolveRows: ReturnType<typeof createRowResolver>
  onProgress: ReturnType<ReconcileContext['openBar']>['onProgress']
  onRow: (result: RowResult) => void
  interrupted: AbortSignal
}

/** Yields the rows of the output, the header included. */
async function* resolvedRows(
  { format, columns, width, rows: total, operations }: List,
  { file, out, hasHeader, baseUrl, isBatched }: ReconcileOptions,
  { resolveRows, onProgress, onRow, interrupted }: Resolving,
): AsyncGenerator<string[], void, void> {
  const receiptFolder = basename(purchasesFolder(out))
  /** The purchases that are counted in `spent`. */
  const counted = new Set<string>()
  let isHeader = hasHeader
  let done = 0
  let spent = 0
  for await (const rows of inGroups(
    readCsv(file, format),
    isBatched ? BATCHES_AT_ONCE * BATCH_ROWS_MAX : ROWS_AT_ONCE,
  )) {
    if (isHeader) {
      const [header = []] = rows.splice(0, 1)
      yield [...header, ...addedHeader(header)]
      isHeader = false
    }
    if (interrupted.aborted) throw new Error('Interrupted. The same command continues, and pays nothing twice')
    const cells = rows.map((row) => readCells(row, columns))
    const asked = cells.flatMap((each) => operationOf(each) ?? [])
    if (!asked.every((operation) => operations.has(rowKey(baseUrl, operation))))
      throw new Error(`${file} was changed during the run. Run the same command again`)
    const results = await resolveRows(cells)
    for (const [index, result] of results.entries()) {
      onRow(result)
      const payment = result.kind === 'empty' ? undefined : result.payment
      if (payment && !counted.has(payment.purchase)) {
        counted.add(payment.purchase)
        spent += payment.amount
      }
      const row = rows[index] ?? []
      const missing = Array.from({ length: width - row.length }, () => '')
      yield [...row, ...missing, ...addedFields(result, receiptFolder)]
    }
    done += rows.length
    const usdc = toUsdc(spent).toFixed(USDC_DIGITS)
    onProgress({ share: done / total, text: `${done} of ${total} rows | ${usdc} USDC spent` })
  }
}

async function* inGroups<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[], void, void> {
  let group: T[] = []
  for await (const item of items) {
    group.push(item)
    if (group.length < size) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}
