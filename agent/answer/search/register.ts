/** The records that a query reads: those of a snapshot with their name index, or the synthetic company alone. */
import type { Company } from '../../../store/dataset/company.ts'
import type { NameIndex } from '../../../store/index/name-index.ts'
import type { Snapshot } from '../../../store/dataset/snapshot.ts'

export interface Register {
  snapshot: Pick<Snapshot, 'find'>
  names: NameIndex
  /** The position of a record that is not sold, because the synthetic company has its number. */
  withheld?: number | undefined
}

/** The index and the snapshot are built from the same records, so a missing record is a defect. */
export function readCompany({ snapshot, names }: Register, position: number): Company {
  const entry = snapshot.find(names.companyNumber(position))
  if (entry === undefined || entry === 'quarantined') throw new Error('The name index does not fit its snapshot')
  return entry
}
