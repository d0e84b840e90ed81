/** The identity is kept fresh in the background, stands for a quarter of an hour, and falls at the first contradiction. */
import { expect } from 'chai'
import { RegistryError } from '../../../agent/registry/errors.ts'
import { IdentityKeeper } from '../../../agent/registry/identity.ts'
import type { Agent, Reader } from '../../../agent/registry/reader.ts'
import { manualTimer } from '../../support/registries.ts'

const OWNER = '0x00000000000000000000000000000000000000AA'
const agent: Agent = { owner: OWNER, wallet: null, uri: { text: '', altered: false }, isUriExpected: true }
const block = { number: 1, hash: '0x01', timestamp: '2026-01-01T00:00:00.000Z' } as const

type Answer = () => ReturnType<Reader['identity']>

const finds: Answer = async () => ({ block, agent })
const fails =
  (code: ConstructorParameters<typeof RegistryError>[0]): Answer =>
  async () => {
    throw new RegistryError(code)
  }

/** Everything that is due now has happened. */
const settled = () => new Promise((resolve) => void setImmediate(resolve))

interface Change {
  answer?: Answer
  owner?: string | undefined
  random?: number
}

function keep({ answer = finds, random = 0.5, ...rest }: Change = {}) {
  const clock = manualTimer()
  const reports: string[] = []
  const script = { answer, time: 0, readings: 0 }
  const keeper = new IdentityKeeper({
    reader: {
      identity: async () => {
        script.readings += 1
        return script.answer()
      },
    },
    owner: 'owner' in rest ? rest.owner : OWNER,
    now: () => new Date(script.time),
    random: () => random,
    timer: clock.timer,
    report: (event, cause) => void reports.push(`${event} ${(cause as Error).message}`),
  })
  return { keeper, clock, script, reports }
}

describe('the identity', () => {
  it('is unchecked before the first reading', () => {
    expect(keep().keeper.current()).to.deep.equal({ status: 'unchecked' })
  })

  it('is read again after a minute, and a tenth more or less', async () => {
    for (const [random, milliseconds] of [
      [0, 54_000],
      [0.5, 60_000],
      [1, 66_000],
    ] as const) {
      const { keeper, clock } = keep({ random })
      await keeper.start()
      expect(clock.times()).to.deep.equal([milliseconds])
    }
  })

  it('is read again five seconds after a failure, which is reported once', async () => {
    const { keeper, clock, script, reports } = keep({ answer: fails('BAD_STATUS') })
    await keeper.start()
    for (let count = 0; count < 3; count += 1) {
      expect(clock.times()).to.deep.equal([5_000])
      clock.pass(5_000)
      await settled()
    }
    expect(script.readings).to.equal(4)
    expect(reports).to.deep.equal(['registry_unread BAD_STATUS'])
    script.answer = finds
    clock.pass(5_000)
    await settled()
    expect(keeper.current()).to.deep.include({ status: 'registered' })
    expect(clock.times()).to.deep.equal([60_000])
    script.answer = fails('BAD_STATUS')
    clock.pass(60_000)
    await settled()
    expect(reports).to.have.lengthOf(2)
  })

  it('has one reading at a time, and gives one up after three seconds', async () => {
    const { keeper, clock, script, reports } = keep({ answer: () => new Promise(() => undefined) })
    const started = keeper.start()
    expect(clock.times()).to.deep.equal([3_000])
    expect(keeper.current().status).to.equal('unchecked')
    clock.pass(3_000)
    await started
    expect(reports).to.deep.equal(['registry_unread LATE'])
    expect(script.readings).to.equal(1)
  })

  it('stands for 900 seconds of failures, and no longer', async () => {
    const { keeper, clock, script } = keep()
    await keeper.start()
    script.answer = fails('LATE')
    clock.pass(60_000)
    await settled()
    for (const [seconds, status] of [
      [899, 'registered'],
      [900, 'registered'],
      [901, 'unchecked'],
    ] as const) {
      script.time = seconds * 1000
      expect(keeper.current().status).to.equal(status)
    }
  })

  for (const code of ['WRONG_CHAIN', 'REGISTRIES_NOT_LINKED'] as const) {
    it(`falls at once when the chain says ${code}`, async () => {
      const { keeper, clock, script } = keep()
      await keeper.start()
      script.answer = fails(code)
      clock.pass(60_000)
      await settled()
      expect(keeper.current()).to.deep.equal({ status: 'unchecked' })
    })
  }

  it('is registered, somebody else’s or not there, by what the chain says', async () => {
    const statusOf = async (change: Change) => {
      const { keeper } = keep(change)
      await keeper.start()
      return keeper.current().status
    }
    expect(await statusOf({ owner: undefined })).to.equal('registered')
    expect(await statusOf({ owner: OWNER.toLowerCase() })).to.equal('registered')
    expect(await statusOf({ owner: `0x${'1'.repeat(40)}` })).to.equal('owner_mismatch')
    expect(await statusOf({ answer: async () => ({ block, agent: undefined }) })).to.equal('not_found')
  })

  it('is read no more after a stop, which also ends a reading', async () => {
    const { keeper, clock, reports } = keep({ answer: () => new Promise(() => undefined) })
    const started = keeper.start()
    keeper.stop()
    await started
    expect(clock.times()).to.deep.equal([])
    expect(reports).to.deep.equal([])
    const idle = keep()
    await idle.keeper.start()
    idle.keeper.stop()
    expect(idle.clock.times()).to.deep.equal([])
  })
})
