/** The purchases of this browser as a table, and their removal after a question. */
import { purchaseName } from '../library/open-buyer.ts'
import { describeOutcome } from '../library/outcome.ts'
import { button, link, save, table, type Content } from './elements.ts'
import { urlOf } from './question.ts'
import { readPurchases, storage, type Bought } from './storage.ts'
import { plural, MOMENT, toWords, usdc } from './words.ts'

/** Shows the purchases, the newest first, in a document that has a list of them. */
export async function showPurchases(): Promise<void> {
  const shown = document.querySelector('#bought')
  const bought = await readPurchases().catch(() => [])
  if (!shown || bought.length === 0) return
  const rows = await Promise.all(bought.map(showRow))
  shown.replaceChildren(table(['Company or query', 'Price', 'When', 'State', 'File'], rows))
}

async function showRow(bought: Bought): Promise<Content[]> {
  const { operation, purchase, outcome, amount, name } = bought
  const { definition, input } = operation
  const inputs = input['inputs']
  const asked = Array.isArray(inputs) ? [plural(inputs.length, 'row')] : Object.values(input)
  const named = asked.filter((value) => typeof value !== 'number').join(', ')
  const title = toWords(`${named} · ${definition.skill.name}`)
  return [
    definition.kind === 'batch' ? title : link(urlOf(definition.name, input), title),
    usdc(amount),
    MOMENT.format(new Date(purchase.signed_at)),
    describeOutcome(outcome),
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
