/** The identity monitor: intervals, reports, validity and stop. */
import { expect } from 'chai'
import { RegistryError } from '../../../agent/registry/errors.ts'
import { ReplyError } from '../../../agent/rpc/post-json.ts'
import { IdentityMonitor } from '../../../agent/registry/identity.ts'
import type { RegisteredAgent, RegistryReader } from '../../../agent/registry/reader.ts'
import { manualTimer } from '../../support/registries.ts'

const OWNER = '0x00000000000000000000000000000000000000AA'
const agent: RegisteredAgent = { owner: OWNER, wallet: null, uri: { text: '', altered: false }, isUriExpected: true }
const block = { number: 1, hash: '0x01', timestamp: '2026-01-01T00:00:00.000Z' } as const

type Answer = () => ReturnType<RegistryReader['identity']>

const finds: Answer = async () => ({ block, agent })
const fails =
  (cause: Error): Answer =>
  async () => {
    throw cause
  }

/** Resolves after all pending promise callbacks. */
const settled = () => new Promise((resolve) => void setImmediate(resolve))

interface Change {
  answer?: Answer
  owner?: string | undefined
  random?: number
}

function openMonitor({ answer = finds, random = 0.5, ...rest }: Change = {}) {
  const clock = manualTimer()
  const reports: string[] = []
  const script = { answer, time: 0, reads: 0 }
  const monitor = new IdentityMonitor({
    reader: {
      identity: async () => {
        script.reads += 1
        return script.answer()
      },
    },
    owner: 'owner' in rest ? rest.owner : OWNER,
    now: () => new Date(script.time),
    random: () => random,
    timer: clock.timer,
    report: (event, cause) => void reports.push(`${event} ${(cause as { code: string }).code}`),
  })
  return { monitor, clock, script, reports }
}

describe('the identity monitor', () => {
  it('returns unchecked before the first read', () => {
    expect(openMonitor().monitor.current()).to.deep.equal({ status: 'unchecked' })
  })

  it('reads again after a minute, plus or minus ten percent', async () => {
    for (const [random, milliseconds] of [
      [0, 54_000],
      [0.5, 60_000],
      [1, 66_000],
    ] as const) {
      const { monitor, clock } = openMonitor({ random })
      await monitor.start()
      expect(clock.times()).to.deep.equal([milliseconds])
    }
  })

  it('reads again five seconds after a failure and reports the failure once', async () => {
    const { monitor, clock, script, reports } = openMonitor({ answer: fails(new ReplyError('STATUS_500')) })
    await monitor.start()
    for (let count = 0; count < 3; count += 1) {
      expect(clock.times()).to.deep.equal([5_000])
      clock.pass(5_000)
      await settled()
    }
    expect(script.reads).to.equal(4)
    expect(reports).to.deep.equal(['registry_unread STATUS_500'])
    script.answer = finds
    clock.pass(5_000)
    await settled()
    expect(monitor.current()).to.deep.include({ status: 'registered' })
    expect(clock.times()).to.deep.equal([60_000])
    script.answer = fails(new ReplyError('STATUS_500'))
    clock.pass(60_000)
    await settled()
    expect(reports).to.have.lengthOf(2)
  })

  it('reads once at a time and aborts a read after three seconds', async () => {
    const { monitor, clock, script, reports } = openMonitor({ answer: () => new Promise(() => undefined) })
    const started = monitor.start()
    expect(clock.times()).to.deep.equal([3_000])
    expect(monitor.current().status).to.equal('unchecked')
    clock.pass(3_000)
    await started
    expect(reports).to.deep.equal(['registry_unread LATE'])
    expect(script.reads).to.equal(1)
  })

  it('keeps a result for 900 seconds of failures', async () => {
    const { monitor, clock, script } = openMonitor()
    await monitor.start()
    script.answer = fails(new ReplyError('UNREACHABLE'))
    clock.pass(60_000)
    await settled()
    for (const [seconds, status] of [
      [899, 'registered'],
      [900, 'registered'],
      [901, 'unchecked'],
    ] as const) {
      script.time = seconds * 1000
      expect(monitor.current().status).to.equal(status)
    }
  })

  for (const code of ['WRONG_CHAIN', 'REGISTRIES_NOT_LINKED'] as const) {
    it(`drops the result at once after ${code}`, async () => {
      const { monitor, clock, script } = openMonitor()
      await monitor.start()
      script.answer = fails(new RegistryError(code))
      clock.pass(60_000)
      await settled()
      expect(monitor.current()).to.deep.equal({ status: 'unchecked' })
    })
  }

  it('compares the owner on chain with the configured owner', async () => {
    const statusOf = async (change: Change) => {
      const { monitor } = openMonitor(change)
      await monitor.start()
      return monitor.current().status
    }
    expect(await statusOf({ owner: undefined })).to.equal('registered')
    expect(await statusOf({ owner: OWNER.toLowerCase() })).to.equal('registered')
    expect(await statusOf({ owner: `0x${'1'.repeat(40)}` })).to.equal('owner_mismatch')
    expect(await statusOf({ answer: async () => ({ block, agent: undefined }) })).to.equal('not_found')
  })

  it('reads nothing after a stop, which also aborts a read', async () => {
    const { monitor, clock, reports } = openMonitor({ answer: () => new Promise(() => undefined) })
    const started = monitor.start()
    monitor.stop()
    await started
    expect(clock.times()).to.deep.equal([])
    expect(reports).to.deep.equal([])
    const idle = openMonitor()
    await idle.monitor.start()
    idle.monitor.stop()
    expect(idle.clock.times()).to.deep.equal([])
  })
})
