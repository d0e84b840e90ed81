/** The body of a payment conflict, by state of the dataset. */
import { expect } from 'chai'
import { describeConflict } from '../../../agent/sale/conflict.ts'
import { refused } from '../../../agent/operation/outcome.ts'
import { lookup as definition } from '../../../agent/operation/lookup.ts'
import type { Operation } from '../../../agent/operation/operation.ts'
import { buildTerms } from '../../../agent/payment/terms.ts'
import { SYNTHETIC_PROVENANCE } from '../../../store/dataset/synthetic.ts'
import { signedPayment } from '../../support/payments.ts'
import { useSale } from '../../support/sale-harness.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { operationOf } from '../../support/operations.ts'

const lookup = (company_number: string): Operation => ({ definition, input: { company_number } })
const CONFLICT = refused({ code: 'payment_replay_conflict' })

describe('[2.14, 5.4.3] the body of a payment conflict', () => {
  const sale = useSale()

  const provenanceOf = (operation: Operation, mode: 'testnet' | 'mainnet' = 'testnet') => {
    const context = { ...sale.context, terms: buildTerms(mode, sale.context.terms.payTo, OPERATIONS) }
    const result = describeConflict(CONFLICT, operation, context)
    return result.kind === 'refused' ? (result.refusal.provenance ?? result.refusal.code) : result.kind
  }
  const synthetic = SYNTHETIC_PROVENANCE
  const loaded = () => {
    const { source, snapshot_id } = sale.context.catalog.retrieval()!
    return { source, snapshot_id }
  }

  it('names the current dataset, for every operation', async () => {
    await sale.import()
    const others: Operation[] = [
      operationOf({ operation: 'search', input: { q: 'plain', limit: 5 } }),
      operationOf({ operation: 'resolve', input: { name: 'plain' } }),
    ]
    for (const mode of ['testnet', 'mainnet'] as const)
      for (const operation of [lookup('73848'), ...others])
        expect(provenanceOf(operation, mode)).to.deep.equal(loaded())
    expect(provenanceOf(lookup('00000000'), 'mainnet')).to.deep.equal(loaded())
  })

  it('names the synthetic source for the synthetic company, and without a dataset', async () => {
    expect(provenanceOf(lookup('73848'))).to.deep.equal(synthetic)
    await sale.import()
    expect(provenanceOf(lookup('00000000'))).to.deep.equal(synthetic)
  })

  it('does not exist on mainnet without a dataset, so the answer is 503', () => {
    expect(provenanceOf(lookup('73848'), 'mainnet')).to.equal('dataset_unavailable')
  })

  it('does not tell what the payment has bought', async () => {
    await sale.import()
    const payment = await signedPayment()
    expect(await sale.lookup(payment)).to.include({ kind: 'answer' })
    expect(await sale.lookup(payment, '73848')).to.deep.equal(
      refused({ code: 'payment_replay_conflict', field: 'request', provenance: loaded() }),
    )
  })
})
