/** A sale under faults: replies of facilitator and chain, crashes, failing writes, and the answer to a retry. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import type { Timer } from '../../../base/runtime.ts'
import { renderOutcome } from '../../../agent/transport/http/response.ts'
import { perform } from '../../../agent/sale/perform.ts'
import { KeyedMutex } from '../../../agent/sale/limits/keyed-mutex.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import type { NonceState } from '../../../agent/settlement/decide.ts'
import { paymentIdentity } from '../../../agent/payment/binding.ts'
import { parsePaymentHeaders } from '../../../agent/payment/headers.ts'
import { DiskSpaceError } from '../../../store/files/disk-space.ts'
import { LostFileError } from '../../../store/files/environment.ts'
import { ReplyError } from '../../../agent/settlement/rpc/post-json.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { FORGERIES } from '../../bench/load/forgeries.ts'
import { header, signedPayment, testTerms, type WirePayment } from '../../support/payments.ts'
import { openIdentities, makeRecord } from '../../support/records.ts'
import { registerRow, toCsv } from '../../support/register.ts'
import { makeClient } from '../../support/clients.ts'
import { settledReply, type SaleHarness, TRANSACTION, useSale, summarize } from '../../support/sale-harness.ts'
import { pausesOnly } from '../../support/timers.ts'
import { lookup } from '../../../agent/operation/lookup.ts'
import { listUnrecorded } from '../../../store/log/unrecorded.ts'

type Settle = SaleHarness['script']['settle']
type ResponseLog = SaleHarness['context']['services']['log']

const used = (payment: WirePayment): NonceState => ({
  nonce: 'used',
  transfer: {
    from: payment.payload.authorization.from,
    to: testTerms.payTo,
    value: 1000n,
    transaction: TRANSACTION,
  },
  isFinal: true,
})
const nonceState = (value: NonceState) => () => value
const free = nonceState({ nonce: 'free', time: 0n, finalTime: 0n })

const LOOKUP = { definition: lookup, input: { company_number: '00000000' } }

const UNKNOWN = 'payment_outcome_unknown'
/** Enough for the second settlement of a payment, and for another observation of the chain. */
const SECONDS_APART = 5
const timeOut = () => Promise.reject(new Error('time-out'))
const broken = () => Promise.reject(new Error('disk full'))
const succeed: Settle = async (payload) => settledReply(payload)
/** A settlement that is refused for this reason. */
const failed = (errorReason: string) => async () => ({
  success: false,
  transaction: '',
  network: testTerms.network,
  errorReason,
})

describe('a sale', () => {
  const sale = useSale()
  let payment: WirePayment

  beforeEach(async () => {
    payment = await signedPayment()
  })

  const stateOf = async () => (await sale.context.services.log.read(identityOf(payment)))?.state
  const passSeconds = (seconds: number) => sale.pass(seconds * 1000)
  /** Replaces methods of the response log. Returns a function that restores them. */
  function breakLog(methods: Partial<ResponseLog>): () => void {
    const { log } = sale.context.services
    sale.context.services = { ...sale.context.services, log: replaceMethods(log, methods) }
    return () => (sale.context.services = { ...sale.context.services, log })
  }

  /** Looks up the company in another process on the same store. */
  const lookupElsewhere = () =>
    perform(
      { ...sale.context, paymentMutex: new KeyedMutex() },
      {
        operation: LOOKUP,
        paymentHeaders: [header(payment)],
        resourceUrl: 'http://127.0.0.1:4021/',
        client: makeClient(sale.client, sale.budgets),
      },
    )

  /** Lets the clock pass with each pause. Returns a function with the pauses until then, in milliseconds. */
  function letPausesPass(): () => readonly number[] {
    const pauses: number[] = []
    const timer: Timer = (callback, milliseconds) => {
      if (milliseconds > 2_000) return () => undefined
      pauses.push(milliseconds)
      passSeconds(milliseconds / 1000)
      return pausesOnly(callback, milliseconds)
    }
    sale.context.services = { ...sale.context.services, timer }
    return () => pauses
  }

  /** Makes the writes of this state fail. Returns a function that ends the failure. */
  function failWrites(state: string): () => void {
    const { log } = sale.context.services
    return breakLog({ advance: (from, change) => (change.state === state ? broken() : log.advance(from, change)) })
  }

  it('[6.1.1] calls no node and no facilitator for a payment with wrong form or terms', async () => {
    for (const [name, forged] of Object.entries(FORGERIES)) {
      expect(summarize(await sale.perform(LOOKUP, [forged])), name).to.match(/^payment_invalid /)
      expect(sale.calls, name).to.deep.equal([])
    }
  })

  it('[5.6.1, 6.1.1] is replayed after price and receiver have changed', async () => {
    expect(summarize(await sale.lookup(payment))).to.equal('answer')
    sale.context.terms = { ...sale.context.terms, payTo: `0x${'d4'.repeat(20)}` }
    const dearer = { ...LOOKUP, definition: { ...lookup, prices: { mainnet: 50_000, testnet: 5_000 } } }
    expect(summarize(await sale.perform(dearer, [header(payment)]))).to.equal('answer')
    expect(sale.count('settle')).to.equal(1)
    expect(summarize(await sale.perform(dearer, [header(await signedPayment())]))).to.match(/^payment_invalid /)
  })

  it('asks the chain and the facilitator at once, then settles', async () => {
    const verification = sale.block('verify')
    sale.script.observe = async () => {
      await verification.arrived(1)
      verification.release()
      return {}
    }
    expect(summarize(await sale.lookup(payment))).to.equal('answer')
    expect(sale.calls).to.have.length(3)
    expect(sale.calls.at(-1)).to.equal('settle')
    expect(await stateOf()).to.equal('settled')
  })

  it('[5.7.1] accepts a transaction hash without 0x, and stores it with 0x in lower case', async () => {
    const transaction = TRANSACTION.slice(2).toUpperCase()
    sale.script.settle = async (payload) => ({ ...settledReply(payload), transaction })
    const bought = await sale.lookup(payment)
    const receipt = bought.kind === 'answer' ? decodePaymentResponseHeader(bought.paymentResponse) : undefined
    expect(receipt?.transaction).to.equal(TRANSACTION)
  })

  it('[5.4.2] treats the same payload with reordered members as the same payment', async () => {
    const bought = await sale.lookup(payment)
    const { x402Version, ...rest } = payment
    expect(await sale.lookup({ ...rest, x402Version })).to.deep.equal(bought)
  })

  it('[5.4.3] refuses another payload with the same nonce', async () => {
    await sale.lookup(payment)
    const { nonce, validBefore } = payment.payload.authorization
    const others = [
      await signedPayment({ authorization: { nonce, validBefore: String(Number(validBefore) - 1) } }),
      await signedPayment({ authorization: { nonce: nonce.toUpperCase().replace('0X', '0x'), validBefore } }),
      { ...payment, extensions: {} },
    ]
    for (const other of others) expect(summarize(await sale.lookup(other))).to.equal('payment_replay_conflict')
    expect(sale.count('settle')).to.equal(1)
  })

  describe('without an explicit success of the settlement', () => {
    it('[5.7.2] is unknown when the facilitator throws', async () => {
      sale.script.settle = () => Promise.reject(new Error('ECONNRESET 0xsecret'))
      const outcome = await sale.lookup(payment)
      expect(summarize(outcome)).to.equal('payment_outcome_unknown')
      expect(Number(renderOutcome(outcome).headers['Retry-After'])).to.be.greaterThan(0)
      expect(await stateOf()).to.equal('unknown')
      expect(JSON.stringify(sale.reports)).to.not.contain('secret')
    })

    for (const [read, expected] of [
      [1, 'answer'],
      [6, 'answer'],
      [7, UNKNOWN],
    ] as const) {
      it(`[5.7.7] is ${expected} when read ${read} of the chain shows the transfer`, async () => {
        sale.script.settle = timeOut
        sale.script.nonceState = async () => (sale.count('nonceState') < read ? free() : used(payment))
        expect(summarize(await sale.lookup(payment))).to.equal(expected)
        expect(sale.count('nonceState')).to.equal(Math.min(read, 6))
      })
    }

    it('[5.7.7] ends the wait after ten seconds', async () => {
      const hanging: (() => void)[] = []
      sale.context.services.timer = (callback, milliseconds) => {
        if (milliseconds === 10_000) hanging.push(callback)
        return pausesOnly(callback, milliseconds)
      }
      sale.script.settle = timeOut
      sale.script.nonceState = () => {
        hanging[0]?.()
        return new Promise(() => undefined)
      }
      expect(summarize(await sale.lookup(payment))).to.equal(UNKNOWN)
      expect(sale.count('nonceState')).to.equal(1)
      expect(await stateOf()).to.equal('unknown')
    })

    it('[5.7.7] keeps the record as it is while it reads, and a concurrent retry waits for the result', async () => {
      const seen: (string | undefined)[] = []
      const retries: Promise<Outcome>[] = []
      sale.script.settle = timeOut
      sale.script.nonceState = async () => {
        seen.push(await stateOf())
        if (retries.length < 3) retries.push(sale.lookup(payment))
        return seen.length < 3 ? free() : used(payment)
      }
      const bought = await sale.lookup(payment)
      expect(summarize(bought)).to.equal('answer')
      expect([...new Set(seen)]).to.deep.equal(['prepared'])
      for (const retry of retries) expect(await retry).to.deep.equal(bought)
      expect(sale.count('settle')).to.equal(1)
    })

    const cancelled = nonceState({ nonce: 'cancelled', isFinal: true })
    const expiredNow = (): NonceState => ({
      nonce: 'free',
      time: BigInt(Math.floor(sale.now().getTime() / 1000)),
      finalTime: 2n ** 64n,
    })
    for (const [end, found, reason] of [
      ['rejected', cancelled, 'settlement_refused'],
      ['expired', expiredNow, 'authorization_expired'],
    ] as const) {
      describe(`with a record that is ${end}`, () => {
        beforeEach(async () => {
          const clock = Date.now()
          sale.now = () => new Date(clock)
          sale.script.settle = timeOut
          await sale.lookup(payment)
          sale.script.nonceState = async () => found()
          for (let observation = 0; observation < 2; observation += 1) {
            await sale.lookup(payment)
            passSeconds(60)
          }
          expect(await stateOf()).to.equal(end)
        })

        it('[5.7.9] delivers when a later observation of the chain finds the transfer', async () => {
          sale.script.nonceState = async () => used(payment)
          expect(summarize(await sale.lookup(payment))).to.equal('answer')
          expect(await stateOf()).to.equal('settled')
          expect(await openIdentities(sale.context.services.log)).to.deep.equal([identityOf(payment)])
          expect(sale.reports).to.include('denied_settlement_found')
          await sale.restart()
          expect(summarize(await sale.lookup(payment))).to.equal('answer')
        })

        it('[5.7.9] reads the chain again after a minute, and not before', async () => {
          for (const [seconds, looks] of [
            [0, 1],
            [59, 0],
            [1, 1],
          ] as const) {
            passSeconds(seconds)
            sale.calls.length = 0
            expect(summarize(await sale.lookup(payment))).to.equal(`payment_failed ${reason}`)
            expect(sale.count('nonceState'), String(seconds)).to.equal(looks)
          }
        })
      })
    }
  })

  describe('with a refused settlement', () => {
    const refuse = failed('invalid_exact_evm_insufficient_balance')

    it('[7.10] has a receipt with the reason, which is the same after a restart and names nothing of the facilitator', async () => {
      sale.script.settle = failed('insufficient_funds')
      const refusal = await sale.lookup(payment)
      if (refusal.kind !== 'refused') throw new Error('The payment was settled')
      expect(decodePaymentResponseHeader(refusal.paymentResponse ?? '')).to.deep.equal({
        success: false,
        errorReason: 'settlement_refused',
        transaction: '',
        network: testTerms.network,
        payer: payment.payload.authorization.from,
      })
      const { headers } = renderOutcome(refusal)
      expect(headers).to.have.property('PAYMENT-RESPONSE', refusal.paymentResponse)
      expect(headers).to.have.property('PAYMENT-REQUIRED')
      await sale.restart()
      expect(await sale.lookup(payment)).to.deep.equal(refusal)
    })

    it('[7.10] has no receipt if no settlement was tried', async () => {
      sale.script.verify = async () => ({ isValid: false, invalidReason: 'insufficient_funds' })
      expect(await sale.lookup(payment)).to.not.have.property('paymentResponse')
      expect(await sale.lookup()).to.not.have.property('paymentResponse')
    })

    it('[5.7.15] is remembered until a newer block shows the nonce free, and is not settled again', async () => {
      sale.script.settle = refuse
      sale.script.nonceState = async () => free()
      expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(await stateOf()).to.equal('unknown')
      passSeconds(30)
      expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
      sale.script.nonceState = async () =>
        ({ ...free(), time: BigInt(Math.ceil(sale.now().getTime() / 1000)) }) as NonceState
      passSeconds(30)
      expect(summarize(await sale.lookup(payment))).to.equal('payment_failed settlement_refused')
      expect(sale.count('settle')).to.equal(1)
    })
  })

  it('[6.2.3] costs the budget of the address if the chain contradicts a refusal, unlike no answer', async () => {
    sale.budgetOf(20)
    sale.script.observe = async () => ({ trial: 'made' })
    sale.script.verify = () => Promise.reject(new ReplyError('UNREACHABLE'))
    for (let times = 0; times < 10; times += 1)
      expect(summarize(await sale.lookup(await signedPayment()))).to.equal('payment_verification_unavailable')
    sale.script.verify = async () => ({ isValid: false, invalidReason: 'unexpected_verify_error' })
    const codes: string[] = []
    for (let times = 0; times < 3; times += 1) codes.push(summarize(await sale.lookup(await signedPayment())))
    expect(codes).to.deep.equal([
      'payment_verification_unavailable',
      'payment_verification_unavailable',
      'rate_limited',
    ])
  })

  describe('without a successful verification', () => {
    const REJECTED = 'payment_rejected'
    const UNAVAILABLE = 'payment_verification_unavailable'
    const reply = (value: object) => async () => value
    const refusal = (invalidReason: string) => reply({ isValid: false, invalidReason })
    const VERIFICATIONS: [name: string, verify: SaleHarness['script']['verify'], summary: string][] = [
      ['returns an invalid reply', reply({ ok: true }), UNAVAILABLE],
      ['names another payer', reply({ isValid: true, payer: testTerms.payTo }), UNAVAILABLE],
      [
        'reports insufficient funds',
        refusal('invalid_exact_evm_insufficient_balance'),
        `${REJECTED} insufficient_funds`,
      ],
      ['reports a used nonce that is free on chain', refusal('invalid_exact_evm_nonce_already_used'), UNAVAILABLE],
      ['has an unknown reason', refusal('<b>__proto__'), `${REJECTED} verification_refused`],
    ]
    for (const [name, verify, summary] of VERIFICATIONS) {
      it(`is refused and leaves no record when the facilitator ${name}`, async () => {
        sale.script.verify = verify
        expect(summarize(await sale.lookup(payment))).to.equal(summary)
        expect(await stateOf()).to.equal(undefined)
        expect(sale.count('settle')).to.equal(0)
        sale.script.verify = async () => ({ isValid: true, payer: payment.payload.authorization.from })
        expect(summarize(await sale.lookup(payment))).to.equal('answer')
      })
    }

    it('[5.7.10] gets 503 clock_wrong while the local clock is wrong, and is replayed nevertheless', async () => {
      const paid = await signedPayment()
      const bought = await sale.lookup(paid)
      const { chain } = sale.context.services
      sale.context.services = { ...sale.context.services, chain: { ...chain, isClockWrong: () => true } }
      sale.calls.length = 0
      expect(summarize(await sale.lookup(payment))).to.equal('clock_wrong')
      expect(await sale.lookup(paid)).to.deep.equal(bought)
      expect(sale.calls).to.deep.equal([])
    })
  })

  describe('[5.6.2] while another process settles its payment', () => {
    /** Counts the reads of the record. */
    function countLooks(onLook: (looks: number) => unknown = () => undefined): () => number {
      const { log } = sale.context.services
      let looks = 0
      breakLog({ read: async (...key) => (await onLook((looks += 1)), log.read(...key)) })
      return () => looks
    }

    for (const aheadMs of [0, 2_000])
      it(`waits for its record, also if its clock is ${aheadMs} ms ahead, and answers from it`, async () => {
        const { release, arrived } = sale.block('settle')
        const first = sale.lookup(payment)
        await arrived(1)
        passSeconds(-aheadMs / 1000)
        // Another process has a mutex of its own.
        sale.context.paymentMutex = new KeyedMutex()
        const onLook = async (looks: number) => {
          if (looks !== 4) return
          release()
          await first
        }
        countLooks(onLook)
        expect(await sale.lookup(payment)).to.deep.equal(await first)
        expect(sale.count('settle')).to.equal(1)
        expect(sale.count('nonceState')).to.equal(0)
      })

    it('[5.6.2] is unknown after 20 looks, and leaves the payment to that process', async () => {
      const { arrived } = sale.block('settle')
      void sale.lookup(payment)
      await arrived(1)
      sale.context.paymentMutex = new KeyedMutex()
      sale.script.nonceState = async () => used(payment)
      const looks = countLooks()
      expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(await stateOf()).to.equal('prepared')
      expect(looks()).to.be.within(20, 23)
    })
  })

  it('[5.6.1] is prepared before it is settled, and unknown after a crash if a second settlement is refused', async () => {
    const { arrived } = sale.block('settle')
    void sale.lookup(payment)
    await arrived(1)
    expect(await stateOf()).to.equal('prepared')
    await sale.restart()
    const pauses = letPausesPass()
    // The first settlement may still be mined.
    sale.script.settle = failed('insufficient_funds')
    expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
    expect(await stateOf()).to.equal('unknown')
    // The lease of the process that has died.
    expect(pauses().slice(0, 10)).to.deep.equal(Array.from({ length: 10 }, () => 1_000))
  })

  describe('with a failing response log', () => {
    it('is not settled again when the start of the attempt cannot be written', async () => {
      sale.script.settle = timeOut
      await sale.lookup(payment)
      sale.script.settle = succeed
      passSeconds(SECONDS_APART)
      const repair = breakLog({ advance: broken })
      expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(sale.count('settle')).to.equal(1)
      expect(await stateOf()).to.equal('unknown')
      repair()
      passSeconds(SECONDS_APART)
      expect(summarize(await sale.lookup(payment))).to.equal('answer')
    })

    it('is unknown when storing its answer fails after the write, and answered by a retry', async () => {
      const { log } = sale.context.services
      const repair = breakLog({ claim: async (record) => log.claim(record).then(broken) })
      expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
      repair()
      const pauses = letPausesPass()
      sale.script.nonceState = async () => used(payment)
      expect(summarize(await sale.lookup(payment))).to.equal('answer')
      expect(pauses()).to.have.lengthOf(10)
      expect(sale.count('settle')).to.equal(0)
    })

    it('is unknown when the settled state cannot be written, and answered later', async () => {
      const repair = failWrites('settled')
      expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(await stateOf()).to.equal('prepared')
      sale.script.nonceState = async () => used(payment)
      expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
      repair()
      passSeconds(SECONDS_APART)
      expect(summarize(await sale.lookup(payment))).to.equal('answer')
      expect(sale.count('settle')).to.equal(1)
    })

    for (const [state, reason] of [
      ['unknown', 'settlement_pending'],
      ['refused', 'insufficient_funds'],
    ] as const) {
      it(`is unknown when the state ${state} cannot be written`, async () => {
        failWrites(state)
        sale.script.settle = failed(reason)
        expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
        // A refusal is stored before it is checked on chain.
        expect(await stateOf()).to.equal(state === 'refused' ? 'unknown' : 'prepared')
      })
    }
  })

  /** What chain and facilitator answer after another process has sold. */
  const SOLD_ELSEWHERE: Record<string, { observed?: object; verified?: () => unknown }> = {
    'a used nonce': { observed: { isNonceUsed: true } },
    'no answer of the facilitator': { verified: () => expect.fail('no answer') },
    'data without the company': { verified: () => (sale.context.terms = { ...testTerms, mode: 'mainnet' }) },
  }
  for (const [name, { observed = {}, verified }] of Object.entries(SOLD_ELSEWHERE))
    it(`is answered from the record if another process sells it after the replay step, with ${name}`, async () => {
      await sale.import()
      const { verify, observe } = sale.script
      const elsewhere: Outcome[] = []
      sale.script.observe = async () => {
        Object.assign(sale.script, { verify, observe })
        elsewhere.push(await lookupElsewhere())
        return observed
      }
      sale.script.verify = async (payload) => {
        while (elsewhere.length === 0) await new Promise(setImmediate)
        verified?.()
        return verify(payload)
      }
      sale.script.nonceState = async () => used(payment)
      expect(await sale.lookup(payment)).to.deep.equal(elsewhere[0])
      expect(elsewhere.map(summarize)).to.deep.equal(['answer'])
      expect(await listUnrecorded(sale.context.services.log)).to.deep.equal([])
      expect(sale.count('settle')).to.equal(1)
    })

  it('leaves the settlement to another process that started the same attempt', async () => {
    const { log } = sale.context.services
    sale.script.settle = timeOut
    await sale.lookup(payment)
    passSeconds(SECONDS_APART)
    // The write of the other process comes first, so this one finds another state.
    breakLog({
      advance: async (from, change) => {
        if (change.state === 'settling') await log.advance(from, change)
        return log.advance(from, change)
      },
    })
    expect(summarize(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
    expect(sale.count('settle')).to.equal(1)
    expect(await stateOf()).to.equal('settling')
  })

  for (const [name, fault] of [
    ['the disk is nearly full', new DiskSpaceError('less than 64 MiB are free')],
    ['the log was removed', new LostFileError('its open file was removed')],
  ] as const)
    it(`[8.13, 14.15] is overloaded and not begun when ${name}, and the payment stays usable`, async () => {
      const repair = breakLog({ claim: () => Promise.reject(fault) })
      expect(summarize(await sale.lookup(payment))).to.equal('overloaded')
      expect([await stateOf(), sale.count('settle')]).to.deep.equal([undefined, 0])
      repair()
      expect(summarize(await sale.lookup(payment))).to.equal('answer')
    })

  it('is not sold when remote calls took so long that the authorization nearly expired', async () => {
    const validBefore = Number(payment.payload.authorization.validBefore)
    sale.script.verify = async () => {
      sale.now = () => new Date((validBefore - 14) * 1000)
      return { isValid: true, payer: payment.payload.authorization.from }
    }
    const refusal = { code: 'payment_verification_unavailable', field: 'validBefore', retryAfterSeconds: 19 }
    expect(await sale.lookup(payment))
      .to.have.property('refusal')
      .that.includes(refusal)
    expect(sale.count('settle')).to.equal(0)
    expect(await stateOf()).to.equal(undefined)
  })

  it('replays the record of another process that claimed the payment first', async () => {
    const { log } = sale.context.services
    const identity = identityOf(payment)
    sale.script.verify = async () => {
      await log.claim(makeRecord({ identity, payment_hash: 'f'.repeat(64) }))
      return { isValid: true, payer: payment.payload.authorization.from }
    }
    expect(summarize(await sale.lookup(payment))).to.equal('payment_replay_conflict')
    expect(sale.count('settle')).to.equal(0)
  })

  describe('and the dataset', () => {
    it('[5.6.1] is replayed with the stored answer after another snapshot is current', async () => {
      const importName = async (company_name: string) => {
        const path = join(sale.directory, 'register.csv')
        await writeFile(path, toCsv(registerRow({ company_num: '73848', company_name })))
        await sale.import(path)
      }
      await importName('BEFORE LIMITED')
      const sold = await sale.lookup(payment, '73848')
      expect(sold).to.have.property('body').that.contains('BEFORE LIMITED')
      await importName('AFTER LIMITED')
      const next = await sale.lookup(await signedPayment(), '73848')
      expect(next).to.have.property('body').that.contains('AFTER LIMITED')
      expect(await sale.lookup(payment, '73848')).to.deep.equal(sold)
    })

    it('[5.5.1] takes an unused payment for another company only if the payment names no resource', async () => {
      await sale.import()
      const named = { ...payment, resource: { url: 'http://127.0.0.1:4021/api/v1/company/99999999' } }
      expect(summarize(await sale.lookup(named, '99999999'))).to.equal('company_not_found')
      expect(summarize(await sale.lookup(named, '73848'))).to.equal('payment_invalid resource_mismatch')
      expect(summarize(await sale.lookup(named, '99999999'))).to.equal('company_not_found')
      expect(summarize(await sale.lookup(payment, '99999999'))).to.equal('company_not_found')
      expect(summarize(await sale.lookup(payment, '73848'))).to.equal('answer')
      expect(sale.count('settle')).to.equal(1)
    })
  })
})

function identityOf(payment: WirePayment): string {
  const read = parsePaymentHeaders([header(payment)])
  if (read.kind !== 'payment') throw new Error('The payment cannot be decoded')
  return paymentIdentity(read.payment)
}
