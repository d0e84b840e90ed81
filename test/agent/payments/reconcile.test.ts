/** The verdict on a payment, line by line, without a chain. */
import { expect } from 'chai'
import { judge, type Verdict } from '../../../agent/payments/reconcile.ts'
import type { Evidence } from '../../../agent/payments/chain.ts'
import { BUYER, RECEIVER } from '../../support/records.ts'

const NOW = 1_800_000_000
const END = NOW + 300
const transaction = `0x${'ab'.repeat(32)}`
const transfer = { from: BUYER, to: RECEIVER, value: 1000n, transaction }
const OTHER = '0x00000000000000000000000000000000000000d3'

function verdict(evidence: Evidence, secondsLeft = END - NOW): Verdict {
  return judge({
    evidence,
    authorization: { from: BUYER, to: RECEIVER, value: '1000', validAfter: '0', validBefore: String(END), nonce: '0x' },
    requirements: { payTo: RECEIVER, amount: '1000' },
    now: new Date((END - secondsLeft) * 1000),
  })
}

const CASES: [name: string, found: Verdict, expected: Verdict][] = [
  ['paid', verdict({ nonce: 'used', transfer }), { kind: 'settled', transaction }],
  [
    'paid, in another spelling of the addresses',
    verdict({ nonce: 'used', transfer: { ...transfer, from: BUYER.toUpperCase(), to: RECEIVER.toUpperCase() } }),
    { kind: 'settled', transaction },
  ],
  ['paid to another', verdict({ nonce: 'used', transfer: { ...transfer, to: OTHER } }), { kind: 'rejected' }],
  ['paid by another', verdict({ nonce: 'used', transfer: { ...transfer, from: OTHER } }), { kind: 'rejected' }],
  ['paid too little', verdict({ nonce: 'used', transfer: { ...transfer, value: 999n } }), { kind: 'rejected' }],
  ['paid too much', verdict({ nonce: 'used', transfer: { ...transfer, value: 1001n } }), { kind: 'rejected' }],
  ['cancelled', verdict({ nonce: 'cancelled' }), { kind: 'rejected' }],
  ['used without a log', verdict({ nonce: 'unclear' }), { kind: 'unknown' }],
  ['free, 15 s left', verdict({ nonce: 'free', finalTime: 0n }, 15), { kind: 'settle_again' }],
  ['free, 14 s left', verdict({ nonce: 'free', finalTime: 0n }, 14), { kind: 'unknown' }],
  [
    'free, long over, no final block',
    verdict({ nonce: 'free', finalTime: BigInt(END - 1) }, -9999),
    { kind: 'unknown' },
  ],
  ['free, a final block at its end', verdict({ nonce: 'free', finalTime: BigInt(END) }, -1), { kind: 'expired' }],
]

describe('the verdict on a payment', () => {
  for (const [name, found, expected] of CASES) {
    it(`is ${expected.kind} when it was ${name}`, () => {
      expect(found).to.deep.equal(expected)
    })
  }

  it('never ends what is unknown by the passing of time', () => {
    for (const secondsLeft of [14, 0, -1, -1e6]) {
      expect(verdict({ nonce: 'free', finalTime: 0n }, secondsLeft).kind).to.equal('unknown')
    }
  })
})
