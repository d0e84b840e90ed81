/** Creates elements. Every text becomes a text node, so text of the service is never HTML. */
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

/** The first element that fits. Throws if there is none of this type. */
export function find<Found extends HTMLElement>(
  selector: string,
  type: new () => Found,
  within: ParentNode = document,
): Found {
  const found = within.querySelector(selector)
  if (found instanceof type) return found
  throw new Error(`The page lacks ${selector}`)
}

export function table(heads: readonly Content[], rows: readonly (readonly Content[])[]): HTMLElement {
  const head = heads.map((text) => create('th', { scope: 'col' }, text))
  const body = rows.map((cells) => create('tr', {}, ...cells.map((cell) => create('td', {}, cell))))
  const all = create('table', {}, create('thead', {}, create('tr', {}, head)), create('tbody', {}, body))
  return create('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table' }, all)
}

export const usdc = (micro: number): string => `${micro / 1e6} USDC`

const DAY = new Intl.DateTimeFormat('en-IE', { dateStyle: 'long', timeZone: 'UTC' })

export const showDay = (date: string): string => DAY.format(new Date(date))

export function save(name: string, type: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type }))
  create('a', { href, download: name }).click()
  URL.revokeObjectURL(href)
}
