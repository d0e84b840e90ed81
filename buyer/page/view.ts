/** Where an answer stands in the page: its place, the title of the document, and the focus. */
import { find } from './elements.ts'
import { form, shownFields } from './question.ts'

const main = find('main')
const result = find('#result')
const place = find('#answer')
const TITLE = document.title

/** Shows only an answer and the form: the answer is below the box, or above the fields of an operation. */
export function present(...content: Node[]): void {
  document.body.classList.add('answered')
  replace(content, shownFields().name === 'box' ? form.nextElementSibling : form)
  nameView()
}

/** Shows the whole page, with other content in place of an answer. */
export function withdraw(...content: Node[]): void {
  document.body.classList.remove('answered')
  replace(content, form.nextElementSibling)
  nameView()
}

/** The title of the document is that of the answer. */
function nameView(): void {
  const heading = place.querySelector('h1')?.textContent
  document.title = heading ? `${heading} – Irish company records` : TITLE
}

/** Moves the focus to the heading of a new answer, and says it. `more`: what else is said. */
export function announce(more = ''): void {
  const heading = place.querySelector('h1')
  heading?.setAttribute('tabindex', '-1')
  heading?.focus()
  find('#announced').textContent = [heading?.textContent, more].filter(Boolean).join(': ')
}

/** Keeps the focus: a choice in a list renders all its controls again. */
function replace(content: Node[], before: Node | null): void {
  const controls = () => [...place.querySelectorAll<HTMLElement>('select, a, button, summary')]
  const at = controls().findIndex((each) => each === document.activeElement)
  main.insertBefore(result, before)
  place.replaceChildren(...content)
  controls()[at]?.focus()
}
