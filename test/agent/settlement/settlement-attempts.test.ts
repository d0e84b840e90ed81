/** When an unknown payment is settled again, and which retries read the chain. */
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { paymentIdentity } from '../../../agent/payment/binding.ts'
import { TRANSFER_REVERTED } from '../../../agent/settlement/facilitator/facilitator.ts'
import { reconcile } from '../../../agent/settlement/reconcile.ts'
import { renderOutcome } from '../../../agent/transport/http/response.ts'
import { signedPayment, type WirePayment } from '../../support/payments.ts'
import { codeOf, settledReply, TRANSACTION, useSale } from '../../support/sale-harness.ts'
import { priceOf } from '../../support/operations.ts'

const UNKNOWN = 'payment_outcome_unknown'
/** Seconds from the start of a settlement to the next one. The last value holds for all later ones. */
const SCHEDULE_SECONDS = [5, 10, 20, 30, 30] as const

describe('the settlements of an unknown payment', () => {
  const sale = useSale()

  describe('of a buyer who retries', () => {
    let payment: WirePayment
    let record: { identity: string }
    let start: number

    beforeEach(async () => {
      start = Date.now()
      sale.now = () => new Date(start)
      sale.script.settle = () => Promise.reject(new Error('time-out'))
      payment = await signedPayment()
      record = { identity: paymentIdentity(payment as never) }
      expect(codeOf(await sale.lookup(payment))).to.equal(UNKNOWN)
      sale.calls.length = 0
    })

    const setTime = (milliseconds: number) => (sale.now = () => new Date(start + milliseconds))
    const stored = async () => (await sale.context.services.log.read(record.identity)) ?? expect.fail('no record')

    it('[5.7.11] wait 5, 10, 20 and then 30 seconds, also after a restart and for the reconciler', async () => {
      let time = 0
      for (const [index, seconds] of SCHEDULE_SECONDS.entries()) {
        for (const [milliseconds, settlements] of [
          [time + seconds * 1000 - 1, index],
          [time + seconds * 1000, index + 1],
        ] as const) {
          await sale.restart()
          setTime(milliseconds)
          if (index % 2 === 0) await sale.lookup(payment)
          else await reconcile(sale.context.services, await stored(), { cause: 'reconciler' })
          expect(sale.count('settle'), `at ${milliseconds} ms`).to.equal(settlements)
        }
        time += seconds * 1000
      }
    })

    it('[5.7.11] wait up to ten minutes from six minutes on, and only the buyer makes them', async () => {
      payment = await signedPayment({ authorization: { validBefore: String(Math.floor(start / 1000) + 3_600) } })
      record = { identity: paymentIdentity(payment as never) }
      await sale.lookup(payment)
      sale.calls.length = 0
      let last = 0
      const times: number[] = []
      for (let seconds = 30; seconds < 3_600; seconds += 30) {
        await sale.restart()
        setTime(seconds * 1000)
        await reconcile(sale.context.services, await stored(), { cause: 'reconciler' })
        if (seconds >= 360) {
          expect(sale.count('settle'), `by the reconciler after ${seconds} s`).to.equal(last)
          setTime((seconds + 2) * 1000)
          await sale.lookup(payment)
        }
        if (sale.count('settle') > last) times.push(seconds)
        last = sale.count('settle')
      }
      expect(times.filter((seconds) => seconds < 360)).to.deep.equal([
        30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 330,
      ])
      expect(times.filter((seconds) => seconds >= 360)).to.deep.equal([930, 1530, 2130, 2730, 3330])
    })

    for (const [name, milliseconds, settlements] of [
      ['4.999 s behind', -4_999, 0],
      ['5 s behind', -5_000, 1],
    ] as const) {
      it(`[5.7.11] are ${settlements} more by a clock that is ${name} that of the last one`, async () => {
        await sale.restart()
        setTime(milliseconds)
        await sale.lookup(payment)
        expect(sale.count('settle')).to.equal(settlements)
      })
    }

    it('[5.7.3] are no answer without the transfer if a success names a transaction that failed', async () => {
      sale.script.settle = async (payload) => settledReply(payload)
      sale.script.hasFailed = async (transaction) => transaction === TRANSACTION
      setTime(6_000)
      expect(codeOf(await sale.lookup(payment))).to.equal(UNKNOWN)
      expect([sale.count('settle'), sale.count('hasFailed')]).to.deep.equal([1, 1])
      sale.script.hasFailed = () => Promise.reject(new Error('no node'))
      setTime(16_000)
      expect(codeOf(await sale.lookup(payment))).to.equal('answer')
    })

    it('[5.7.6] are two if each one reverts, also after a restart', async () => {
      sale.script.settle = async (payload) => ({
        ...settledReply(payload),
        success: false,
        errorReason: TRANSFER_REVERTED,
      })
      for (const seconds of [5, 15, 45, 75]) {
        setTime(seconds * 1000)
        expect(codeOf(await sale.lookup(payment))).to.equal(UNKNOWN)
        await sale.restart()
      }
      expect(sale.count('settle')).to.equal(2)
      expect(await stored()).to.include({ reverts: 2, attempt: 3, state: 'unknown' })
    })
  })

  describe('whose success arrives late', () => {
    const END = 16
    const reply = async (milliseconds: number, isOnChain = false) => {
      const start = Math.floor(Date.now() / 1000) * 1000
      sale.now = () => new Date(start)
      sale.script.settle = async (payload) => {
        sale.now = () => new Date(start + END * 1000 + milliseconds)
        return settledReply(payload)
      }
      const payment = await signedPayment({ authorization: { validBefore: String(start / 1000 + END) } })
      const { from, to, value } = payment.payload.authorization
      const transfer = { from, to, value: BigInt(value), transaction: TRANSACTION }
      if (isOnChain) sale.script.nonceState = async () => ({ nonce: 'used', transfer, isFinal: false })
      return { payment, outcome: codeOf(await sale.lookup(payment)) }
    }

    it('[5.7.3] is an answer before `validBefore` without another observation', async () => {
      sale.script.nonceState = () => Promise.reject(new Error('not needed'))
      expect((await reply(-1)).outcome).to.equal('answer')
      expect(sale.count('nonceState')).to.equal(0)
    })

    it('[5.7.3] is no answer from `validBefore` on while the chain has no transfer', async () => {
      for (const milliseconds of [0, 500]) {
        const { payment, outcome } = await reply(milliseconds)
        expect(outcome).to.equal(UNKNOWN)
        expect(codeOf(await sale.lookup(payment))).to.equal(UNKNOWN)
      }
    })

    it('[5.7.3] is an answer from `validBefore` on if the chain has the transfer', async () => {
      expect((await reply(500, true)).outcome).to.equal('answer')
      expect(sale.count('nonceState')).to.equal(1)
    })
  })

  describe('and the observations of the chain for its retries', () => {
    let payment: WirePayment
    let start: number
    let clients = 0

    beforeEach(async () => {
      start = Date.now()
      sale.now = () => new Date(start)
      sale.script.settle = () => Promise.reject(new Error('time-out'))
      sale.script.nonceState = async () => ({ nonce: 'unclear' })
      payment = await signedPayment()
      await sale.lookup(payment)
      sale.calls.length = 0
    })

    const retry = async () => {
      // Another client each time, because the retries of one are limited by themselves (contract 6.2.3).
      clients += 1
      sale.client = `192.0.2.${clients}`
      const outcome = await sale.lookup(payment)
      return [codeOf(outcome), renderOutcome(outcome).headers['Retry-After']]
    }

    it('[5.7.9] are one for all retries within two seconds, and Retry-After says when the next one is', async () => {
      const outcomes = await Promise.all(Array.from({ length: 4 }, retry))
      expect(outcomes[0]).to.deep.equal([UNKNOWN, '5'])
      expect(outcomes.slice(1)).to.deep.equal(Array.from({ length: 3 }, () => [UNKNOWN, '2']))
      expect(sale.calls).to.deep.equal(['nonceState'])
      for (const [milliseconds, retryAfter, observations] of [
        [999, '2', 1],
        [1_000, '1', 1],
        [1_999, '1', 1],
        [2_000, '5', 2],
        [2_001, '2', 2],
      ] as const) {
        sale.now = () => new Date(start + milliseconds)
        expect(await retry(), `after ${milliseconds} ms`).to.deep.equal([UNKNOWN, retryAfter])
        expect(sale.count('nonceState')).to.equal(observations)
      }
    })

    describe('that find the transfer', () => {
      beforeEach(() => {
        const { from, to } = payment.payload.authorization
        const transfer = { from, to, value: BigInt(priceOf('lookup')), transaction: TRANSACTION }
        sale.script.nonceState = () => setTimeout(50, { nonce: 'used', transfer, isFinal: false })
      })

      it('[5.7.9] answer all retries that wait for the same one', async () => {
        const outcomes = await Promise.all([retry(), retry()])
        expect(outcomes.map(([code]) => code)).to.deep.equal(['answer', 'answer'])
        expect(sale.calls).to.deep.equal(['nonceState'])
      })

      it('[5.7.9] include those of the reconciler, whose result a retry gets without another one', async () => {
        const record = await sale.context.services.log.read(paymentIdentity(payment as never))
        await reconcile(sale.context.services, record ?? expect.fail('no record'), { cause: 'reconciler' })
        expect(codeOf(await sale.lookup(payment))).to.equal('answer')
        expect(sale.calls).to.deep.equal(['nonceState'])
      })
    })
  })
})
