/** The purchases of this browser as a table, and their removal after a question. */
import { paidEntry } from '../agent/buyer/library/purchase-file.ts'
import { isRefused, isSettledEarlier } from '../agent/buyer/library/purchase-state.ts'
import { button, create, find, link, plural, save, showMoment, table, usdc, type Content } from './elements.ts'
import { urlOfOperation } from './question.ts'
import { readPurchases, requestOf, storage, type Bought } from './storage.ts'

const STATES: Record<string, string> = {
  paid: 'Sold',
  open: 'Open: not known yet',
  refused: 'Not sold',
  expired: 'Ended without an answer',
}

const titleOf = ({ operation: { definition, input } }: Bought): string => {
  const inputs = input['inputs']
  const asked = Array.isArray(inputs) ? [plural(inputs.length, 'row')] : Object.values(input)
  return `${asked.filter((value) => typeof value !== 'number').join(', ')} · ${definition.skill.name}`
}

function stateText({ state, purchase: { answer } }: Bought): string | undefined {
  if (isSettledEarlier(answer)) return 'Paid, without an answer: contact the operator'
  return STATES[state === 'open' && isRefused(answer) ? 'refused' : state]
}

/** Shows the purchases, the newest first, in a document that has a list of them. */
export async function showPurchases(): Promise<void> {
  const shown = document.querySelector('#bought')
  const bought = await readPurchases().catch(() => [])
  if (!shown || bought.length === 0) return
  const rows = bought.map((each): Content[] => {
    const { operation, purchase, state, amount, name } = each
    return [
      operation.definition.kind === 'batch' ? titleOf(each) : link(urlOfOperation(operation), titleOf(each)),
      usdc(amount),
      showMoment(new Date(purchase.signed_at)),
      stateText(each),
      [
        button('Download', () => save(`purchase-${name}`, 'application/json', JSON.stringify(purchase))),
        state === 'open' ? [] : [' ', button('Delete', () => void remove(each, bought))],
      ],
    ]
  })
  shown.replaceChildren(table(['Company or query', 'Price', 'When', 'State', 'File'], rows))
}

/**
 * Removes the purchases of a request together, because a remaining older one would be taken for the newest. Keeps them
 * if one is open: its payment may still be settled.
 */
async function remove(bought: Bought, all: readonly Bought[]): Promise<void> {
  const same = all.filter((each) => requestOf(each) === requestOf(bought))
  const hasOpen = same.some(({ state }) => state === 'open')
  const text = hasOpen
    ? 'A payment of this request is open, so its purchases are kept.'
    : `Delete ${same.length === 1 ? 'this purchase' : `these ${same.length} purchases`}? The answer cannot be fetched again.`
  const dialog = create('dialog', { 'aria-label': 'Delete' }, create('p', {}, `${titleOf(bought)}. ${text}`))
  const close = () => dialog.remove()
  const confirm = async () => {
    for (const { name } of same) {
      await storage.remove(paidEntry({ storage, name }).name)
      await storage.remove(name)
    }
    close()
    if (same.length === all.length) location.reload()
    else await showPurchases()
  }
  const buttons = [button('Keep', close), ...(hasOpen ? [] : [' ', button('Delete', () => void confirm(), 'danger')])]
  dialog.append(create('p', { class: 'actions' }, buttons))
  dialog.addEventListener('close', close)
  find('main').append(dialog)
  dialog.showModal()
}
