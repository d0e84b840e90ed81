/**
 * The action of `client watch`. A round buys the changes since the last one and the records that changed. The state
 * file names the round before anything is bought, and gets its result after the report, so an interrupted run pays
 * nothing twice and misses no change.
 */
import * as z from 'zod'
import { fetchDocument } from '../../base/bounded-fetch.ts'
import { dateOfSource, sourceSchema } from '../../store/dataset/source.ts'
import { showUsdc } from '../amounts.ts'
import { counted, toSentence } from '../../base/grammar.ts'
import { isBlank } from '../table/cell.ts'
import { TableError } from '../table/table-error.ts'
import { writeTable } from '../table/table-file.ts'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { COMPANY_NUMBER_PATTERN } from '../../store/dataset/company.ts'
import { listColumns, namesOf, readCells } from '../lists/columns.ts'
import { describeSheet, fitRows, locateColumns } from '../lists/list.ts'
import type { ListInput } from '../lists/list-input.ts'
import { describeColumns, proposeColumns } from '../lists/propose-columns.ts'
import { countWithoutTotals, lineMarks } from '../lists/typed-lines.ts'
import { readNumber } from '../typed-input.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import type { CommandContext, CommandResult } from '../../agent/command-line/context.ts'
import { errorCode } from '../../base/error-code.ts'
import { EXIT_UNDELIVERED } from '../library/outcome.ts'
import { interruptedAloud, reportInterruption } from '../lists/open-payments.ts'
import { createPurchases, type Purchases } from './purchases.ts'
import {
  describeCompany,
  describeDue,
  describeGaps,
  describeUnreadable,
  describeWithoutRecord,
  toLines,
  toRows,
} from './report.ts'
import { readState, writeState, type Change, type Records, type Round, type WatchState } from './state.ts'
import { toDay } from '../../base/day.ts'

type Print = CommandContext['print']

interface WatchOptions extends ListInput {
  /** By default that which a list would be read by. */
  column: string | undefined
  stateFile: string
  reportFile: string | undefined
  /** Micro-USDC for this run. Only a dry run can have none. */
  totalMax: number | undefined
}

/**
 * The numbers, sorted and without repetitions, and the rows with something else, as a spreadsheet counts them: the
 * header is row 1.
 * @throws an error if the file has no company number
 */
function readNumbers({ file, table, headerRow, column }: WatchOptions, print: Print) {
  const columns = locateColumns(table.rows, { number: column ?? proposeNumber({ table, headerRow }, print) }, headerRow)
  const rows = fitRows(table, headerRow)
  const isHidden = (index: number) => table.hidden.has(headerRow + index)
  const end = countWithoutTotals(rows)
  const texts = rows.map((row, index) =>
    isHidden(index) || index >= end ? '' : (readCells(row, columns).number?.trim() ?? ''),
  )
  const withoutMark = lineMarks(texts)
  const found = texts.map((text) => readNumber(withoutMark(text)) ?? '')
  const numbers = new Set(found.filter((number) => COMPANY_NUMBER_PATTERN.test(number)))
  if (numbers.size === 0) throw new Error(`${file} has no company number in the column${column ? ` ${column}` : ''}`)
  const unreadable = rows.flatMap((row, index) =>
    row.every(isBlank) || isHidden(index) || numbers.has(found[index] ?? '') ? [] : [headerRow + index + 1],
  )
  const hidden = rows.filter((row, index) => isHidden(index) && !row.every(isBlank)).length
  return { numbers: [...numbers].toSorted(), unreadable, hidden }
}

/** @throws TableError if no column is certain */
function proposeNumber({ table: { rows }, headerRow }: Pick<WatchOptions, 'table' | 'headerRow'>, print: Print) {
  const header = headerRow === 0 ? undefined : rows[headerRow - 1]
  const { company_number } = proposeColumns(rows, headerRow)
  const [column] = namesOf(company_number)
  if (column === undefined)
    throw new TableError(
      `No column of company numbers is certain. Name one with --column. ${listColumns(header ?? rows[0], header !== undefined)}`,
      { argument: 'column' },
    )
  print(toSentence(`Columns: ${describeColumns({ company_number }, header)}`))
  return column
}

/** The exit status after a run in which a company changed. */
const EXIT_CHANGED = 3

/** @throws an error if the run ends early */
export async function watch(context: CommandContext, options: WatchOptions): Promise<CommandResult> {
  const { print, note, now } = context
  const { baseUrl, mode, stateFile, reportFile } = options
  const { numbers, unreadable, hidden } = readNumbers(options, print)
  describeSheet(options.table, hidden, 'Add --hidden-rows to watch them too.').forEach(print)
  const folder = `${stateFile}.purchases`
  const purchases = createPurchases({ ...options, folder, runtime: context })
  const sections = describeUnreadable(unreadable)
  toLines(sections).forEach(print)
  const due = ({ companies }: WatchState) => describeDue(Object.values(pick(companies, numbers)), toDay(now()))
  const withoutRecord = ({ companies, removed }: WatchState) =>
    describeWithoutRecord(
      numbers.filter((number) => companies[number] === null),
      removed,
    )
  const writeReport = async (state: WatchState) => {
    if (reportFile === undefined) return
    const all = [...sections, ...withoutRecord(state), ...due(state)]
    await writeTable(reportFile, toRows(all), { format: options.table.format })
  }
  const paidBefore = await purchases.paid()
  let state = await readState(stateFile, { url: baseUrl, mode })
  let changed = 0
  const summarise = async (last: WatchState) => {
    const paid = showUsdc((await purchases.paid()) - paidBefore)
    const total = `${counted(numbers.length, 'company', 'companies')}, ${changed} changed`
    const [listed, dated] = [withoutRecord(last), due(last)]
    for (const line of [...toLines([...listed, ...dated]), `Paid: ${paid} USDC.`, total]) print(line)
    const { isDryRun: is_dry_run } = options
    const all = [...sections, ...listed]
    if (context.isJson)
      context.printJson({ companies: numbers.length, changed, paid, sections: all, due: dated, is_dry_run })
  }
  let signal: AbortSignal | undefined
  for (let rounds = 0; ; rounds += 1) {
    const round = state.round ?? (await planRound(context, options, { state, numbers }))
    if (!round) break
    const least = purchases.estimate(round, without(round.numbers, state.companies))
    if (rounds === 0 && !(await approve(context, options, least))) {
      if (context.isJson) context.printJson({ amount: showUsdc(least), is_dry_run: true })
      return true
    }
    await writeState(stateFile, { ...state, round })
    signal ??= interruptedAloud(context)
    const result = await performRound(purchases, { state, round, signal }).catch(unlessAborted(signal))
    if (!result) return reportInterruption(context, { ...options, folder, paidBefore })
    sections.push(...result.sections)
    toLines(result.sections).forEach(print)
    await writeReport(result.state)
    changed += result.changed
    if (context.isJson) await summarise(result.state)
    // The state says what was reported, so stdout takes it first.
    const fault = await context.flush().catch((cause: unknown) => errorCode(cause) ?? 'unknown')
    if (fault !== undefined) {
      note(`The changes could not be written (${fault}). The same command prints them again, and nothing is charged.`)
      return EXIT_UNDELIVERED
    }
    await writeState(stateFile, result.state)
    state = result.state
    // The next run makes a further round, because stdout has the document of this one.
    if (context.isJson) return changed === 0 || EXIT_CHANGED
  }
  if (options.isDryRun) print('Nothing would be paid.')
  else await writeReport(state)
  await summarise(state)
  return changed === 0 || EXIT_CHANGED
}

const unlessAborted = (signal: AbortSignal) => (cause: unknown) => {
  if (!signal.aborted) throw cause
}

const currentSchema = z.object({ snapshot_id: z.string(), source: sourceSchema.loose() })

/** Undefined if there is nothing to buy. */
async function planRound(
  { fetch }: CommandContext,
  { baseUrl }: WatchOptions,
  { state, numbers }: { state: WatchState; numbers: string[] },
): Promise<Round | undefined> {
  const { snapshot_id, source } = await fetchDocument(fetch, `${baseUrl}${FREE_PATHS.metadata}`, currentSchema)
  if (snapshot_id === state.snapshot_id && without(numbers, state.companies).length === 0) return undefined
  return { snapshot_id, since: state.since ?? dateOfSource(source), numbers }
}

/**
 * Returns false for a dry run.
 * @param least micro-USDC if nothing has changed
 * @throws unless the user agrees
 */
async function approve(
  { print, confirm }: CommandContext,
  { mode, totalMax, isConfirmed, isDryRun }: WatchOptions,
  least: number,
): Promise<boolean> {
  const network = DEPLOYMENTS[mode].network
  const limit = totalMax === undefined ? '' : `, in all at most ${showUsdc(totalMax)}`
  print(
    `${showUsdc(least)} USDC will be paid on ${network}, less for numbers that no company has, and more for records that ` +
      `changed${limit}.`,
  )
  if (isDryRun) return false
  if (isConfirmed || (await confirm('Continue?'))) return true
  throw new Error('Nothing was signed. To pay without a question, add --yes')
}

const without = (numbers: readonly string[], records: Records) =>
  numbers.filter((number) => !Object.hasOwn(records, number))
const pick = (records: Records, numbers: readonly string[]): Records =>
  Object.fromEntries(
    numbers.flatMap((number) => (Object.hasOwn(records, number) ? [[number, records[number] ?? null]] : [])),
  )

/** Buys the changes before the records, so a change after the answer is in the next round. */
async function performRound(
  purchases: Purchases,
  { state, round, signal }: { state: WatchState; round: Round; signal: AbortSignal },
) {
  const { companies: known } = state
  const answers = await purchases.changes(round, signal)
  const changes = answers.flatMap((answer) => answer.changes)
  const missing = new Set(answers.flatMap(({ not_in_register = [] }) => not_in_register))
  const added = without(round.numbers, known)
  const news = groupByCompany(
    withoutReported(changes, state.reported).filter(({ company_number: number }) => Object.hasOwn(known, number)),
  )
  const ended = [...news].flatMap(([number, each]) => (each.at(-1)?.after ? [] : [number]))
  // No record of these numbers can be bought: the register never had the number, or has removed it.
  const withoutRecord: Records = Object.fromEntries([...missing, ...ended].map((number) => [number, null]))
  const bought = await purchases.records(without([...added, ...news.keys()], withoutRecord), round, signal)
  const companies = { ...pick(known, round.numbers), ...withoutRecord, ...bought }
  // A later file can add changes to this day, so the next round asks from it on.
  const [since = round.since] = answers.map(({ source }) => dateOfSource(source)).toSorted()
  const reported = changes.filter(({ date }) => date >= since)
  const { url, mode } = state
  const last = { ...state.removed, ...known }
  const removed = Object.fromEntries(
    round.numbers.flatMap((number) => (companies[number] === null && last[number] ? [[number, last[number]]] : [])),
  )
  return {
    state: { url, mode, snapshot_id: round.snapshot_id, since, reported, companies, removed },
    sections: [
      ...[...news].map(([number, each]) =>
        describeCompany(number, each, { before: known[number] ?? null, after: companies[number] ?? null }),
      ),
      ...describeGaps(answers.flatMap(({ gaps }) => gaps)),
    ],
    changed: news.size,
  }
}

/** Two equal changes of one day are two changes. */
function withoutReported(changes: readonly Change[], reported: readonly Change[]): Change[] {
  const left = reported.map((change) => JSON.stringify(change))
  return changes.filter((change) => {
    const at = left.indexOf(JSON.stringify(change))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

function groupByCompany(changes: readonly Change[]): Map<string, Change[]> {
  const groups = new Map<string, Change[]>()
  for (const change of changes) {
    const { company_number: number } = change
    groups.set(number, [...(groups.get(number) ?? []), change])
  }
  return groups
}
