/**
 * The action of `client reconcile`: a CSV in, the same CSV with the company of each row out. Each purchase has its file beside
 * the output, so the same command continues after any interruption and pays nothing twice.
 */
import { rename } from 'node:fs/promises'
import { basename, resolve as resolvePath } from 'node:path'
import type { BuyerRuntime } from '../client/buy.ts'
import { folderStorage } from '../client/folder-storage.ts'
import { openBuyer } from '../client/open-buyer.ts'
import { purchaseName } from '../client/portable.ts'
import { restRequest } from '../client/purchase-request.ts'
import { MICRO_USDC_PER_USDC } from '../client/quote.ts'
import { DEPLOYMENTS, type Mode } from '../payment/terms.ts'
import { addedFields, addedHeader, findColumns, readCells, type ColumnNames, type Columns } from './columns.ts'
import { findFormat, readRows, writeRows, type CsvFormat } from './csv-file.ts'
import { withKeySetCache } from './key-set-cache.ts'
import { createRowResolver, parseRow, ROWS_AT_ONCE } from './rows.ts'
import type { ResolveRows, RowCells, RowResult } from './rows.ts'

export interface ReconcileContext extends BuyerRuntime {
  print: (line: string) => void
  now: () => Date
  /** Asks the user a question. False if there is no user to ask. */
  confirm: (question: string) => Promise<boolean>
  /** Aborted when the user interrupts the command after this call. */
  interrupted: () => AbortSignal
  openBar: (rows: number) => Disposable & { onProgress: (progress: ListProgress) => void }
}

export interface ListProgress {
  rows: number
  /** Micro-USDC for the list, in this run and earlier ones. */
  spent: number
}

export interface ReconcileOptions {
  file: string
  out: string
  columns: ColumnNames
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
}

interface List {
  format: CsvFormat
  columns: Columns
  /** The number of fields of a row. */
  width: number
  rows: number
  /** The names of the purchases of all rows. */
  purchases: ReadonlySet<string>
}

/** The purchases of a list. Without them the list is bought again. */
const purchasesFolder = (out: string) => `${out}.purchases`

/** @throws an error if the list cannot be read, is too expensive, or if the run ends early */
export async function reconcileFile(context: ReconcileContext, options: ReconcileOptions): Promise<void> {
  const { print } = context
  const { file, out } = options
  if (resolvePath(file) === resolvePath(out)) throw new Error('--out is the file itself')
  const list = await readList(options)
  await approve(context, options, list)
  const interrupted = context.interrupted()
  const unfinished = `${out}.unfinished`
  const counts = new Map<string, number>()
  {
    using bar = context.openBar(list.rows)
    const resolveRows = await openResolver(context, options)
    const onRow = (result: RowResult) => {
      const decision = decisionOf(result)
      counts.set(decision, (counts.get(decision) ?? 0) + 1)
    }
    const rows = resolvedRows(list, options, { resolveRows, onProgress: bar.onProgress, onRow, interrupted })
    await writeRows(unfinished, rows, list.format)
  }
  await rename(unfinished, out)
  print(`${list.rows} rows in ${out}: ${[...counts].map(([decision, count]) => `${count} ${decision}`).join(', ')}`)
}

function decisionOf(result: RowResult): string {
  if (result.kind === 'bought') return result.answer.status
  return result.kind === 'refused' ? result.code : 'empty'
}

/** Reads the whole file once, so that nothing is bought for a file with a fault. */
async function readList({ file, columns: names, hasHeader, separator, baseUrl }: ReconcileOptions): Promise<List> {
  const format = await findFormat(file, separator)
  const purchases = new Set<string>()
  let columns: Columns | undefined
  let width = 0
  let rows = 0
  for await (const row of readRows(file, format)) {
    if (!columns) {
      width = row.length
      columns = findColumns(names, row, hasHeader)
      if (hasHeader) continue
    }
    rows += 1
    if (row.length > width)
      throw new Error(`Row ${rows} has ${row.length} fields, and the first row of the file ${width}. Add --separator`)
    const name = purchaseOf(readCells(row, columns), baseUrl)
    if (name !== undefined) purchases.add(name)
  }
  if (!columns || rows === 0) throw new Error(`${file} has no rows`)
  return { format, columns, width, rows, purchases }
}

/** The name of the purchase of a row. Undefined if the row has nothing to resolve. */
function purchaseOf(cells: RowCells, baseUrl: string): string | undefined {
  const parsed = parseRow(cells)
  return parsed?.kind === 'valid' ? purchaseName(restRequest(baseUrl, parsed.operation)) : undefined
}

/** @throws unless the limit allows the list and the user agrees */
async function approve(
  { print, confirm }: ReconcileContext,
  { out, mode, amountMax, totalMax, isConfirmed }: ReconcileOptions,
  { rows, purchases }: List,
): Promise<void> {
  const entries = await folderStorage(purchasesFolder(out)).list('')
  const paid = new Set(entries.flatMap((entry) => /^([0-9a-f]{64})-\d+\.json$/.exec(entry)?.[1] ?? []))
  const all = new Set([...paid, ...purchases])
  const total = all.size * amountMax
  const left = (all.size - paid.size) * amountMax
  print(`${rows} rows, ${purchases.size} different ones to resolve. ${paid.size} have a payment already.`)
  print(`At most ${toUsdc(left)} USDC will be paid on ${DEPLOYMENTS[mode].network}, ${toUsdc(amountMax)} for a row.`)
  if (totalMax !== undefined && total > totalMax)
    throw new Error(`The list can cost ${total} micro-USDC, and --max-total is ${totalMax}. Nothing was signed`)
  if (left === 0 || isConfirmed || (await confirm('Continue?'))) return
  throw new Error('Nothing was signed. To pay without a question, add --yes')
}

const toUsdc = (amount: number) => String(amount / MICRO_USDC_PER_USDC)

async function openResolver(context: ReconcileContext, options: ReconcileOptions): Promise<ResolveRows> {
  const { baseUrl, mode, key, out, amountMax } = options
  const { now, sleep } = context
  const runtime = { now, sleep, fetch: withKeySetCache(context.fetch, { baseUrl, now }) }
  const buyer = await openBuyer({
    baseUrl,
    mode,
    key,
    amountMax,
    runtime,
    folder: purchasesFolder(out),
    payTo: undefined,
    amountPerDayMax: undefined,
    isUnusable: undefined,
    // An answer is kept forever. A refused payment is replaced after it has expired.
    maxAgeSeconds: Infinity,
  })
  return createRowResolver({ baseUrl, buyer, runtime })
}

interface Resolving {
  resolveRows: ResolveRows
  onProgress: (progress: ListProgress) => void
  onRow: (result: RowResult) => void
  interrupted: AbortSignal
}

/** Yields the rows of the output, the header included. */
async function* resolvedRows(
  { format, columns, width, purchases }: List,
  { file, out, hasHeader, baseUrl }: ReconcileOptions,
  { resolveRows, onProgress, onRow, interrupted }: Resolving,
): AsyncGenerator<string[], void, void> {
  const receiptFolder = basename(purchasesFolder(out))
  /** The purchases that are counted in `spent`. */
  const counted = new Set<string>()
  let isHeader = hasHeader
  let done = 0
  let spent = 0
  for await (const rows of inGroups(readRows(file, format), ROWS_AT_ONCE)) {
    if (isHeader) {
      const [header = []] = rows.splice(0, 1)
      yield [...header, ...addedHeader(header)]
      isHeader = false
    }
    if (interrupted.aborted) throw new Error('Interrupted. The same command continues, and pays nothing twice')
    const cells = rows.map((row) => readCells(row, columns))
    const names = cells.flatMap((each) => purchaseOf(each, baseUrl) ?? [])
    if (!names.every((name) => purchases.has(name)))
      throw new Error(`${file} was changed during the run. Run the same command again`)
    const results = await resolveRows(cells)
    for (const [index, result] of results.entries()) {
      onRow(result)
      if (result.kind === 'bought' && !counted.has(result.purchase)) {
        counted.add(result.purchase)
        spent += result.amount
      }
      const row = rows[index] ?? []
      const missing = Array.from({ length: width - row.length }, () => '')
      yield [...row, ...missing, ...addedFields(result, receiptFolder)]
    }
    done += rows.length
    onProgress({ rows: done, spent })
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
