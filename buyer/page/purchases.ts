/** The purchases of this browser as a table, and their removal after a question. */
import { purchaseName } from '../library/open-buyer.ts'
import { describeOutcome } from '../library/outcome.ts'
import { FOR_PEOPLE } from '../../agent/operation/for-people.ts'
import { parseJson } from '../../base/read-body.ts'
import { button, create, link, save, table, type Content } from './elements.ts'
import { urlOf } from './question.ts'
import { onStored, readPurchases, storage, type Bought } from './storage.ts'
import { LOCAL_DAY, plural, MOMENT, showLater, toWords, usdc } from './words.ts'

/** Shows the purchases, the newest first, in a document that has a list of them, and again when another tab buys. */
export async function showPurchases(): Promise<void> {
  const shown = document.querySelector('#bought')
  const bought = await readPurchases().catch(() => [])
  if (!shown || bought.length === 0) return
  const rows = bought.map(showRow)
  const days = [...new Set(bought.map(({ purchase }) => LOCAL_DAY.format(new Date(purchase.signed_at))))]
  shown.replaceChildren(
    table(['Company or query', 'Price', 'When', 'State', 'File'], rows),
    create('p', { class: 'actions' }, [
      'Receipt for the books: ',
      days.map((day) => link(urlOf('receipt', { day }), day)),
    ]),
  )
}

onStored(() => void showPurchases())

/** What was asked and, if the answer has a company, its name. */
export function titleOf({ operation: { definition, input }, purchase, outcome }: Bought): string {
  const inputs = input['inputs']
  const asked = Array.isArray(inputs) ? [plural(inputs.length, 'row')] : Object.values(input)
  const texts = asked.filter((value) => typeof value !== 'number').join(', ')
  const name = outcome.kind === 'sold' ? nameIn(purchase.answer?.body ?? '') : undefined
  const what = FOR_PEOPLE[definition.name]?.title ?? definition.name
  return [name, toWords(texts), what].filter(Boolean).join(' · ')
}

interface Named {
  company?: { legal_name: string } | null
  match?: { company: { legal_name: string } } | null
  versions?: { company: { legal_name: string } | null }[]
}

/** The library has checked that the answer has the form of its operation. */
function nameIn(body: string): string | undefined {
  const { company, match, versions = [] } = (parseJson(body) ?? {}) as Named
  const last = versions.findLast((each) => each.company !== null)
  return (company ?? match?.company ?? last?.company)?.legal_name
}

function showRow(bought: Bought): Content[] {
  const { operation, purchase, outcome, amount, name } = bought
  const { definition, input } = operation
  const title = titleOf(bought)
  return [
    definition.kind === 'batch' ? title : link(urlOf(definition.name, input), title),
    usdc(amount),
    MOMENT.format(new Date(purchase.signed_at)),
    describeOutcome(outcome, showLater),
    [
      button('Download', () => save(`purchase-${name}`, JSON.stringify(purchase))),
      isOpen(bought) ? [] : [' ', button('Delete', () => void remove(purchaseName(purchase.request), title))],
    ],
  ]
}

/** Whether the payment may still be settled, or was without an answer. */
const isOpen = ({ outcome }: Bought): boolean => outcome.kind !== 'sold' && outcome.kind !== 'not_sold'

/**
 * Removes the purchases of a request together, because a remaining older one would be taken for the newest. Keeps them
 * if one is open: its payment may still be settled.
 */
async function remove(name: string, title: string): Promise<void> {
  const same = (await readPurchases()).filter(({ purchase }) => purchaseName(purchase.request) === name)
  if (same.some(isOpen)) return alert('A payment of this request is open, so its purchases are kept.')
  if (!confirm(`${title}\nDelete ${plural(same.length, 'purchase')}? The answer cannot be fetched again.`)) return
  for (const entry of await storage.list(name)) await storage.remove(entry)
  location.reload()
}
