/** Creates elements. Every text becomes a text node, so text of the service and of wallets is never HTML. */
export type Content = Node | string | readonly Content[] | undefined

export function create<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | (() => void)> = {},
  ...content: Content[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes))
    if (typeof value === 'function') element.addEventListener(key, value)
    else element.setAttribute(key, value)
  element.append(...content.flat(9).flatMap((each) => (each === undefined ? [] : [each as Node | string])))
  return element
}

export const paragraph = (content: Content, kind = ''): HTMLElement => create('p', { class: kind }, content)

export const button = (text: Content, click: () => void, kind = 'plain'): HTMLElement =>
  create('button', { type: 'button', class: kind, click }, text)

export const link = (href: string, text: Content): HTMLElement => create('a', { href }, text)

/** The first element that fits. Throws if there is none. */
export function find(selector: string, within: ParentNode = document): HTMLElement {
  const found = within.querySelector<HTMLElement>(selector)
  if (!found) throw new Error(`The page lacks ${selector}`)
  return found
}

/** On a narrow screen each row is a block, in which the cells show their heads. The roles remain then. */
export function table(heads: readonly string[], rows: readonly (readonly Content[])[]): HTMLElement {
  const head = heads.map((text) => create('th', { role: 'columnheader', scope: 'col' }, text))
  const cell = (content: Content, at: number) =>
    create('td', { role: 'cell', 'data-head': heads[at] ?? '' }, create('span', {}, content))
  const body = rows.map((cells) => create('tr', { role: 'row' }, ...cells.map(cell)))
  return create(
    'table',
    { role: 'table' },
    create('thead', { role: 'rowgroup' }, create('tr', { role: 'row' }, head)),
    create('tbody', { role: 'rowgroup' }, body),
  )
}

/** Names and values. Those without a value are left out. */
export const facts = (values: Record<string, Content | null>): HTMLElement =>
  create(
    'dl',
    {},
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined || value === null || value === '' ? [] : [create('dt', {}, name), create('dd', {}, value)],
    ),
  )

const DAY = new Intl.DateTimeFormat('en-IE', { dateStyle: 'long', timeZone: 'UTC' })
const SHORT_DAY = new Intl.DateTimeFormat('en-IE', { dateStyle: 'medium', timeZone: 'UTC' })
const TIME = new Intl.DateTimeFormat('en-IE', { timeStyle: 'short' })
const MOMENT = new Intl.DateTimeFormat('en-IE', { dateStyle: 'medium', timeStyle: 'short' })

/** A day of the register has no time zone. Times of this browser are local. */
export const showDay = (day: string): string => DAY.format(new Date(day))
/** For a column: without a break. */
export const shortDay = (day: string): string => SHORT_DAY.format(new Date(day)).replaceAll(' ', '\u00A0')
export const showTime = (date: Date): string => TIME.format(date)
export const showMoment = (date: Date): string => MOMENT.format(date)

export const usdc = (micro: number): string => `${micro / 1e6} USDC`

export const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en-IE')} ${noun}${count === 1 ? '' : 's'}`

export function save(name: string, type: string, content: BlobPart): void {
  const href = URL.createObjectURL(new Blob([content], { type }))
  create('a', { href, download: name }).click()
  URL.revokeObjectURL(href)
}

/** A button that copies the text, and says so. */
export function copyButton(text: string, label = 'Copy'): HTMLElement {
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    made.textContent = 'Copied'
    setTimeout(() => (made.textContent = label), 1_500)
  }
  const made: HTMLElement = button(label, () => void copy())
  return made
}

export const shorten = (text: string): string => `${text.slice(0, 8)}…${text.slice(-6)}`

/** A hash or an address, and a button that copies all of it. */
export const shortened = (text: string, href?: string): Content => {
  const short = create('code', { title: text }, shorten(text))
  return [href === undefined ? short : create('a', { href, rel: 'noreferrer' }, short), ' ', copyButton(text)]
}
