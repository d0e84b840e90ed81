/** The reconciler on a real log, with a clock and a timer that the test turns: what it ends, what it leaves, and its stop. */
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { paymentIdentity } from '../../../agent/payments/binding.ts'
import type { Evidence } from '../../../agent/payments/chain.ts'
import { openReconciler, type Reconciler } from '../../../agent/payments/reconciler.ts'
import type { ResponseRecord, State } from '../../../store/record.ts'
import { signedPayment, testTerms, type WirePayment } from '../../support/payments.ts'
import { aRecord, hold } from '../../support/records.ts'
import { TestSeller, TRANSACTION } from '../../support/seller.ts'

const OTHER_TRANSACTION = `0x${'ef'.repeat(32)}`
const SECOND_MS = 1000

describe('the reconciler', () => {
  let shop: TestSeller
  let payment: WirePayment
  let identity: string
  let reconciler: Reconciler | undefined
  let clock: number
  let waiting: (() => void)[]

  beforeEach(async () => {
    clock = Date.now()
    waiting = []
    shop = await TestSeller.open()
    shop.now = () => new Date(clock)
    payment = await signedPayment()
    identity = paymentIdentity(payment as never)
  })
  afterEach(async () => {
    await reconciler?.stop()
    reconciler = undefined
    await shop.close()
  })

  const read = async () => shop.seller.desk.log.read(identity)
  const state = async () => (await read())?.state
  const calls = (name: string) => shop.calls.filter((each) => each === name).length
  const is = (found: Evidence) => void (shop.script.evidence = async () => found)
  const free = (): Evidence => ({ nonce: 'free', time: BigInt(Math.ceil(clock / SECOND_MS) + 1), finalTime: 0n })
  const paid = (isFinal: boolean, transaction = TRANSACTION): Evidence => ({
    nonce: 'used',
    transfer: { from: payment.payload.authorization.from, to: testTerms.payTo, value: 1000n, transaction },
    isFinal,
  })

  function open(): Reconciler {
    reconciler = openReconciler({
      desk: shop.seller.desk,
      timer(callback) {
        waiting.push(callback)
        return () => void (waiting = waiting.filter((each) => each !== callback))
      },
      random: () => 0.5,
      alone: async (key, task) => {
        const { turns } = shop.seller
        if (!turns.isTaken(key)) await turns.run(key, task, () => undefined)
      },
    })
    return reconciler
  }

  /** A minute later everything is due again; three rounds bring every record to rest. */
  async function work(): Promise<void> {
    const opened = reconciler ?? open()
    for (let round = 0; round < 3; round += 1) {
      await opened.round()
      clock += 130 * SECOND_MS
    }
  }

  async function claim(held: State, change: Partial<ResponseRecord> = {}): Promise<void> {
    const updated_at = new Date(clock).toISOString()
    const record = { ...aRecord({}), identity, payment, updated_at, state: held }
    await hold(shop.seller.desk.log, { ...record, ...change })
  }

  const soon = () => (clock += 6 * SECOND_MS)

  it('settles what is unknown and free, without the buyer', async () => {
    await claim('unknown')
    is(free())
    await open().round()
    expect(await state()).to.equal('settled')
    expect(calls('settle')).to.equal(1)
  })

  it('does not charge for an answer that nobody has come back for, and ends it when it can never be paid', async () => {
    await claim('prepared')
    is(free())
    await work()
    expect(await state()).to.equal('prepared')
    is({ nonce: 'free', time: 2n ** 40n, finalTime: 2n ** 40n })
    await work()
    expect(await state()).to.equal('expired')
    expect(calls('settle')).to.equal(0)
  })

  it('takes up a settlement that a dead process has left', async () => {
    is(paid(true))
    await claim('settling')
    soon()
    await open().round()
    expect(await state()).to.equal('settled')
  })

  it('does not wait for a clock that was set back to catch up with a settlement that was begun', async () => {
    open()
    await reconciler?.round()
    soon()
    is(paid(true))
    await claim('settling')
    clock -= 5 * SECOND_MS
    await reconciler?.round()
    expect(await state()).to.equal('settled')
  })

  it('comes to every record, however many there are: who has waited longest comes first', async () => {
    const { log } = shop.seller.desk
    const names = Array.from({ length: 450 }, (_, index) => `i${String(index).padStart(3, '0')}`)
    await Promise.all(names.map((name) => log.claim(aRecord({ identity: name, state: 'unknown' }))))
    const seen = new Set<string>()
    shop.seller.desk = {
      ...shop.seller.desk,
      log: { ...log, read: (name) => (seen.add(name), log.read(name)) },
    }
    is({ nonce: 'unclear' })
    const opened = open()
    for (let round = 0; round < 3; round += 1) {
      await opened.round()
      // Longer than any wait, so that the first are due again before the last have been looked at.
      clock += 130 * SECOND_MS
    }
    expect(seen.size).to.equal(names.length)
  })

  for (const begun of ['prepared', 'settling'] as const) {
    it(`leaves a settlement that another has begun alone for as long as that may take: ${begun}`, async () => {
      open()
      await reconciler?.round()
      soon()
      is(paid(true))
      await claim(begun)
      await reconciler?.round()
      expect(await state()).to.equal(begun)
      clock += 66 * SECOND_MS
      await reconciler?.round()
      expect(await state()).to.equal('settled')
    })
  }

  it('confirms a settlement once its block is final, with the transaction that the chain has', async () => {
    await shop.lookup(payment)
    expect(await state()).to.equal('settled')
    is(paid(false, OTHER_TRANSACTION))
    await work()
    expect(await state()).to.equal('settled')
    is(paid(true, OTHER_TRANSACTION))
    await work()
    const record = await read()
    expect(record?.state).to.equal('confirmed')
    expect(decodePaymentResponseHeader(record?.payment_response ?? '').transaction).to.equal(OTHER_TRANSACTION)
    expect(await shop.seller.desk.log.unfinished()).to.deep.equal([])
  })

  it('settles again what a reorganisation has undone, or what was never done, while there is time', async () => {
    const bought = await shop.lookup(payment)
    soon()
    is(free())
    await open().round()
    expect(await state()).to.equal('settled')
    expect(calls('settle')).to.equal(2)
    expect(await shop.lookup(payment)).to.deep.equal(bought)
  })

  it('takes no word against a settlement from a node that lags behind it', async () => {
    await shop.lookup(payment)
    is({ nonce: 'free', time: BigInt(Math.floor(clock / SECOND_MS) - 2), finalTime: 0n })
    soon()
    await open().round()
    expect(await state()).to.equal('settled')
    expect(calls('settle')).to.equal(1)
  })

  it('gives no answer for a settlement that is gone for good, and says so to the buyer', async () => {
    await shop.lookup(payment)
    soon()
    is({ nonce: 'cancelled', isFinal: false })
    await open().round()
    expect(await state()).to.equal('unknown')
    is({ nonce: 'cancelled', isFinal: true })
    await work()
    expect(await state()).to.equal('rejected')
    const outcome = await shop.lookup(payment)
    expect(outcome.kind === 'refused' && outcome.refusal.code).to.equal('payment_failed')
  })

  it('finds the transfer of a facilitator that refused and sent all the same', async () => {
    shop.script.settle = async () => ({
      success: false,
      errorReason: 'insufficient_funds',
      transaction: '',
      network: testTerms.network,
    })
    await shop.lookup(payment)
    expect(await state()).to.equal('refused')
    is(free())
    soon()
    await open().round()
    expect(await state()).to.equal('refused')
    expect(calls('settle')).to.equal(1)
    is(paid(true))
    await work()
    expect(await state()).to.equal('confirmed')
    expect((await shop.lookup(payment)).kind).to.equal('answer')
  })

  it('changes nothing while the chain is away or contradicts itself, however long', async () => {
    await claim('unknown')
    for (const evidence of [() => Promise.reject(new Error('no node')), async () => ({ nonce: 'unclear' }) as const]) {
      shop.script.evidence = evidence
      await work()
      clock += 365 * 24 * 3600 * SECOND_MS
      await work()
    }
    expect(await state()).to.equal('unknown')
    expect(calls('settle')).to.equal(0)
  })

  it('looks at the others when one is damaged, and reports that one', async () => {
    await claim('unknown')
    const { log } = shop.seller.desk
    await log.claim(aRecord({ identity: 'a-damaged-one', state: 'unknown' }))
    const damaged: typeof log.read = async (key) => {
      if (key === 'a-damaged-one') throw new Error('damaged')
      return log.read(key)
    }
    shop.seller.desk = { ...shop.seller.desk, log: { ...log, read: damaged } }
    is(paid(true))
    await open().round()
    expect(await state()).to.equal('settled')
    expect(shop.reports).to.include('record_not_reconciled')
  })

  it('does not touch a payment that a request is working on', async () => {
    await claim('unknown')
    is(free())
    let finish: (() => void) | undefined
    const busy = shop.seller.turns.run(
      identity,
      () => new Promise<void>((resolve) => (finish = resolve)),
      () => undefined,
    )
    await open().round()
    expect(calls('evidence')).to.equal(0)
    finish?.()
    await busy
    soon()
    await reconciler?.round()
    expect(await state()).to.equal('settled')
  })

  it('asks ever less often about what stays as it is', async () => {
    await claim('unknown')
    is({ nonce: 'unclear' })
    open()
    for (let round = 0; round < 120; round += 1) {
      await reconciler?.round()
      clock += 5 * SECOND_MS
    }
    // After 5, 10, 20, 40, 80 and then every 120 seconds of 600.
    expect(calls('evidence')).to.equal(9)
  })

  it('has recorded the settlement under way when it has stopped, and begins no other', async () => {
    await claim('unknown')
    is(free())
    const answers: (() => void)[] = []
    const settle = shop.script.settle
    shop.script.settle = async (payload) => {
      await new Promise<void>((resolve) => void answers.push(resolve))
      return settle(payload)
    }
    open()
    while (answers.length === 0) await new Promise((resolve) => void setTimeout(resolve, 5))
    const stopped = reconciler?.stop()
    answers[0]?.()
    await stopped
    expect(await state()).to.equal('settled')
    expect(waiting).to.deep.equal([])
  })
})
