/** One's own relayer on a real chain that loses one of its transactions: no sale stays stuck behind the gap in its numbers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { openRealShop, type RealShop } from '../../support/real-shop.ts'

const POLL_MS = 20

describe('a relayer whose transaction is dropped', function () {
  // A receipt is waited for 20 s.
  this.timeout(90_000)
  let place: RealShop

  beforeEach(async () => {
    place = await openRealShop()
  })
  afterEach(() => place.close())

  /** The hash of the one transaction that waits to be mined. */
  async function waiting(): Promise<string> {
    for (;;) {
      const { pending } = (await place.rpc('txpool_content')) as {
        pending: Record<string, Record<string, { hash: string }>>
      }
      const [sent] = Object.values(pending).flatMap((ofSender) => Object.values(ofSender))
      if (sent) return sent.hash
      await sleep(POLL_MS)
    }
  }

  it('leaves that sale unknown and then settled, and sells to the next', async () => {
    const { shop } = place
    const [first, second, third] = [await place.sign(), await place.sign(), await place.sign()]
    await place.rpc('evm_setAutomine', false)
    const dropped = shop.lookup(first)
    await place.rpc('anvil_dropTransaction', await waiting())
    await place.rpc('evm_setAutomine', true)
    const behind = shop.lookup(second)
    const outcome = await dropped
    expect(outcome.kind === 'refused' && outcome.refusal.code).to.equal('payment_outcome_unknown')
    await behind

    expect((await shop.lookup(third)).kind).to.equal('answer')
    expect((await shop.lookup(first)).kind).to.equal('answer')
    expect((await shop.lookup(second)).kind).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(3)
  })
})
