/** The payments that a facilitator reported and that are not on chain: `payments missing`, and the check of them. */
import { expect } from 'chai'
import { CHECKS } from '../../../agent/service/checks/table.ts'
import { FacilitatorDoubts } from '../../../agent/settlement/doubts.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { runCommand } from '../../support/cli.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const FACILITATORS = ['https://one.example/secret-key', 'https://two.example/', 'self']

describe('[5.7.3] payments that are missing on chain', () => {
  let directory: string
  let log: LmdbResponseLog

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    log = new LmdbResponseLog(directory)
    const doubts = new FacilitatorDoubts({ log, monotonic: () => 0 })
    for (const [index, facilitator] of FACILITATORS.entries())
      await doubts.note({ facilitator, identity: `0x0${index}` })
  })
  afterEach(() => log.close())

  const missing = async (...args: string[]) =>
    (await runCommand(['payments', 'missing', ...args], { environment: { DATA_DIR: directory } })).lines

  it('are listed with the host of their facilitator, and fail a check until it is trusted again', async () => {
    const lines = ['one.example 0x00', 'two.example 0x01', 'self 0x02']
    expect(await missing()).to.have.members(lines)
    expect(await missing('--trust', 'two.example')).to.have.members([...lines, '1 forgotten'])
    const check = () => CHECKS.settlements.measure({ log: async () => log } as never)
    expect(await check()).to.containSubset([{ kind: 'failed' }])
    for (const host of ['one.example', 'self']) await missing('--trust', host)
    expect(await missing()).to.deep.equal([])
    expect(await check()).to.containSubset([{ kind: 'passed' }])
  })
})
