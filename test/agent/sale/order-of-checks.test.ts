/** The order of the local checks: a forged payment is refused before anything that costs more than a quote. */
import crypto from 'node:crypto'
import { expect } from 'chai'
import { EOA_SIGNATURE_BYTES } from '../../../agent/payment/headers.ts'
import { FORGERIES } from '../../bench/load/forgeries.ts'
import { header, signedPayment } from '../../support/payments.ts'
import { SaleHarness } from '../../support/sale-harness.ts'
import { lookup } from '../../../agent/operation/lookup.ts'
import { type Operation } from '../../../agent/operation/operation.ts'

const LOOKUP = { definition: lookup, input: { company_number: '00000000' } }

describe('[6.1.1] the order of the local checks', () => {
  const { createHash } = crypto
  const bufferFrom = Buffer.from.bind(Buffer)
  let sale: SaleHarness
  let steps: string[]

  beforeEach(async () => {
    sale = await SaleHarness.open()
    steps = []
    crypto.createHash = (...values) => {
      steps.push('hash')
      return createHash(...values)
    }
    // A module cannot be replaced, but only the recovery of a signer decodes a signature of 65 bytes.
    Buffer.from = ((text: string, encoding?: BufferEncoding) => {
      if (encoding === 'hex' && text.length === 2 * EOA_SIGNATURE_BYTES) steps.push('recover')
      return bufferFrom(text, encoding)
    }) as typeof Buffer.from
    const { log } = sale.context.payments
    sale.context.payments.log = new Proxy(log, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...values: unknown[]) => unknown
        return (...values: unknown[]) => (steps.push(String(name)), Reflect.apply(method, target, values))
      },
    })
  })
  afterEach(async () => {
    crypto.createHash = createHash
    Buffer.from = bufferFrom
    await sale.close()
  })

  const stepsOf = async (headers: string[], operation: Operation = LOOKUP) => {
    steps = []
    const outcome = await sale.perform(operation, headers)
    return { code: outcome.kind === 'refused' ? outcome.refusal.code : outcome.kind, steps }
  }

  it('takes no step for a quote', async () => {
    expect(await stepsOf([])).to.deep.equal({ code: 'payment_required', steps: [] })
  })

  it('parses only small JSON before it looks for a record', async () => {
    for (const name of ['forged base64', 'forged depth'] as const)
      expect(await stepsOf([FORGERIES[name]])).to.deep.equal({ code: 'payment_invalid', steps: [] })
  })

  it('only looks for a record before it compares the terms', async () => {
    for (const name of ['forged terms', 'forged large', 'forged values'] as const)
      expect(await stepsOf([FORGERIES[name]])).to.deep.equal({ code: 'payment_invalid', steps: ['read'] })
  })

  it('recovers the signer last, and hashes no signature that is known to be wrong', async () => {
    const forged = header(await signedPayment({ signed: { value: '1001' } }))
    // The payer may be a contract wallet, so the chain is asked.
    expect(await stepsOf([forged])).to.deep.equal({
      code: 'payment_rejected',
      steps: ['read', 'recover', 'hash', 'hash', 'read'],
    })
  })

  it('hashes a payment that passes all local checks once', async () => {
    const { steps: taken } = await stepsOf([header(await signedPayment())])
    expect(taken.slice(0, 5)).to.deep.equal(['read', 'recover', 'hash', 'hash', 'claim'])
  })

  it('[5.6.2] replays a payment after its price and receiver have changed', async () => {
    const paid = header(await signedPayment())
    expect(await stepsOf([paid])).to.have.property('code', 'answer')
    sale.context.terms = { ...sale.context.terms, payTo: `0x${'d4'.repeat(20)}` }
    const dearer = { ...LOOKUP, definition: { ...lookup, prices: { mainnet: 50_000, testnet: 5_000 } } }
    expect(await stepsOf([paid], dearer)).to.have.property('code', 'answer')
    expect(sale.count('settle')).to.equal(1)
    expect(await stepsOf([header(await signedPayment())], dearer)).to.have.property('code', 'payment_invalid')
  })
})
