/** What an import tells whoever watches it: where it is, and in the end what it has made. */
import type { SnapshotInfo } from '../snapshot.ts'
import type { Progress } from './build.ts'

const STEPS = { rows: { number: 1, doing: 'reading' }, hash: { number: 2, doing: 'sealing' } } as const

/** Too early to say how long it takes: the first batches come while the program is still warming up. */
const TELLING_SECONDS_MIN = 1

/**
 * Makes the line that shows where an import is. The rate is that of the step, and so is the time left: the first step's
 * from the share of the file's bytes, the second's from that of its entries.
 */
export function progressLines(now: () => Date): (progress: Progress) => string {
  let step: Progress['phase'] | undefined
  let began = 0
  return ({ phase, rows, share }) => {
    const time = now().getTime() / 1000
    if (step !== phase) [step, began] = [phase, time]
    const seconds = time - began
    const line = `${STEPS[phase].doing}, step ${STEPS[phase].number} of 2: ${rows} rows`
    if (seconds < TELLING_SECONDS_MIN || share === 0) return line
    const left = Math.ceil((seconds * (1 - share)) / share)
    return `${line}, ${Math.round(rows / seconds)} rows/s, ${left} s left of this step`
  }
}

/** The findings of rows that are not in the snapshot; every other is of a value. */
const ROW_FINDINGS = /^(?:rejected|row)_/

/** What an import has made, a line a count. */
export function printInfo(info: SnapshotInfo, print: (line: string) => void): void {
  const findings = Object.entries(info.findings).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const printThose = (wanted: (name: string) => boolean) => {
    for (const [name, count] of findings) if (wanted(name)) print(`  ${name} ${count}`)
  }
  print(`rows        ${info.row_count}`)
  print(`companies   ${info.company_count}`)
  print(`quarantined ${info.quarantined_company_count}`)
  print(`rejected    ${info.rejected_row_count}`)
  printThose((name) => ROW_FINDINGS.test(name))
  print(
    `values      ${findings.reduce((sum, [name, count]) => sum + (ROW_FINDINGS.test(name) ? 0 : count), 0)} changed`,
  )
  printThose((name) => !ROW_FINDINGS.test(name))
  print(`snapshot    ${info.snapshot_id}`)
}
