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

export const paragraph = (text: string, kind = ''): HTMLElement => create('p', { class: kind }, text)

/** The first element that fits. Throws if there is none. */
export function find(selector: string, within: ParentNode = document): HTMLElement {
  const found = within.querySelector<HTMLElement>(selector)
  if (!found) throw new Error(`The page lacks ${selector}`)
  return found
}

export function table(heads: readonly Content[], rows: readonly (readonly Content[])[]): HTMLElement {
  const head = heads.map((text) => create('th', { scope: 'col' }, text))
  const body = rows.map((cells) => create('tr', {}, ...cells.map((cell) => create('td', {}, cell))))
  const all = create('table', {}, create('thead', {}, create('tr', {}, head)), create('tbody', {}, body))
  return create('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table' }, all)
}

const DAY = new Intl.DateTimeFormat('en-IE', { dateStyle: 'long', timeZone: 'UTC' })

export const showDay = (date: string): string => DAY.format(new Date(date))

/** Members by their names. Those without a value are left out, and dates are written out. */
export const facts = (values: Record<string, string | null>): HTMLElement[] =>
  Object.entries(values).flatMap(([name, value]) => {
    if (value === null || value === '') return []
    const text = /^\d{4}-\d\d-\d\d$/.test(value) ? showDay(value) : value
    return [create('dt', {}, name.replaceAll('_', ' ')), create('dd', {}, text)]
  })

export const usdc = (micro: number): string => `${micro / 1e6} USDC`

export function save(name: string, type: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type }))
  create('a', { href, download: name }).click()
  URL.revokeObjectURL(href)
}
