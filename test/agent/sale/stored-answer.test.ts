/** A retry gets the answer that was sold, whatever the dataset is now. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { signedPayment } from '../../support/payments.ts'
import { registerRow, toCsv } from '../../support/register.ts'
import { useSale } from '../../support/sale-harness.ts'

describe('a retry', () => {
  const sale = useSale()

  it('[5.6.1] gets the stored answer after another snapshot is current', async () => {
    const importName = async (company_name: string) => {
      const path = join(sale.directory, 'register.csv')
      await writeFile(path, toCsv(registerRow({ company_num: '73848', company_name })))
      await sale.import(path)
    }
    const bodyOf = async (payment: unknown) => {
      const outcome = await sale.lookup(payment, '73848')
      return outcome.kind === 'answer' ? outcome.body : outcome.refusal.code
    }
    const payment = await signedPayment()
    await importName('BEFORE LIMITED')
    const sold = await bodyOf(payment)
    expect(sold).to.contain('BEFORE LIMITED')
    await importName('AFTER LIMITED')
    expect(await bodyOf(await signedPayment())).to.contain('AFTER LIMITED')
    expect(await bodyOf(payment)).to.equal(sold)
  })
})
