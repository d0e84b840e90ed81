/** The sale under faults: what facilitators and chains can answer, where the process can die, and what a retry then gets. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { Offers } from '../../../agent/executor/offers.ts'
import { perform } from '../../../agent/executor/perform.ts'
import { Turns } from '../../../agent/executor/turns.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import type { Evidence } from '../../../agent/payments/chain.ts'
import { paymentIdentity } from '../../../agent/payments/binding.ts'
import { readPayment } from '../../../agent/payments/headers.ts'
import { header, signedPayment, testTerms, type WirePayment } from '../../support/payments.ts'
import { aRecord } from '../../support/records.ts'
import { settledReply, TestSeller, TRANSACTION } from '../../support/seller.ts'

const HOUR_MS = 60 * 60 * 1000

/** An outcome in a word or two, as the tables below have it. */
function wordOf(outcome: Outcome): string {
  if (outcome.kind === 'answer') return 'answer'
  const { code } = outcome.refusal
  return outcome.quote ? `${code} ${decodePaymentRequiredHeader(outcome.quote.header).error}` : code
}

const used = (transfer: { from?: string; to?: string; value?: bigint } = {}) => {
  return (payment: WirePayment): Evidence => ({
    nonce: 'used',
    transfer: {
      from: payment.payload.authorization.from,
      to: testTerms.payTo,
      value: 1000n,
      transaction: TRANSACTION,
      ...transfer,
    },
    isFinal: true,
  })
}
const evidence = (value: Evidence) => () => value
const free = evidence({ nonce: 'free', time: 0n, finalTime: 0n })

describe('a sale', () => {
  let shop: TestSeller
  let payment: WirePayment

  beforeEach(async () => {
    shop = await TestSeller.open()
    payment = await signedPayment()
  })
  afterEach(() => shop.close())

  const stateOf = async () => (await shop.seller.desk.log.read(identityOf(payment)))?.state
  const calls = (name: string) => shop.calls.filter((each) => each === name).length

  it('asks in this order: the head of the chain, the nonce, verification, settlement', async () => {
    expect(wordOf(await shop.lookup(payment))).to.equal('answer')
    expect(shop.calls).to.deep.equal(['head', 'isNonceFree', 'verify', 'settle'])
    expect(await stateOf()).to.equal('settled')
  })

  it('has the answer on disk, as prepared, before the facilitator is asked to settle', async () => {
    let seen: string | undefined
    shop.script.settle = async (payload) => {
      seen = await stateOf()
      return settledReply(payload)
    }
    await shop.lookup(payment)
    expect(seen).to.equal('prepared')
  })

  it('remembers an offer once it has bought an answer, and not while its outcome is open', async () => {
    const operation = { operation: 'lookup', input: { company_number: '00000000' } } as const
    const isRemembered = () => {
      const [one, other] = [1, 2].map(() => shop.seller.offers.read([header(payment)], operation))
      return one === other
    }
    shop.script.settle = async () => {
      throw new Error('no answer')
    }
    expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
    expect(isRemembered()).to.equal(false)
    shop.script.evidence = async () => used()(payment)
    expect(wordOf(await shop.lookup(payment))).to.equal('answer')
    expect(isRemembered()).to.equal(true)
  })

  it('is not made twice: the retry is answered from the log and asks nobody', async () => {
    const bought = await shop.lookup(payment)
    shop.calls.length = 0
    await shop.restart()
    expect(await shop.lookup(payment)).to.deep.equal(bought)
    expect(shop.calls).to.deep.equal([])
  })

  it('takes the same payload in another spelling of its JSON as the same payment', async () => {
    const bought = await shop.lookup(payment)
    const { x402Version, ...rest } = payment
    expect(await shop.lookup({ ...rest, x402Version })).to.deep.equal(bought)
  })

  it('takes a nonce in another payload as somebody else’s', async () => {
    await shop.lookup(payment)
    const { nonce, validBefore } = payment.payload.authorization
    const others = [
      await signedPayment({ authorization: { nonce, validBefore: String(Number(validBefore) - 1) } }),
      await signedPayment({ authorization: { nonce: nonce.toUpperCase().replace('0X', '0x'), validBefore } }),
      { ...payment, extensions: {} },
    ]
    for (const other of others) expect(wordOf(await shop.lookup(other))).to.equal('payment_replay_conflict')
    expect(calls('settle')).to.equal(1)
  })

  describe('whose settlement is not clearly a success', () => {
    const wrong = (change: object) => async (payload: Parameters<typeof settledReply>[0]) => ({
      ...settledReply(payload),
      ...change,
    })
    const failed = (errorReason?: string) => async () => ({
      success: false,
      transaction: '',
      network: testTerms.network,
      ...(errorReason !== undefined && { errorReason }),
    })
    const REPLIES: [name: string, settle: TestSeller['script']['settle']][] = [
      ['throws', () => Promise.reject(new Error('ECONNRESET 0xsecret'))],
      ['says nothing', async () => undefined],
      ['says null', async () => null],
      ['says success as text', wrong({ success: 'true' })],
      ['names another network', wrong({ network: 'eip155:8453' })],
      ['names another payer', wrong({ payer: testTerms.payTo })],
      ['names no payer', wrong({ payer: undefined })],
      ['names another amount', wrong({ amount: '999' })],
      ['has no transaction', wrong({ transaction: '' })],
      ['has a transaction of 31 bytes', wrong({ transaction: TRANSACTION.slice(0, -2) })],
      ['says settlement_pending', failed('settlement_pending')],
      ['says the nonce was used', failed('invalid_exact_evm_nonce_already_used')],
      ['says the transaction failed', failed('invalid_exact_evm_transaction_failed')],
      ['fails without a reason', failed()],
      ['fails for a reason nobody knows', failed('something_new')],
    ]
    for (const [name, settle] of REPLIES) {
      it(`is unknown when the facilitator ${name}: 503, and nothing is signed again`, async () => {
        shop.script.settle = settle
        const outcome = await shop.lookup(payment)
        expect(wordOf(outcome)).to.equal('payment_outcome_unknown')
        expect(outcome.kind === 'refused' && outcome.refusal.retryAfterSeconds).to.be.greaterThan(0)
        expect(await stateOf()).to.equal('unknown')
        expect(JSON.stringify(shop.reports)).to.not.contain('secret')
      })
    }

    const ENDINGS: [name: string, evidence: (payment: WirePayment) => Evidence, word: string, settles: number][] = [
      ['paid, whoever sent it', used(), 'answer', 1],
      [
        'spent for somebody else',
        used({ to: '0x00000000000000000000000000000000000000d3' }),
        'payment_failed settlement_refused',
        1,
      ],
      ['spent by somebody else', used({ from: testTerms.payTo }), 'payment_failed settlement_refused', 1],
      ['spent for less', used({ value: 999n }), 'payment_failed settlement_refused', 1],
      ['cancelled', evidence({ nonce: 'cancelled', isFinal: true }), 'payment_failed settlement_refused', 1],
      ['unclear', evidence({ nonce: 'unclear' }), 'payment_outcome_unknown', 1],
      [
        'cancelled in a block that may go',
        evidence({ nonce: 'cancelled', isFinal: false }),
        'payment_outcome_unknown',
        1,
      ],
      ['free, with time left: it is settled again', free, 'answer', 2],
      [
        'free in a final block after its end',
        evidence({ nonce: 'free', time: 2n ** 64n, finalTime: 2n ** 64n }),
        'payment_failed authorization_expired',
        1,
      ],
    ]
    for (const [name, found, word, settles] of ENDINGS) {
      it(`ends as the chain has it: ${name}`, async () => {
        shop.script.settle = () => Promise.reject(new Error('time-out'))
        await shop.lookup(payment)
        shop.script.settle = async (payload) => settledReply(payload)
        shop.script.evidence = async () => found(payment)
        await shop.restart()
        const ended = await shop.lookup(payment)
        expect(wordOf(ended)).to.equal(word)
        expect(calls('settle')).to.equal(settles)
        expect(calls('verify')).to.equal(1)
        if (word.startsWith('payment_outcome')) return
        // What has ended stays so, and asks nobody again.
        shop.calls.length = 0
        expect(wordOf(await shop.lookup(payment))).to.equal(word)
        expect(shop.calls).to.deep.equal([])
      })
    }

    it('stays unknown while the chain cannot be asked, and while too little time is left to settle again', async () => {
      shop.script.settle = () => Promise.reject(new Error('time-out'))
      await shop.lookup(payment)
      shop.script.evidence = () => Promise.reject(new Error('no node'))
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      shop.script.evidence = async () => ({ nonce: 'free', time: 0n, finalTime: 0n })
      shop.now = () => new Date(Date.now() + 290_000)
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(calls('settle')).to.equal(1)
      expect(await stateOf()).to.equal('unknown')
    })

    it('gives no data to another request for as long as it is unknown', async () => {
      shop.script.settle = () => Promise.reject(new Error('time-out'))
      await shop.lookup(payment)
      expect(wordOf(await shop.lookup(payment, '1'))).to.equal('payment_replay_conflict')
    })
  })

  describe('that the facilitator refuses to settle', () => {
    const refuse = async () => ({
      success: false,
      errorReason: 'invalid_exact_evm_insufficient_balance',
      transaction: '',
      network: testTerms.network,
    })

    it('is refused when nothing was sent and the nonce is free, and stays so', async () => {
      shop.script.settle = refuse
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_failed settlement_refused')
      expect(await stateOf()).to.equal('refused')
      shop.script.settle = async (payload) => settledReply(payload)
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_failed settlement_refused')
      expect(calls('settle')).to.equal(1)
    })

    for (const [name, found] of [
      ['was used', used()],
      ['is unclear', evidence({ nonce: 'unclear' as const })],
    ] as const) {
      it(`is unknown when the nonce ${name} all the same`, async () => {
        shop.script.settle = refuse
        shop.script.evidence = async () => found(payment)
        expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      })
    }

    it('is unknown after an earlier attempt, whose transaction may still arrive', async () => {
      shop.script.settle = () => Promise.reject(new Error('time-out'))
      await shop.lookup(payment)
      shop.script.settle = refuse
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      shop.script.evidence = async () => used()(payment)
      expect(wordOf(await shop.lookup(payment))).to.equal('answer')
    })
  })

  describe('that cannot be verified', () => {
    const VERIFICATIONS: [name: string, verify: TestSeller['script']['verify'], word: string][] = [
      ['throws', () => Promise.reject(new Error('down')), 'payment_verification_unavailable'],
      ['says nothing of use', async () => ({ ok: true }), 'payment_verification_unavailable'],
      [
        'finds another payer',
        async () => ({ isValid: true, payer: testTerms.payTo }),
        'payment_verification_unavailable',
      ],
      ['finds no payer', async () => ({ isValid: true }), 'payment_verification_unavailable'],
      [
        'finds no money',
        async () => ({ isValid: false, invalidReason: 'invalid_exact_evm_insufficient_balance' }),
        'payment_rejected insufficient_funds',
      ],
      [
        'finds the nonce used',
        async () => ({ isValid: false, invalidReason: 'invalid_exact_evm_nonce_already_used' }),
        'payment_rejected authorization_used',
      ],
      [
        'has a reason of its own',
        async () => ({ isValid: false, invalidReason: '<b>__proto__' }),
        'payment_rejected verification_refused',
      ],
      [
        'has the name of a built-in for a reason',
        async () => ({ isValid: false, invalidReason: 'constructor' }),
        'payment_rejected verification_refused',
      ],
    ]
    for (const [name, verify, word] of VERIFICATIONS) {
      it(`because the facilitator ${name}, costs nothing and leaves no record`, async () => {
        shop.script.verify = verify
        expect(wordOf(await shop.lookup(payment))).to.equal(word)
        expect(await stateOf()).to.equal(undefined)
        expect(calls('settle')).to.equal(0)
        shop.script.verify = async () => ({ isValid: true, payer: payment.payload.authorization.from })
        expect(wordOf(await shop.lookup(payment))).to.equal('answer')
      })
    }

    it('because its nonce was used where nobody has a record of it, is not even asked about', async () => {
      shop.script.isNonceFree = async () => false
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_rejected authorization_used')
      expect(calls('verify')).to.equal(0)
      expect(await stateOf()).to.equal(undefined)
    })

    it('because another process has sold for it meanwhile, is no refusal: the answer is the one on record', async () => {
      let looks = 0
      shop.script.isNonceFree = async () => {
        looks += 1
        if (looks > 1) return true
        const other = { ...shop.seller, turns: new Turns(), offers: new Offers() }
        const operation = { operation: 'lookup', input: { company_number: '00000000' } } as const
        await perform(other, { operation, paymentHeaders: [header(payment)], resourceUrl: 'http://127.0.0.1:4021/' })
        return false
      }
      expect(wordOf(await shop.lookup(payment))).to.equal('answer')
      expect(calls('settle')).to.equal(1)
    })

    it('because the chain is away, is not even asked about', async () => {
      shop.script.head = () => Promise.reject(new Error('no node'))
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_verification_unavailable')
      expect(shop.calls).to.deep.equal(['head'])
    })
  })

  describe('after a crash', () => {
    const crash = async () => {
      shop.script.settle = () => new Promise(() => undefined)
      void shop.lookup(payment)
      while (calls('settle') === 0) await new Promise((resolve) => void setTimeout(resolve, 5))
      expect(await stateOf()).to.equal('prepared')
      await shop.restart()
      shop.script.settle = async (payload) => settledReply(payload)
    }

    it('is settled by the retry where the chain shows the nonce free', async () => {
      await crash()
      shop.script.evidence = async () => free()
      expect(wordOf(await shop.lookup(payment))).to.equal('answer')
      expect(calls('evidence')).to.equal(1)
      expect(calls('settle')).to.equal(2)
    })

    it('is answered by the retry where the chain shows the payment, and not settled again', async () => {
      await crash()
      shop.script.evidence = async () => used()(payment)
      expect(wordOf(await shop.lookup(payment))).to.equal('answer')
      expect(calls('settle')).to.equal(1)
    })

    it('counts no refusal of the second settlement: the first may be on its way', async () => {
      await crash()
      shop.script.evidence = async () => free()
      const { network } = testTerms
      shop.script.settle = async () => ({ success: false, errorReason: 'insufficient_funds', transaction: '', network })
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(await stateOf()).to.equal('unknown')
    })
  })

  describe('whose outcome cannot be written or read', () => {
    const broken = () => Promise.reject(new Error('disk full'))

    it('is unknown, and not a failure after which a client would sign again', async () => {
      const { log } = shop.seller.desk
      const advance: typeof log.advance = (from, change) =>
        change.state === 'settled' ? broken() : log.advance(from, change)
      shop.seller.desk = { ...shop.seller.desk, log: { ...log, advance } }
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(await stateOf()).to.equal('prepared')
      shop.script.evidence = async () => used()(payment)
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      shop.seller.desk = { ...shop.seller.desk, log }
      expect(wordOf(await shop.lookup(payment))).to.equal('answer')
      expect(calls('settle')).to.equal(1)
    })

    it('is not settled again when that it begins cannot be written, and is by the next retry', async () => {
      const { log } = shop.seller.desk
      shop.script.settle = () => Promise.reject(new Error('time-out'))
      await shop.lookup(payment)
      shop.script.settle = async (payload) => settledReply(payload)
      shop.script.evidence = async () => free()
      shop.seller.desk = { ...shop.seller.desk, log: { ...log, advance: broken } }
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(calls('settle')).to.equal(1)
      expect(await stateOf()).to.equal('unknown')
      shop.seller.desk = { ...shop.seller.desk, log }
      expect(wordOf(await shop.lookup(payment))).to.equal('answer')
    })

    for (const state of ['unknown', 'refused'] as const) {
      it(`is unknown when that it is ${state} cannot be written`, async () => {
        const { log } = shop.seller.desk
        const advance: typeof log.advance = (from, change) =>
          change.state === state ? broken() : log.advance(from, change)
        shop.seller.desk = { ...shop.seller.desk, log: { ...log, advance } }
        const errorReason = state === 'refused' ? 'insufficient_funds' : 'settlement_pending'
        const { network } = testTerms
        shop.script.settle = async () => ({ success: false, errorReason, transaction: '', network })
        expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
        expect(await stateOf()).to.equal('prepared')
      })
    }

    it('is unknown too when its record cannot be read; without a payment nothing is looked for', async () => {
      const { log } = shop.seller.desk
      await shop.lookup(payment)
      shop.seller.desk = { ...shop.seller.desk, log: { ...log, read: broken } }
      expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
      expect(wordOf(await shop.lookup())).to.match(/^payment_required/)
      expect(shop.reports).to.deep.equal(['sale_failed'])
    })
  })

  it('is not begun when its answer cannot be stored', async () => {
    const { log } = shop.seller.desk
    shop.seller.desk = { ...shop.seller.desk, log: { ...log, claim: () => Promise.reject(new Error('disk full')) } }
    expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
    expect(shop.reports).to.deep.equal(['sale_failed'])
    expect(calls('settle')).to.equal(0)
  })

  it('keeps its payment when its answer is stored, and nobody can say so', async () => {
    const { log } = shop.seller.desk
    const claim: typeof log.claim = async (record) => {
      await log.claim(record)
      throw new Error('EIO')
    }
    shop.seller.desk = { ...shop.seller.desk, log: { ...log, claim } }
    expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
    shop.seller.desk = { ...shop.seller.desk, log }
    expect(wordOf(await shop.lookup(payment))).to.equal('answer')
    expect(calls('settle')).to.equal(1)
  })

  it('gives the answer that another process has sold meanwhile, and not what its own data says by now', async () => {
    const bought: Outcome[] = []
    shop.script.verify = async () => {
      shop.script.verify = async () => ({ isValid: true, payer: payment.payload.authorization.from })
      const operation = { operation: 'lookup', input: { company_number: '00000000' } } as const
      const order = { operation, paymentHeaders: [header(payment)], resourceUrl: 'http://127.0.0.1:4021/' }
      bought.push(await perform({ ...shop.seller, turns: new Turns(), offers: new Offers() }, order))
      // A snapshot that no longer has the company.
      shop.seller.terms = { ...testTerms, mode: 'mainnet' }
      return { isValid: true, payer: payment.payload.authorization.from }
    }
    await shop.import()
    expect(await shop.lookup(payment)).to.deep.equal(bought[0])
    expect(bought.map(wordOf)).to.deep.equal(['answer'])
  })

  it('leaves a settlement to the other process that has begun the same attempt', async () => {
    const { log } = shop.seller.desk
    shop.script.settle = () => Promise.reject(new Error('time-out'))
    await shop.lookup(payment)
    shop.script.evidence = async () => free()
    // The other one's write comes first; this one's then finds the record moved on.
    const advance: typeof log.advance = async (from, change) => {
      if (change.state === 'settling') await log.advance(from, change)
      return log.advance(from, change)
    }
    shop.seller.desk = { ...shop.seller.desk, log: { ...log, advance } }
    expect(wordOf(await shop.lookup(payment))).to.equal('payment_outcome_unknown')
    expect(calls('settle')).to.equal(1)
    expect(await stateOf()).to.equal('settling')
  })

  it('is not made when the others took so long that its authorization is nearly over', async () => {
    const validBefore = Number(payment.payload.authorization.validBefore)
    shop.script.verify = async () => {
      shop.now = () => new Date((validBefore - 14) * 1000)
      return { isValid: true, payer: payment.payload.authorization.from }
    }
    const word = 'payment_invalid invalid_exact_evm_payload_authorization_valid_before'
    expect(wordOf(await shop.lookup(payment))).to.equal(word)
    expect(calls('settle')).to.equal(0)
    expect(await stateOf()).to.equal(undefined)
  })

  it('follows another process that has claimed the payment in between', async () => {
    const { log } = shop.seller.desk
    const identity = identityOf(payment)
    shop.script.verify = async () => {
      await log.claim(aRecord({ identity, payment_hash: 'f'.repeat(64) }))
      return { isValid: true, payer: payment.payload.authorization.from }
    }
    expect(wordOf(await shop.lookup(payment))).to.equal('payment_replay_conflict')
    expect(calls('settle')).to.equal(0)
  })

  describe('and its dataset', () => {
    it('must be there, paid or not, but for the synthetic company', async () => {
      expect(wordOf(await shop.lookup(undefined, '73848'))).to.equal('dataset_unavailable')
      expect(wordOf(await shop.lookup(payment, '73848'))).to.equal('dataset_unavailable')
      expect(shop.calls).to.deep.equal([])
      expect(wordOf(await shop.lookup(payment))).to.equal('answer')
    })

    it('must have been retrieved in the last 72 hours; replays and the synthetic company go on', async () => {
      await shop.import()
      const bought = await shop.lookup(payment, '73848')
      expect(wordOf(bought)).to.equal('answer')
      const late = Date.now() + 72 * HOUR_MS + 60_000
      shop.now = () => new Date(late)
      expect(wordOf(await shop.lookup(undefined, '73848'))).to.equal('dataset_stale')
      expect(await shop.lookup(payment, '73848')).to.deep.equal(bought)
      expect(wordOf(await shop.lookup())).to.equal('payment_required PAYMENT-SIGNATURE header is required')
    })

    it('may be 72 hours old to the second', async () => {
      const start = new Date('2026-01-01T00:00:00Z')
      shop.now = () => start
      await shop.import()
      shop.now = () => new Date(start.getTime() + 72 * HOUR_MS)
      expect(wordOf(await shop.lookup(undefined, '73848'))).to.match(/^payment_required/)
      shop.now = () => new Date(start.getTime() + 72 * HOUR_MS + 1)
      expect(wordOf(await shop.lookup(undefined, '73848'))).to.equal('dataset_stale')
    })

    it('has no synthetic company on mainnet', async () => {
      await shop.import()
      shop.seller.terms = { ...testTerms, mode: 'mainnet' }
      expect(wordOf(await shop.lookup(payment))).to.equal('company_not_found')
    })
  })
})

function identityOf(payment: WirePayment): string {
  const read = readPayment([header(payment)])
  if (read.kind !== 'payment') throw new Error('The payment cannot be read')
  return paymentIdentity(read.payment)
}
