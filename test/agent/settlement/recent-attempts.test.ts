/** Whether another process is still settling a payment, over a real log and with a manual clock. */
import { expect } from 'chai'
import { RecentAttempts } from '../../../agent/settlement/recent-attempts.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { processName } from '../../../store/log/responses.ts'
import { makeRecord } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { manualTimer } from '../../support/timers.ts'

const SILENT_SECONDS = 10
const LIMIT_SECONDS = 65

describe('[5.6.2] a settlement of another process', () => {
  let log: LmdbResponseLog
  let seconds: number
  let signs: ReturnType<typeof manualTimer>

  beforeEach(async () => {
    log = new LmdbResponseLog(await makeTemporaryDirectory())
    seconds = 0
    signs = manualTimer()
  })
  afterEach(() => log.close())

  const open = (process?: string, own = log) =>
    new RecentAttempts({
      log: own,
      timer: signs.timer,
      monotonic: () => seconds * 1_000,
      ...(process !== undefined && { process }),
    })
  const recordOf = (settling_process: string) => makeRecord({ state: 'prepared', settling_process })

  /** The last second in which a reader that looks each second sees it in progress. */
  async function lastSeen(reader: RecentAttempts, name: string, each: () => Promise<void> = async () => undefined) {
    for (seconds = 0; seconds < 100; seconds += 1) {
      await each()
      if (!(await reader.isInProgress(recordOf(name)))) break
    }
    return seconds - 1
  }

  it('is abandoned once the process has given no sign for 10 seconds', async () => {
    expect(await lastSeen(open('reader'), 'dead')).to.equal(SILENT_SECONDS - 1)
  })

  for (const [when, isWritten] of [
    ['before its sign is in the log', false],
    ['after its sign is in the log', true],
  ] as const) {
    it(`is abandoned 10 seconds after the last sign if the process dies ${when}`, async () => {
      const setNote = async (key: string, value?: string) => {
        if (isWritten) await log.setNote(key, value)
        await new Promise(() => undefined)
      }
      const dying = open('dying', Object.assign(Object.create(log) as LmdbResponseLog, { setNote }))
      void dying.run('payment', () => new Promise(() => undefined))
      const sign = async () => {
        if (seconds === 3) signs.pass()
        await log.checkWritable()
      }
      expect(await lastSeen(open('reader'), 'dying', sign)).to.equal((isWritten ? 3 : 0) + SILENT_SECONDS - 1)
    })
  }

  it('is in progress while the process gives signs, at most for the time limit of a call', async () => {
    const settling = open('settling')
    let end = (): void => undefined
    const work = settling.run('payment', () => new Promise<void>((resolve) => void (end = resolve)))
    const sign = async () => {
      if (seconds % 3 === 0) signs.pass()
      await new Promise(setImmediate)
      await log.checkWritable()
    }
    expect(await lastSeen(open('reader'), 'settling', sign)).to.equal(LIMIT_SECONDS - 1)
    expect([...(await log.notes('process/'))]).to.have.lengthOf(1)
    end()
    await work
    seconds = LIMIT_SECONDS + 1
    await sign()
    expect([...(await log.notes('process/'))]).to.deep.equal([])
    expect(signs.times()).to.deep.equal([])
  })

  it('has ended if its process is not among those that have the log open', async () => {
    const reader = open()
    expect(await reader.isInProgress(recordOf(processName(2 ** 30)))).to.equal(false)
    expect(await reader.isInProgress(recordOf(processName(process.pid)))).to.equal(false)
    expect(await reader.isInProgress(recordOf(reader.process))).to.equal(false)
    await reader.run('0x01', async () => undefined)
    const own = recordOf(reader.process)
    await reader.run(own.identity, async () => expect(await reader.isInProgress(own)).to.equal(true))
  })
})
