/** The number of settlements of one payment. */
import { expect } from 'chai'
import { reconcileForBuyer } from '../../../agent/payments/reconcile.ts'
import { makeRecord, storeRecord } from '../../support/records.ts'
import { SaleHarness } from '../../support/sale-harness.ts'

describe('[5.7.11] the settlements of an unknown payment', () => {
  let sale: SaleHarness

  beforeEach(async () => {
    sale = await SaleHarness.open()
  })
  afterEach(() => sale.close())

  for (const [attempt, settlements] of [
    [18, 1],
    [19, 1],
    [20, 0],
    [21, 0],
  ] as const) {
    it(`are ${settlements} more after ${attempt}`, async () => {
      const record = makeRecord({ state: 'unknown', attempt })
      await storeRecord(sale.context.payments.log, record)
      await reconcileForBuyer(sale.context.payments, record)
      expect(sale.count('evidence')).to.be.at.least(1)
      expect(sale.count('settle')).to.equal(settlements)
    })
  }
})
