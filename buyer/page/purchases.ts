/** The purchases of this browser as a table, and their removal after a question. */
import { purchaseName } from '../library/open-buyer.ts'
import { paidAmount } from '../library/purchase-state.ts'
import { describeOutcome } from '../library/outcome.ts'
import { FOR_PEOPLE } from '../../agent/operation/for-people.ts'
import { parseJson } from '../../base/read-body.ts'
import { allowLater, button, create, link, save, table, type Content } from './elements.ts'
import { urlOf } from './question.ts'
import { listUrl, readLists, type StoredList } from './lists/stored-list.ts'
import { isOpen, onStored, purchasesOf, readPurchases, removePurchases, type Bought } from './storage.ts'
import { LOCAL_DAY, plural, MOMENT, showLater, toWords, usdc } from './words.ts'

/** Shows the purchases, the newest first, in a document that has a list of them, and again when another tab buys. */
export async function showPurchases(): Promise<void> {
  const shown = document.querySelector('#bought')
  const bought = await readPurchases().catch(() => [])
  const lists = await readLists().catch(() => [])
  if (!shown || bought.length + lists.length === 0) return
  const listed = new Set(lists.flatMap(({ batches }) => batches))
  const single = bought.filter(({ purchase }) => !listed.has(purchaseName(purchase.request)))
  const rows = [
    ...lists.map((list) => ({ at: list.began, cells: showList(list, bought) })),
    ...single.map((each) => ({ at: each.purchase.signed_at, cells: showRow(each) })),
  ]
    .toSorted((one, other) => other.at.localeCompare(one.at))
    .map(({ cells }) => cells)
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

/** A list is one purchase, whatever payments it has. */
function showList({ id, name, began, summary, batches }: StoredList, bought: readonly Bought[]): Content[] {
  const paid = bought.filter(({ purchase }) => batches.includes(purchaseName(purchase.request)))
  const removeList = async () => {
    if (!confirm(`${name}\nDelete the list, its choices and its answers? They cannot be fetched again.`)) return
    allowLater()
    const { deleteList } = await import('./lists/change-list.ts')
    await deleteList(id)
    location.reload()
  }
  return [
    link(listUrl(id), name),
    usdc(paidAmount(paid)),
    MOMENT.format(new Date(began)),
    summary || 'begun',
    button('Delete', () => void removeList()),
  ]
}

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

async function remove(name: string, title: string): Promise<void> {
  const same = await purchasesOf(name)
  if (same.some(isOpen)) return alert('A payment of this request is open, so its purchases are kept.')
  if (!confirm(`${title}\nDelete ${plural(same.length, 'purchase')}? The answer cannot be fetched again.`)) return
  await removePurchases(name)
  location.reload()
}
