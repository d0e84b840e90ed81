/** Files of a register in a row, with what can happen to a watched company, and a service that imports them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS, HOUR_MS } from '../../base/day.ts'
import type { RegisterRow } from '../../store/import/rows.ts'
import { startChild } from './child.ts'
import { registerRow, toCsv } from './register.ts'
import { startTestService, type TestService } from './service.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

export const FIRST = 1001
export const WATCHED = 250
const ROWS = 300

/** The watched numbers, and one that no file has. */
export const NUMBERS = [...Array.from({ length: WATCHED - 1 }, (_, at) => String(FIRST + at)), '9999999']

export type Rows = Map<string, RegisterRow[]>

/** Changes the rows of a number. An empty list removes the company, and two different rows contradict each other. */
function change(rows: Rows, number: number, ...changed: Partial<RegisterRow>[]): void {
  const company_name = `NUMBER ${number}`
  const made = changed.map((each) =>
    registerRow({ company_num: String(number), company_name, comp_dissolved_date: '', ...each }),
  )
  rows.set(String(number), made)
}

/** The changes from each file to the next. The first two are of one day, and the third one is of two days later. */
const STEPS: ((rows: Rows) => void)[] = [
  (rows) => {
    change(rows, 1001, { company_name: 'RENAMED <b>& CO' })
    change(rows, 1002, { company_status: 'Strike Off Listed', company_status_code: '1156' })
    change(rows, 1003, { company_address_1: '2 OTHER STREET', eircode: 'D02 X285' })
    change(rows, 1004)
    change(rows, 1005, {})
    change(rows, 1006, { last_ar_date: '2026-09-30', nard: '2027-09-30', last_accounts_date: '2025-12-31' })
    change(rows, 1007, {}, { company_name: 'CONTRADICTORY' })
    change(rows, 1290, { company_name: 'NOT WATCHED' })
  },
  (rows) => {
    change(rows, 1001, { company_name: 'RENAMED AGAIN' })
    change(rows, 1004, { company_status: 'Dissolved', comp_dissolved_date: '2026-01-02' })
    change(rows, 1007, {})
    change(rows, 1150, { company_name: 'OF THE SECOND GROUP' })
  },
  (rows) => {
    change(rows, 1002)
    change(rows, 1005)
    change(rows, 1150, {}, { company_name: 'CONTRADICTORY' })
    change(rows, 1249, { company_address_1: 'OF THE LAST GROUP' })
  },
]
const TIMES = [DAY_MS + HOUR_MS, DAY_MS + 2 * HOUR_MS, 3 * DAY_MS]

export type WatchedService = Awaited<ReturnType<typeof startWatchedService>>

/** The first file, without 1005. */
export function firstRows(): Rows {
  const rows: Rows = new Map()
  for (let at = 0; at < ROWS; at += 1) change(rows, FIRST + at, {})
  change(rows, 1005)
  return rows
}

/** Renames a few watched companies. */
export function rename(rows: Rows, names: ReadonlyMap<number, string>): void {
  for (const [number, company_name] of names) change(rows, number, { company_name })
}

/** Imports a file at a time after the beginning of the day, and waits until the service serves it. */
export async function importRows(service: TestService, rows: Rows, { file, time }: { file: string; time: number }) {
  const snapshot = async () =>
    ((await (await fetch(`${service.url}/api/v1/meta`)).json()) as { snapshot_id: string }).snapshot_id
  const before = await snapshot()
  await writeFile(file, toCsv(...[...rows.values()].flat()))
  const at = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS + time).toISOString()
  // The service has the journal open, and one process opens an LMDB environment once.
  const child = startChild('test/programs/run-import.js', ['import', file, service.directory, at], {})
  if ((await child.ended) !== 0) throw new Error(child.stderr())
  while ((await snapshot()) === before) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** A service with the first file. `importNext` imports the next one. */
export async function startWatchedService() {
  const directory = await makeTemporaryDirectory()
  const file = join(directory, 'register.csv')
  const rows = firstRows()
  const steps = STEPS.entries()
  await writeFile(file, toCsv(...[...rows.values()].flat()))
  const service = await startTestService({ environment: { DATASET: file, RATE_LIMIT_PER_MINUTE: '100000' } })
  return {
    service,
    async importNext(): Promise<void> {
      const [at, step] = steps.next().value!
      step(rows)
      await importRows(service, rows, { file: join(directory, 'next.csv'), time: TIMES[at]! })
    },
  }
}
