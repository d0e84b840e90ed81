/** The list of changes of final records, from which incremental backups are made. */
import { asBinary } from 'lmdb'
import { expect } from 'chai'
import { openEnvironment } from '../../../store/files/environment.ts'
import { changeKey, noteChanges, openRanges } from '../../../store/log/ranges.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-11-26T10:00:00Z')

describe('the changes of a response log', () => {
  it('lose the entries of nine days ago, and no final outcome fails at a damaged one', async () => {
    const environment = openEnvironment({ folder: await makeTemporaryDirectory(), kind: 'responses' })
    const { changes } = openRanges(environment)
    const note = (count: number, days: number) =>
      environment.transactionSync(() => {
        for (let index = 0; index < count; index += 1) noteChanges(changes, new Date(START_MS + days * DAY_MS), ['id'])
      })
    note(50, 0)
    environment.transactionSync(() => changes.put(changeKey(10), asBinary(Buffer.from('{"ident'))))
    note(60, 9)
    expect([...changes.keys({ limit: 3 })].map(Number)).to.deep.equal([10, 51, 52])
    await environment.close()
  })
})
