/** Creates elements. Every text becomes a text node, so text of the service and of wallets is never HTML. */
export type Content = Node | string | null | undefined | readonly Content[]

export function create<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | (() => void)> = {},
  content?: Content,
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes))
    if (typeof value === 'function') element.addEventListener(key, value)
    else element.setAttribute(key, value)
  const nodes = [content].flat(9) as (Node | string | null | undefined)[]
  element.append(...nodes.filter((each) => each !== undefined && each !== null))
  return element
}

export const paragraph = (content: Content, kind = ''): HTMLElement => create('p', { class: kind }, content)

export const button = (text: string, click: () => void): HTMLElement =>
  create('button', { type: 'button', class: 'plain', click }, text)

export const link = (href: string, text: string): HTMLElement => create('a', { href }, text)

export const details = (summary: Content, content: Content, kind = ''): HTMLElement =>
  create('details', { class: kind }, [create('summary', {}, summary), content])

/** The first element that fits. Throws if there is none. */
export function find(selector: string, within: ParentNode = document): HTMLElement {
  const found = within.querySelector<HTMLElement>(selector)
  if (!found) throw new Error(`The page lacks ${selector}`)
  return found
}

/** On a narrow screen each row is a block, and each cell shows the head of its column. */
export function tableRow(heads: readonly string[], cells: readonly Content[]): HTMLElement {
  const cell = (content: Content, at: number) => create('td', { 'data-head': heads[at] ?? '' }, content)
  return create('tr', {}, cells.map(cell))
}

export function table(heads: readonly string[], rows: readonly (readonly Content[])[], kind = 'rows'): HTMLElement {
  const body = rows.map((cells) => tableRow(heads, cells))
  return tableAround(heads, create('tbody', {}, body), kind)
}

/** A table whose rows change. */
export function tableAround(heads: readonly string[], body: HTMLElement, kind: string): HTMLElement {
  const head = heads.map((text) => create('th', { scope: 'col' }, text))
  return create('table', { class: kind }, [create('thead', {}, create('tr', {}, head)), body])
}

/** Names and values. Those without a value are left out. */
export function facts(values: Record<string, Content>): HTMLElement {
  const shown = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  const items = shown.map(([name, value]) => [create('dt', {}, name), create('dd', {}, value)])
  return create('dl', {}, items)
}

export function save(name: string, content: BlobPart): void {
  const href = URL.createObjectURL(new Blob([content]))
  create('a', { href, download: name }).click()
  URL.revokeObjectURL(href)
}

/** A button that copies the text, and says so. */
export function copyButton(text: string): HTMLElement {
  const copy = () => navigator.clipboard.writeText(text).then(() => (made.textContent = 'Copied'))
  const made: HTMLElement = button('Copy', () => void copy())
  return made
}

/** The code of lists and of tables is loaded when it is needed. This names its files, with their hashes. */
export function allowLater(): void {
  document.head.append((find('#later') as HTMLTemplateElement).content)
}
