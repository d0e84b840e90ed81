/** What was paid for an answer, and the check of its receipt, which a person can repeat. */
import { keySetUrl, fetchKeySet, verifyPurchase } from '../library/verify-purchase.ts'
import { parsePayment } from '../library/purchase-file.ts'
import { readSettlementResponse } from '../../agent/payment/receipt/read.ts'
import { button, copyButton, create, details, facts, paragraph, type Content } from './elements.ts'
import { account, mode } from './question.ts'
import type { Bought } from './storage.ts'
import { shorten, MOMENT, usdc } from './words.ts'

/** A hash or an address with a button to copy it, linked to the explorer of the network. A sandbox is on none. */
function shortened(kind: 'address' | 'tx', text: string): Content {
  const short = create('code', { title: text }, shorten(text))
  const href = `https://${mode === 'mainnet' ? '' : 'sepolia.'}basescan.org/${kind}/${text}`
  return [account === '' ? create('a', { href, rel: 'noreferrer' }, short) : short, ' ', copyButton(text)]
}

/** One line, which opens to quote, addresses, transaction and checks. */
export function showPayment({ purchase, amount }: Bought): HTMLElement {
  const payment = parsePayment(purchase)
  const settled = readSettlementResponse(purchase.answer?.payment_response ?? '')
  const state = create('span')
  const checked = create('div')
  const check = async () => {
    state.textContent = 'checking the receipt'
    const url = keySetUrl(purchase)
    const keySet = url && (await fetchKeySet((...input) => fetch(...input), url).catch(() => undefined))
    const { isValid, checks } = await verifyPurchase(purchase, keySet)
    state.className = isValid ? 'done' : 'fault'
    state.textContent = isValid ? 'receipt valid' : 'RECEIPT NOT VALID'
    if (url && !keySet) state.textContent = 'receipt not checked: the keys cannot be read'
    const items = checks.map((each) => [`${each.passed ? '✓' : '✕'} ${each.name}`, create('code', {}, each.detail)])
    checked.replaceChildren(facts(Object.fromEntries(items) as Record<string, Content>))
  }
  void check()
  const what = facts({
    For: purchase.request.url,
    Price: `${usdc(amount)} on ${payment?.network}`,
    Token: payment && shortened('address', payment.asset),
    From: payment && shortened('address', payment.payer),
    To: payment && shortened('address', payment.pay_to),
    Transaction: settled && shortened('tx', settled.transaction),
  })
  const summary = [`Paid ${usdc(amount)}, `, state, `, ${MOMENT.format(new Date(purchase.signed_at))}`]
  const where = paragraph('The check runs in this browser, with the public keys of the service.', 'quiet')
  const again = button('Check the receipt again', () => void check())
  return details(summary, [what, checked, where, again], 'payment')
}
