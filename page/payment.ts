/** What was paid for an answer, and the check of its receipt, which a person can repeat. */
import { keySetUrl, fetchKeySet, purchasedReceipt, verifyPurchase } from '../agent/buyer/library/verify-purchase.ts'
import { parsePayment } from '../agent/buyer/library/purchase-file.ts'
import { readSettlementResponse } from '../agent/payment/receipt/read.ts'
import type { ReceiptCheck } from '../agent/payment/receipt/verify.ts'
import { button, create, facts, paragraph, save, shortened, showMoment, usdc, type Content } from './elements.ts'
import { account, mode } from './question.ts'
import type { Bought } from './storage.ts'

/** The explorer of the network. The chain of a sandbox is on none. */
const EXPLORER = account !== '' ? undefined : `https://${mode === 'mainnet' ? '' : 'sepolia.'}basescan.org`

const explored = (kind: 'address' | 'tx', text: string): Content =>
  shortened(text, EXPLORER && `${EXPLORER}/${kind}/${text}`)

/** One line, which opens to quote, addresses, transaction and checks. */
export function showPayment(bought: Bought, buyAgain: HTMLElement): HTMLElement {
  const { name, purchase, amount } = bought
  const payment = parsePayment(purchase)
  const settled = readSettlementResponse(purchase.answer?.payment_response ?? '')
  const state = create('span', {}, 'checking the receipt')
  const checks = create('div', {})
  const check = async () => {
    const { text, kind, list } = await checkReceipt(bought)
    state.textContent = text
    state.className = kind
    checks.replaceChildren(...list.map(showCheck))
  }
  void check()
  return create(
    'details',
    { class: 'payment' },
    create('summary', {}, `Paid ${usdc(amount)}, `, state, `, ${showMoment(new Date(purchase.signed_at))}`),
    facts({
      For: purchase.request.url,
      Price: `${usdc(amount)} on ${payment?.network}`,
      Token: payment && explored('address', payment.asset),
      From: payment && explored('address', payment.payer),
      To: payment && explored('address', payment.pay_to),
      Transaction: settled && explored('tx', settled.transaction),
    }),
    checks,
    create('p', { class: 'actions' }, [
      buyAgain,
      button('Check the receipt again', () => void check()),
      button('Download the purchase', () => save(`purchase-${name}`, 'application/json', JSON.stringify(purchase))),
    ]),
    paragraph(
      'The check runs in this browser, with the public keys of the service and the purchase, which is a secret: with ' +
        'it anyone can fetch the answer. The command irish-company-agent verify FILE does the same.',
      'quiet',
    ),
  )
}

interface Checked {
  text: string
  kind: 'done' | 'fault'
  list: readonly ReceiptCheck[]
}

async function checkReceipt({ purchase }: Bought): Promise<Checked> {
  const url = keySetUrl(purchase)
  if (purchasedReceipt(purchase) === undefined || url === undefined)
    return { text: 'without a receipt', kind: 'fault', list: [] }
  const keySet = await fetchKeySet((...input) => fetch(...input), url).catch(() => undefined)
  if (keySet === undefined) return { text: 'receipt not checked: the keys cannot be read', kind: 'fault', list: [] }
  const { isValid, checks } = await verifyPurchase(purchase, keySet)
  return { text: isValid ? 'receipt valid' : 'RECEIPT NOT VALID', kind: isValid ? 'done' : 'fault', list: checks }
}

const showCheck = ({ name, passed, detail }: ReceiptCheck): HTMLElement =>
  create('p', { class: 'check' }, create('b', {}, `${passed ? '✓' : '✕'} ${name}`), ' ', create('code', {}, detail))
