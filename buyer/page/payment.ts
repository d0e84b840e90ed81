/** What was paid for an answer, and the check of its receipt, which a person can repeat. */
import { keySetUrl, fetchKeySet, verifyPurchase } from '../library/verify-purchase.ts'
import { parsePayment } from '../library/purchase-file.ts'
import { readSettlementResponse } from '../../agent/payment/receipt/read.ts'
import { DEPLOYMENTS, NETWORK_NAMES } from '../../agent/payment/terms.ts'
import { button, copyButton, create, details, facts, paragraph, type Content } from './elements.ts'
import { account, baseUrl, mode } from './question.ts'
import type { Bought } from './storage.ts'
import { receiptNumber, shorten, MOMENT, usdc } from './words.ts'

/** A hash or an address with a button to copy it, linked to the explorer of the network. A sandbox is on none. */
function shortened(kind: 'address' | 'tx', text: string): Content {
  const short = create('code', { title: text }, shorten(text))
  const href = `https://${mode === 'mainnet' ? '' : 'sepolia.'}basescan.org/${kind}/${text}`
  return [account === '' ? create('a', { href, rel: 'noreferrer' }, short) : short, ' ', copyButton(text)]
}

/** What a purchase says for the books. */
export function bookedOf({ purchase, amount }: Bought) {
  const payment = parsePayment(purchase)
  return {
    when: MOMENT.format(new Date(purchase.signed_at)),
    amount,
    to: payment?.pay_to ?? '',
    transaction: readSettlementResponse(purchase.answer?.payment_response ?? '')?.transaction ?? '',
    receipt: payment ? receiptNumber(payment.nonce) : '',
  }
}

/** With the network as people call it. */
const inWords = (detail: string): string => detail.replaceAll(DEPLOYMENTS[mode].network, NETWORK_NAMES[mode])

/** Only on paper: who answered, when, and the payment, which the page shows elsewhere. */
function showPrinted(bought: Bought): HTMLElement {
  const { when, amount, transaction, receipt } = bookedOf(bought)
  return create('footer', { class: 'printed' }, [
    paragraph(`Irish company records, ${baseUrl}`),
    paragraph(`Bought ${when} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`),
    paragraph(`Receipt number ${receipt}. Paid ${usdc(amount)} on ${NETWORK_NAMES[mode]}, transaction ${transaction}`),
  ])
}

/** One line, which opens to quote, addresses, transaction and checks. */
export function showPayment(bought: Bought): HTMLElement {
  const { purchase, amount } = bought
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
    const items = checks.map((each) => [
      `${each.passed ? '✓' : '✕'} ${each.name}`,
      create('code', {}, inWords(each.detail)),
    ])
    checked.replaceChildren(facts(Object.fromEntries(items) as Record<string, Content>))
  }
  void check()
  const what = facts({
    'Receipt number': payment && receiptNumber(payment.nonce),
    For: create('code', {}, purchase.request.url),
    Price: `${usdc(amount)} on ${NETWORK_NAMES[mode]}`,
    Token: payment && shortened('address', payment.asset),
    From: payment && shortened('address', payment.payer),
    To: payment && shortened('address', payment.pay_to),
    Transaction: settled && shortened('tx', settled.transaction),
  })
  const summary = [`Paid ${usdc(amount)}, `, state, `, ${MOMENT.format(new Date(purchase.signed_at))}`]
  const where = paragraph('The check runs in this browser, with the public keys of the service.', 'quiet')
  const again = button('Check the receipt again', () => void check())
  return create('div', {}, [details(summary, [what, checked, where, again], 'payment'), showPrinted(bought)])
}
