/** Prints the counts of a snapshot and its id. */
import type { SnapshotInfo } from '../dataset/snapshot.ts'

/** Findings about whole rows. Every other finding is about a value of a row. */
const ROW_FINDINGS = /^(?:rejected|row)_/

export function printSnapshotInfo(info: SnapshotInfo, print: (line: string) => void): void {
  const findings = Object.entries(info.findings).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const ofRows = findings.filter(([name]) => ROW_FINDINGS.test(name))
  const ofValues = findings.filter(([name]) => !ROW_FINDINGS.test(name))
  print(`rows        ${info.row_count}`)
  print(`companies   ${info.company_count}`)
  print(`quarantined ${info.quarantined_company_count}`)
  print(`rejected    ${info.rejected_row_count}`)
  for (const [name, count] of ofRows) print(`  ${name} ${count}`)
  print(`values      ${ofValues.reduce((sum, [, count]) => sum + count, 0)} changed`)
  for (const [name, count] of ofValues) print(`  ${name} ${count}`)
  print(`snapshot    ${info.snapshot_id}`)
}
