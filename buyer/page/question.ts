/** The question: the form, its URL, and the operation that both name. */
import { readTypedInput } from '../typed-input.ts'
import { findRoute, textInput } from '../../agent/operation/resource.ts'
import { OPERATIONS, SINGLE_OPERATIONS } from '../../agent/operation/operations.ts'
import { parseOperation, toNamed, type Operation } from '../../agent/operation/operation.ts'
import { readTypedNumber } from '../../agent/operation/typed-number.ts'
import { amountOf, type Mode } from '../../agent/payment/terms.ts'
import { operationDigest } from '../../base/canonical.ts'
import { removeIgnorable } from '../../base/hidden.ts'
import { find } from './elements.ts'
import { usdc, withoutTechnical } from './words.ts'

export const { baseUrl, mode, account } = document.body.dataset as { baseUrl: string; mode: Mode; account: string }
export const priceOfName = (name: string): number =>
  SINGLE_OPERATIONS.find((each) => each.name === name)?.prices[mode] ?? 0
export const priceOf = (operation: Operation): number => amountOf({ mode }, operation)

export const form = find('#ask')
const go = find('#go')
/** The results of a search by the box. */
const BOX_LIMIT = '10'

type Members = Record<string, string>

export const urlOf = (operation: string, members: Record<string, unknown>): string =>
  `/?${new URLSearchParams({ operation, ...(members as Members) }).toString()}`

/** The name and the members in the URL, which is that of the page or of a quote, without marks of direction. */
export function readUrl(): { name: string; members: Members } {
  const given = [...new URLSearchParams(location.search)].map(([name, value]) => [name, removeIgnorable(value)])
  const { operation = '', ...members } = Object.fromEntries(given) as Members
  const found = findRoute(location.pathname, OPERATIONS)
  if (found) return { name: found.definition.name, members: { ...members, ...found.members } }
  return { name: operation, members }
}

/** An operation with its members as typed texts: valid, or with the rule that they break. */
export function parseTyped(name: string, members: Members) {
  const definition = SINGLE_OPERATIONS.find((each) => each.name === name)
  const parsed = definition && parseOperation(definition, readTypedInput(textInput(Object.entries(members))))
  return {
    definition,
    operation: parsed?.kind === 'valid' ? parsed.operation : undefined,
    fault: parsed?.kind === 'invalid' ? { ...parsed.fault, rule: withoutTechnical(parsed.fault.rule) } : undefined,
  }
}

export const isSame = (one: Operation, other: Operation): boolean =>
  operationDigest(toNamed(one)) === operationDigest(toNamed(other))

/** The operation that the URL names with all its members. */
export function askedByUrl(): Operation | undefined {
  const { name, members } = readUrl()
  return parseTyped(name, members).operation
}

const ASKED = 'operation-asked'

/** Asks for an operation outside the form. */
export const ask = (operation: Operation): boolean => form.dispatchEvent(new CustomEvent(ASKED, { detail: operation }))

export const onAsked = (work: (operation: Operation) => void): void =>
  form.addEventListener(ASKED, (event) => work((event as CustomEvent<Operation>).detail))

/** Whether the URL names this operation. */
export const isAsked = (operation: Operation, asked = askedByUrl()): boolean =>
  asked !== undefined && isSame(asked, operation)

const namedInputs = (fields: HTMLElement) => [...fields.querySelectorAll<HTMLInputElement>('[name]')]

/** Fills the form from the URL. The box takes what it can say; other operations have their own fields. */
export function fillForm(): void {
  const { name, members } = readUrl()
  const { company_number, q, limit, ...others } = members
  const isPlain = limit === BOX_LIMIT && Object.keys(others).length === 0
  const text = name === 'lookup' ? company_number : name === 'search' && isPlain ? q : undefined
  const fieldsOf = (of: string) => form.querySelector<HTMLFieldSetElement>(`fieldset[name="${CSS.escape(of)}"]`)
  const box = fieldsOf('box')
  const shown = box && text !== undefined ? box : (fieldsOf(name) ?? box)
  for (const fields of form.querySelectorAll('fieldset')) fields.hidden = fields.disabled = fields !== shown
  if (!shown) return
  find('#intro h1').textContent = find('legend', shown).textContent
  // Keeps text that a person typed before the script has loaded.
  for (const input of namedInputs(shown))
    input.value =
      (shown === box ? text : members[input.name]) ?? (document.readyState === 'complete' ? '' : input.value)
  // Filled options are seen.
  for (const more of shown.querySelectorAll('details')) more.open = namedInputs(more).some(({ value }) => value !== '')
}

/** The fields that are shown. Their name is that of an operation, `box` or `list`. */
export const shownFields = (): HTMLFieldSetElement => find('fieldset:enabled', form) as HTMLFieldSetElement

/** The answer below the form, which is bought: pressed again, the button shows it, or buys anew if it is old. */
let bought: { operation: Operation; isOld: boolean } | undefined
export function offerAgain(next: typeof bought): void {
  bought = next
  readForm()
}

/** The operation that the form asks for, if it is valid. Shows its price, and marks the field that is wrong. */
export function readForm(): Operation | undefined {
  const fields = shownFields()
  const inputs = namedInputs(fields)
  const filled = inputs.filter(({ value }) => value !== '')
  const { text = '', ...typed } = Object.fromEntries(filled.map(({ name, value }) => [name, value]))
  const number = readTypedNumber(text)?.digits
  const boxed = number === undefined ? { q: text, limit: BOX_LIMIT } : { company_number: number }
  const isBox = fields.name === 'box'
  const name = !isBox ? fields.name : number === undefined ? 'search' : 'lookup'
  const { definition, operation, fault } = parseTyped(name, isBox ? boxed : typed)
  const own = operation && bought && isSame(operation, bought.operation) ? bought : undefined
  const verb = own?.isOld ? 'Look again' : (go.dataset[name] ?? '')
  showPrice(verb, own?.isOld === false ? 0 : definition?.prices[mode])
  const wrong = inputs.find((input) => input.name === fault?.field) ?? inputs[0]
  const rule = fault && `${wrong?.labels?.[0]?.textContent} ${fault.rule}.`
  for (const each of inputs) each.setCustomValidity(each === wrong ? (rule ?? '') : '')
  return operation
}

/** Says what the button does, and what it costs. */
export function showPrice(verb: string, price = 0): void {
  Object.assign(go, { disabled: false, textContent: price === 0 ? verb : `${verb}, ${usdc(price)}` })
  find('#price').textContent = usdc(price)
}
