/** The button of the form while a list is shown. */
import { find } from '../elements.ts'
import { showPrice, shownFields } from '../question.ts'

type Work = () => Promise<unknown>

let work: Work = async () => {}
let last = offerNothing

/** What a click does. */
export const press = (): Promise<unknown> => work()

/** Shows the button with its price, and the wallets if it has one. */
export function offer(verb: string, price: number, next: Work): void {
  last = () => offer(verb, price, next)
  work = next
  showPrice(verb, price)
  find('#go').hidden = false
  find('#terms').hidden = price === 0
}

/** There is nothing to buy now. */
export function offerNothing(): void {
  last = offerNothing
  hideButton()
}

/** Hides the button while something else is shown. */
export function hideButton(): void {
  work = async () => {}
  find('#go').hidden = true
  find('#terms').hidden = true
}

/** Shows the button as it was last offered. */
export const restoreButton = (): void => last()

let newest = 0

/** Begins to show something. Returns whether it is still wanted: a person can open something else meanwhile. */
export function begin(): () => boolean {
  const own = (newest += 1)
  return () => own === newest && shownFields().name === 'list'
}
