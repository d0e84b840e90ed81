/** The constants of the synthetic company. */
import { expect } from 'chai'
import { SnapshotHash } from '../../store/snapshot-id.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_SNAPSHOT_ID } from '../../store/synthetic.ts'

describe('the synthetic company', () => {
  it('[1.7] has the id of a snapshot that contains only its record', () => {
    const id = new SnapshotHash().add(SYNTHETIC_COMPANY.company_number, SYNTHETIC_COMPANY).id()
    expect(SYNTHETIC_SNAPSHOT_ID).to.equal(id)
  })
})
