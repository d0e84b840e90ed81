/** The reconciler with a real response log, a scripted chain and facilitator, and a manual clock. */
import { expect } from 'chai'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { paymentIdentity } from '../../../agent/payment/binding.ts'
import type { NonceState } from '../../../agent/settlement/decide.ts'
import { clearDoubts, listDoubts } from '../../../agent/settlement/doubts.ts'
import { NEW_LEASE } from '../../../agent/settlement/recent-attempts.ts'
import { startReconciler } from '../../../agent/settlement/reconciler.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import type { RecordState } from '../../../store/log/states.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { signedPayment, testTerms, type WirePayment } from '../../support/payments.ts'
import { openIdentities, makeRecord, storeRecord } from '../../support/records.ts'
import { codeOf, SaleHarness, TRANSACTION } from '../../support/sale-harness.ts'

const OTHER_TRANSACTION = `0x${'ef'.repeat(32)}`
const SECOND_MS = 1000

describe('the reconciler', () => {
  let sale: SaleHarness
  let payment: WirePayment
  let identity: string
  let reconciler: ReturnType<typeof startReconciler> | undefined
  let clock: number
  /** By how much the clock was set back. The monotonic clock is not. */
  let setBackMs: number
  let waiting: (() => void)[]

  beforeEach(async () => {
    clock = Date.now()
    setBackMs = 0
    waiting = []
    sale = await SaleHarness.open()
    sale.now = () => new Date(clock)
    sale.context.services.monotonic = () => clock + setBackMs
    payment = await signedPayment()
    identity = paymentIdentity(payment as never)
  })
  afterEach(async () => {
    await reconciler?.stop()
    reconciler = undefined
    await sale.close()
  })

  const setClockBack = (milliseconds: number) => {
    clock -= milliseconds
    setBackMs += milliseconds
  }
  const read = async () => sale.context.services.log.read(identity)
  const state = async () => (await read())?.state
  const calls = (name: string) => sale.calls.filter((each) => each === name).length
  const setNonce = (found: NonceState) => void (sale.script.nonceState = async () => found)
  const setNonceState = (find: () => NonceState) => void (sale.script.nonceState = async () => find())
  const free = (): NonceState => ({
    nonce: 'free',
    time: BigInt(Math.ceil(clock / SECOND_MS) + 1),
    finalTime: 0n,
  })
  /** Free in a final block after `validBefore`. */
  const expired = (): NonceState => ({
    nonce: 'free',
    time: BigInt(Math.ceil(clock / SECOND_MS) + 1),
    finalTime: 2n ** 40n,
  })
  const paid = (isFinal: boolean, transaction = TRANSACTION): NonceState => ({
    nonce: 'used',
    transfer: { from: payment.payload.authorization.from, to: testTerms.payTo, value: 1000n, transaction },
    isFinal,
  })

  function open() {
    reconciler = startReconciler({
      services: sale.context.services,
      timer(callback) {
        waiting.push(callback)
        return () => void (waiting = waiting.filter((each) => each !== callback))
      },
      runExclusively: async (key, task) => {
        if (sale.context.paymentMutex.isHeld(key)) return
        using turn = await sale.context.paymentMutex.enter(key)
        if (turn) await task()
      },
    })
    return reconciler
  }

  /** Runs three times, each after all records are due again. That brings every record to a stable state. */
  async function reconcileFully(): Promise<void> {
    const opened = reconciler ?? open()
    for (let run = 0; run < 3; run += 1) {
      await opened.reconcileDue()
      clock += 310 * SECOND_MS
    }
  }

  async function claim(held: RecordState, change: Partial<ResponseRecord> = {}): Promise<void> {
    const updated_at = new Date(clock).toISOString()
    const prepared_at = new Date(clock - 10 * SECOND_MS).toISOString()
    const record = { ...makeRecord({}), identity, payment, prepared_at, updated_at, state: held }
    await storeRecord(sale.context.services.log, { ...record, ...change })
  }

  const passDelay = () => (clock += 13 * SECOND_MS)
  /** The distance of the two observations that end a payment. */
  const passObservations = () => (clock += 60 * SECOND_MS)

  it('[5.7.4] settles an unknown record with a free nonce without a request of the buyer', async () => {
    await claim('unknown')
    setNonce(free())
    await open().reconcileDue()
    expect(await state()).to.equal('settled')
    expect(calls('settle')).to.equal(1)
  })

  for (const status of ['prepared', 'settling'] as const) {
    it(`leaves a recent ${status} record to the process that settles it, also if the clock was set back`, async () => {
      open()
      await reconciler?.reconcileDue()
      setClockBack(3600 * SECOND_MS)
      setNonce(paid(true))
      await claim(status, { lease: NEW_LEASE })
      passDelay()
      await reconciler?.reconcileDue()
      expect(await state()).to.equal(status)
      passDelay()
      await reconciler?.reconcileDue()
      expect(await state()).to.equal('settled')
    })
  }

  it('[5.7.4] confirms a settlement in a final block, with the transaction on chain', async () => {
    await sale.lookup(payment)
    expect(await state()).to.equal('settled')
    setNonce(paid(false, OTHER_TRANSACTION))
    await reconcileFully()
    expect(await state()).to.equal('settled')
    setNonce(paid(true, OTHER_TRANSACTION))
    await reconcileFully()
    const record = await read()
    expect(record?.state).to.equal('confirmed')
    expect(decodePaymentResponseHeader(record?.payment_response ?? '').transaction).to.equal(OTHER_TRANSACTION)
    expect(await openIdentities(sale.context.services.log)).to.deep.equal([])
  })

  for (const [name, seconds] of [
    ['behind', 40 * 24 * 3600],
    ['ahead of', -40 * 24 * 3600],
  ] as const) {
    it(`[5.6.4] dates a confirmation by the later of clock and chain when the clock is ${name} the chain`, async () => {
      await claim('settled', { updated_at: new Date(clock - 80 * 24 * 3600 * SECOND_MS).toISOString() })
      setNonce(paid(true))
      const chainTime = Math.floor(clock / SECOND_MS) + seconds
      sale.script.progress = async () => ({ time: BigInt(chainTime), finalBlock: 0n })
      await open().reconcileDue()
      const record = await read()
      expect(record?.state).to.equal('confirmed')
      expect(Date.parse(record?.updated_at ?? '')).to.equal(Math.max(clock, chainTime * SECOND_MS))
    })
  }

  it('[5.7.4] settles again while the authorization is valid if the chain does not show the settlement', async () => {
    const bought = await sale.lookup(payment)
    passDelay()
    setNonce(free())
    await open().reconcileDue()
    expect(calls('settle')).to.equal(1)
    passObservations()
    setNonce(free())
    await reconciler?.reconcileDue()
    expect(calls('settle')).to.equal(2)
    // The facilitator has reported a settlement that is not on chain, so its next report does not count.
    expect(await state()).to.equal('unknown')
    setNonce(paid(false))
    clock += 2 * SECOND_MS
    expect(await sale.lookup(payment)).to.deep.equal(bought)
  })

  it('[5.7.5] takes back an answer at once whose transaction has failed, until its transfer is on chain', async () => {
    const bought = await sale.lookup(payment)
    expect(calls('hasFailed')).to.equal(0)
    passDelay()
    setNonce(free())
    const failed: string[] = []
    sale.script.hasFailed = async (transaction) => failed.push(transaction) > 0
    await open().reconcileDue()
    expect([await state(), calls('settle'), failed[0]]).to.deep.equal(['unknown', 2, TRANSACTION])
    expect(await listDoubts(sale.context.services.log)).to.deep.equal([{ facilitator: 'sandbox', identity }])
    clock += 2 * SECOND_MS
    expect(codeOf(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
    setNonce(paid(false))
    clock += 2 * SECOND_MS
    expect(await sale.lookup(payment)).to.deep.equal(bought)
  })

  it('[5.7.5] keeps an answer whose transaction has failed if another one has made the transfer', async () => {
    await sale.lookup(payment)
    passDelay()
    sale.script.hasFailed = async () => true
    setNonce(paid(false, OTHER_TRANSACTION))
    await open().reconcileDue()
    expect([await state(), calls('hasFailed')]).to.deep.equal(['settled', 0])
  })

  /** Without what sales observe, as after a restart. */
  describe('[5.7.3] of a facilitator that reports settlements which it does not make', () => {
    /** Sells every four seconds, with runs in between as of a service. Returns when the sales were answered. */
    async function sellFor(seconds: number, onSale: (sold: WirePayment) => void = () => undefined): Promise<number[]> {
      const start = clock
      const answered: number[] = []
      for (; clock - start < seconds * SECOND_MS; clock += 2 * SECOND_MS) {
        if ((clock - start) % (10 * SECOND_MS) === 0) await reconciler?.reconcileDue()
        if ((clock - start) % (4 * SECOND_MS) !== 0) continue
        const next = await signedPayment({ authorization: { validBefore: String(Math.floor(clock / 1000) + 300) } })
        onSale(next)
        if ((await sale.lookup(next)).kind === 'answer') answered.push((clock - start) / SECOND_MS)
      }
      return answered
    }

    it('answers are given until the first one is found missing, after 80 seconds, and no more afterwards', async () => {
      setNonceState(free)
      open()
      const answered = await sellFor(160)
      expect(answered.at(-1)).to.be.at.most(80)
      expect(answered).to.have.length.at.most(21)
      expect(await listDoubts(sale.context.services.log)).to.have.length.at.least(1)
      // The other processes read the doubts as well.
      await sale.restart()
      expect((await sale.lookup(await signedPayment())).kind).to.equal('refused')
    })

    it('waits for the chain until the missing payments are there, and for ever after one that is void', async () => {
      const { log, doubts } = sale.context.services
      await sale.lookup(payment)
      await doubts.note({ identity })
      expect((await sale.lookup(await signedPayment())).kind).to.equal('refused')
      await doubts.review()
      expect((await sale.lookup(await signedPayment())).kind).to.equal('answer')
      const expiredRecord = makeRecord({ state: 'expired' })
      await storeRecord(log, expiredRecord)
      await doubts.note(expiredRecord)
      await doubts.review()
      clock += 10 * SECOND_MS
      expect((await sale.lookup(await signedPayment())).kind).to.equal('refused')
      await clearDoubts(log, 'sandbox')
      clock += 10 * SECOND_MS
      expect((await sale.lookup(await signedPayment())).kind).to.equal('answer')
    })
  })

  const ENDS: [state: RecordState, found: () => NonceState, after: RecordState][] = [
    ['settled', free, 'unknown'],
    ['unknown', expired, 'expired'],
    ['unknown', () => ({ nonce: 'cancelled', isFinal: true }), 'rejected'],
    ['refused', () => ({ nonce: 'cancelled', isFinal: true }), 'rejected'],
  ]
  for (const [before, denying, after] of ENDS) {
    describe(`a ${before} payment that becomes ${after}`, () => {
      beforeEach(async () => {
        await claim(before)
        passDelay()
        setNonce(denying())
        sale.script.settle = () => Promise.reject(new Error('no reply'))
        await open().reconcileDue()
        expect(await state()).to.equal(before)
      })

      const readAgain = async () => {
        setNonce(denying())
        await reconciler?.reconcileDue()
        return (await state()) === after
      }

      it('[5.7.5] needs a second observation a minute later', async () => {
        clock += 59 * SECOND_MS
        expect(await readAgain()).to.equal(false)
        clock += 61 * SECOND_MS
        expect(await readAgain()).to.equal(true)
      })

      it('[5.7.5] needs a second observation with a later final block and block time', async () => {
        const { progress } = sale.script
        const first = { time: BigInt(clock) / 1000n, finalBlock: BigInt(clock) / 1000n }
        passObservations()
        for (const stuck of [{ time: first.time }, { time: first.time + 59n }, { finalBlock: first.finalBlock }]) {
          sale.script.progress = async () => ({ ...(await progress()), ...stuck })
          expect(await readAgain()).to.equal(false)
          clock += 300 * SECOND_MS
        }
        sale.script.progress = progress
        expect(await readAgain()).to.equal(true)
      })

      it('[5.7.5] starts again after an observation that shows the transfer, or after the clock was set back', async () => {
        passObservations()
        setClockBack(120 * SECOND_MS)
        expect(await readAgain()).to.equal(false)
        if (before === 'settled') {
          setNonce(paid(false))
          passObservations()
          await reconciler?.reconcileDue()
          clock += 130 * SECOND_MS
          expect(await readAgain()).to.equal(false)
        }
        clock += 130 * SECOND_MS
        expect(await readAgain()).to.equal(true)
      })

      it('[5.7.5] does not end without the progress of the chain', async () => {
        passObservations()
        sale.script.progress = () => Promise.reject(new Error('no node'))
        expect(await readAgain()).to.equal(false)
      })
    })
  }

  /** Gives the service two nodes, each of which shows its own state of the nonce. */
  function useNodes(...shown: [() => NonceState, () => NonceState]): void {
    const { services } = sale.context
    const { chain } = services
    const ask = (node: number) => setNonce((shown[node] as () => NonceState)())
    sale.context.services = {
      ...services,
      chain: {
        ...chain,
        nodeCount: 2,
        async observe(observed, options = {}) {
          const node = options.node ?? (options.otherThan?.node === 0 ? 1 : 0)
          ask(node)
          return { ...(await chain.observe(observed, options)), node }
        },
        async findUse(query, observation) {
          ask(observation.node)
          return chain.findUse(query, observation)
        },
      },
    }
  }

  for (const [before, denying, after] of ENDS)
    for (const [name, nodes] of [
      ['first', [denying, () => paid(false)]],
      ['second', [() => paid(false), denying]],
    ] as const)
      it(`[5.7.5] never makes a ${before} payment ${after} if only the ${name} of two nodes shows that`, async () => {
        await claim(before)
        passDelay()
        useNodes(nodes[0], nodes[1])
        sale.script.settle = () => Promise.reject(new Error('no reply'))
        open()
        for (let run = 0; run < 6; run += 1) {
          await reconciler?.reconcileDue()
          expect(await state()).to.be.oneOf([before, 'settled'])
          clock += 150 * SECOND_MS
        }
        expect(await state()).to.equal('settled')
      })

  for (const ahead of ['time', 'finalBlock'] as const)
    it(`[5.7.5] replaces the first observation after a minute if the ${ahead} of the chain is lower`, async () => {
      const { progress } = sale.script
      sale.script.progress = async () => {
        const actual = await progress()
        return { ...actual, [ahead]: actual[ahead] + 1_000_000n }
      }
      await claim('unknown')
      setNonce({ nonce: 'cancelled', isFinal: true })
      await open().reconcileDue()
      sale.script.progress = progress
      passObservations()
      await reconciler?.reconcileDue()
      expect(await state()).to.equal('unknown')
      passObservations()
      await reconciler?.reconcileDue()
      expect(await state()).to.equal('rejected')
    })

  it('changes nothing without an answer of the chain', async () => {
    await claim('unknown')
    for (const nonceState of [
      () => Promise.reject(new Error('no node')),
      async () => ({ nonce: 'unclear' }) as const,
    ]) {
      sale.script.nonceState = nonceState
      await reconcileFully()
      clock += 365 * 24 * 3600 * SECOND_MS
      await reconcileFully()
    }
    expect(await state()).to.equal('unknown')
    expect(calls('settle')).to.equal(0)
  })

  it('reports a corrupt record and reconciles the others', async () => {
    await claim('unknown')
    const { log } = sale.context.services
    await log.claim(makeRecord({ identity: 'a-damaged-one', state: 'unknown' }))
    const damaged: typeof log.read = async (key) => {
      if (key === 'a-damaged-one') throw new Error('damaged')
      return log.read(key)
    }
    sale.context.services = { ...sale.context.services, log: replaceMethods(log, { read: damaged }) }
    setNonce(paid(true))
    await open().reconcileDue()
    expect(await state()).to.equal('settled')
    expect(sale.reports).to.include('record_not_reconciled')
    expect(reconciler?.hasDamaged()).to.equal(true)
  })

  it('shows that the open records cannot be read, until they can', async () => {
    const { log } = sale.context.services
    const list = log.list.bind(log)
    log.list = () => Promise.reject(new Error('down'))
    await open().reconcileDue()
    expect(reconciler?.hasDamaged()).to.equal(true)
    log.list = list
    await reconciler?.reconcileDue()
    expect(reconciler?.hasDamaged()).to.equal(false)
  })

  it('does not call a payment unexplained that the token has reverted, because its buyer can cause that', async () => {
    await claim('unknown', { attempt: 3, reverts: 2 })
    setNonce(free())
    await open().reconcileDue()
    expect(reconciler?.hasUnexplained()).to.equal(false)
  })

  it('reconciles the others if one payment of an observation cannot be observed', async () => {
    const nonce = `0x${'5'.repeat(64)}`
    await claim('unknown')
    const { log, chain } = sale.context.services
    await log.claim(makeRecord({ identity: 'not-observed', payment_hash: 'other', nonce, state: 'unknown' }))
    const observe: typeof chain.observe = async (payments, options) => {
      if (payments.some((each) => each.nonce === nonce)) throw new Error('no block')
      return chain.observe(payments, options)
    }
    sale.context.services = { ...sale.context.services, chain: replaceMethods(chain, { observe }) }
    setNonce(paid(true))
    await open().reconcileDue()
    expect(await state()).to.equal('settled')
    expect(reconciler?.hasDamaged()).to.equal(false)
  })

  it('skips a payment that a request has locked', async () => {
    await claim('unknown')
    setNonce(free())
    const key = (await sale.context.services.log.read(identity))?.payment_hash ?? ''
    const turn = await sale.context.paymentMutex.enter(key)
    await open().reconcileDue()
    expect(await state()).to.equal('unknown')
    expect(calls('settle')).to.equal(0)
    turn?.[Symbol.dispose]()
    passDelay()
    await reconciler?.reconcileDue()
    expect(await state()).to.equal('settled')
  })

  it('goes on when the clock is set back', async () => {
    await claim('unknown')
    setNonce({ nonce: 'unclear' })
    await open().reconcileDue()
    setClockBack(30 * 60 * SECOND_MS)
    passDelay()
    setNonce(paid(true))
    await reconciler?.reconcileDue()
    expect(await state()).to.equal('settled')
  })

  const observedAfter = async () => {
    await claim('unknown')
    setNonce({ nonce: 'unclear' })
    open()
    const start = clock
    const seconds: number[] = []
    for (let run = 0; run < 120; run += 1) {
      const before = calls('nonceState')
      await reconciler?.reconcileDue()
      if (calls('nonceState') > before) seconds.push((clock - start) / SECOND_MS)
      clock += 5 * SECOND_MS
    }
    return seconds
  }

  // The record is ten seconds older.
  it('observes a record again after half its age, at least ten seconds and at most two minutes, and at its end', async () => {
    expect(await observedAfter()).to.deep.equal([0, 10, 20, 35, 60, 95, 150, 230, 300, 420, 540])
  })

  it('observes a hundred records a second at most, so each of many records later', async () => {
    const count = async () => new Map([['settled', 30_000]] as const)
    const { log } = sale.context.services
    sale.context.services = { ...sale.context.services, log: replaceMethods(log, { count }) }
    expect(await observedAfter()).to.deep.equal([0, 10, 20, 35, 60, 95, 150, 230, 300, 455])
  })

  it('does not observe a settled payment again until its block can be final', async () => {
    await claim('settled')
    setNonce(paid(false))
    sale.script.progress = async () => ({ time: BigInt(Math.floor(clock / SECOND_MS) - 900), finalBlock: 1n })
    const opened = open()
    await opened.reconcileDue()
    const before = calls('nonceState')
    clock += 30 * SECOND_MS
    await opened.reconcileDue()
    expect(calls('nonceState')).to.equal(before)
  })

  it('waits at a stop for the current settlement and starts no other', async () => {
    await claim('unknown')
    setNonce(free())
    const releases: (() => void)[] = []
    const settle = sale.script.settle
    sale.script.settle = async (payload) => {
      await new Promise<void>((resolve) => void releases.push(resolve))
      return settle(payload)
    }
    open()
    while (releases.length === 0) await new Promise((resolve) => void setTimeout(resolve, 5))
    const stopped = reconciler?.stop()
    releases[0]?.()
    await stopped
    expect(await state()).to.equal('settled')
    expect(waiting).to.deep.equal([])
  })
})
