/** The receipt for the books: what was bought on a day, or for a list, on one page to print or to save. */
import { NETWORK_NAMES } from '../../agent/payment/terms.ts'
import { paidAmount } from '../library/purchase-state.ts'
import { allowLater, button, create, facts, paragraph, save, table } from './elements.ts'
import { present } from './view.ts'
import { bookedOf } from './payment.ts'
import { titleOf } from './purchases.ts'
import { baseUrl, mode } from './question.ts'
import type { Bought } from './storage.ts'
import { LOCAL_DAY, usdc } from './words.ts'

const HEADS = ['When', 'What', 'Amount, USDC', 'Transaction', 'Receipt number']

/** @param of the day, or the name of the list */
export function showBooks(of: string, purchases: readonly Bought[]): void {
  const paid = purchases.filter(({ outcome }) => outcome.kind === 'sold').toReversed()
  const rows = paid.map((each) => {
    const { when, amount, transaction, receipt } = bookedOf(each)
    return [when, titleOf(each), String(amount / 1e6), transaction, receipt] as const
  })
  const shown = rows.map(([when, what, amount, transaction, receipt]) => [
    when,
    what,
    amount,
    create('code', {}, transaction),
    create('code', {}, receipt),
  ])
  const total = usdc(paidAmount(paid))
  const seller = document.body.dataset['seller'] ?? ''
  const receivers = [...new Set(paid.map((each) => bookedOf(each).to))]
  const download = async () => {
    allowLater()
    const { encodeTable } = await import('../table/write-table.ts')
    const name = `receipt ${of}.xlsx`
    save(name, await encodeTable([HEADS, ...rows, ['', 'Total', String(paidAmount(paid) / 1e6), '', '']], { name }))
  }
  present(
    create('article', { class: 'books' }, [
      create('h1', {}, `Receipt, ${of}`),
      facts({
        Seller: [seller, seller && ', ', `Irish company records, ${baseUrl}`],
        'Paid to': receivers.map((each) => create('code', {}, each)),
        Network: NETWORK_NAMES[mode],
        Total: `${total} (1 USDC is worth 1 US dollar)`,
      }),
      rows.length === 0 ? paragraph('Nothing was paid.') : table(HEADS, shown),
      create('p', { class: 'actions tools' }, [
        button('Print', () => print()),
        button('Save as .xlsx', () => void download()),
      ]),
    ]),
  )
}

/** The purchases of a day of this browser's calendar. */
export const ofDay = (purchases: readonly Bought[], day: string): Bought[] =>
  purchases.filter(({ purchase }) => LOCAL_DAY.format(new Date(purchase.signed_at)) === day)
