/** The question: the form, its URL, and the operation that both name. */
import { findRoute, textInput } from '../agent/operation/resource.ts'
import { OPERATIONS, SINGLE_OPERATIONS } from '../agent/operation/operations.ts'
import { parseOperation, toNamed, type Operation } from '../agent/operation/operation.ts'
import { readTypedNumber } from '../agent/operation/typed-number.ts'
import { amountOf, type Mode } from '../agent/payment/terms.ts'
import { operationDigest } from '../store/base/canonical.ts'
import { find, usdc } from './elements.ts'

export const { baseUrl, mode, account } = document.body.dataset as { baseUrl: string; mode: Mode; account: string }
export const priceOf = (operation: Operation): number => amountOf({ mode }, operation)

export const form = find('#ask') as HTMLFormElement
const go = find('#go')

type Members = Record<string, string>

export const urlOf = (operation: string, members: Record<string, unknown>): string =>
  `/?${new URLSearchParams({ operation, ...(members as Members) }).toString()}`

export const isSame = (one: Operation, other: Operation): boolean =>
  operationDigest(toNamed(one)) === operationDigest(toNamed(other))

/** The URL that fills the form with the operation: that of the document, if it names the operation. */
export function urlOfOperation(operation: Operation): string {
  const named = askedByUrl()
  const isNamed = named !== undefined && isSame(named, operation)
  return isNamed ? location.pathname + location.search : urlOf(operation.definition.name, operation.input)
}

/** The name and the members in the URL, which is that of the page or of a quote. */
function readUrl(): { name: string; members: Members } {
  const { operation = '', ...members } = Object.fromEntries(new URLSearchParams(location.search))
  const found = findRoute(location.pathname, OPERATIONS)
  if (found) return { name: found.definition.name, members: { ...members, ...found.members } }
  return { name: operation, members }
}

/** The operation that the URL names with all its members. */
export function askedByUrl(): Operation | undefined {
  const { name, members } = readUrl()
  const definition = SINGLE_OPERATIONS.find((each) => each.name === name)
  const parsed = definition && parseOperation(definition, textInput(Object.entries(members)))
  return parsed?.kind === 'valid' ? parsed.operation : undefined
}

/** Fills the form from the URL. The box takes what it can say; other operations have their own fields. */
export function fillForm(): void {
  const { name, members } = readUrl()
  const { company_number, q, limit = '5', ...others } = members
  const text = name === 'lookup' ? company_number : name === 'search' ? q : undefined
  const box = form.querySelector<HTMLFieldSetElement>('[name=box]')
  const own = form.querySelector<HTMLFieldSetElement>(`fieldset[name="${CSS.escape(name)}"]`)
  const isBox = box !== null && (own === null || (text !== undefined && Object.keys(others).length === 0))
  const values = isBox ? { text, limit: name === 'search' ? limit : '10' } : members
  for (const fields of form.querySelectorAll('fieldset')) {
    fields.hidden = fields.disabled = fields !== (isBox ? box : own)
    if (fields.disabled) continue
    if (own && !isBox) find('#intro h1').textContent = find('legend', fields).textContent
    for (const field of fields.querySelectorAll<HTMLInputElement>('[name]'))
      field.value = (values as Partial<Members>)[field.name] ?? ''
    // Filled options are seen.
    for (const more of fields.querySelectorAll('details'))
      more.open = [...more.querySelectorAll<HTMLInputElement>('[name]')].some(({ value }) => value !== '')
  }
}

/** The name of the fields that are shown. */
export const shownFields = (): string => (find('fieldset:enabled', form) as HTMLFieldSetElement).name

/** Rules of the members in the words of the page. The others are those of the operation. */
const RULES: Record<string, string> = {
  company_number: 'A company number has only digits.',
  eircode: 'An Eircode has seven letters and digits.',
  q: 'Type a company number, or at least three letters of a name.',
  name: 'Type at least three letters of a name.',
}

/** The operation that the form asks for, if it is valid. Shows its price, and marks the field that is wrong. */
export function readForm(): Operation | undefined {
  const fields = find('fieldset:enabled', form) as HTMLFieldSetElement
  const inputs = [...fields.querySelectorAll<HTMLInputElement>('[name]')]
  const typed = Object.fromEntries(inputs.map(({ name, value }) => [name, value]).filter(([, value]) => value !== ''))
  const { text = '', ...members } = typed
  const number = readTypedNumber(text || (members['company_number'] ?? ''))?.digits
  const name = fields.name !== 'box' ? fields.name : number === undefined ? 'search' : 'lookup'
  const boxed = number === undefined ? { ...members, q: text } : { company_number: number }
  const named = number === undefined ? members : { ...members, company_number: number }
  const definition = SINGLE_OPERATIONS.find((each) => each.name === name)
  if (!definition) return void (go.textContent = go.dataset[name] ?? '')
  const parsed = parseOperation(definition, textInput(Object.entries(fields.name === 'box' ? boxed : named)))
  const fault = parsed.kind === 'invalid' ? parsed.fault : undefined
  const wrong = inputs.find((input) => input.name === fault?.field) ?? inputs[0]
  const rule = fault && (RULES[fault.field ?? ''] ?? `${fault.field ?? 'This'} ${fault.rule}.`)
  for (const each of inputs) each.setCustomValidity(each === wrong ? (rule ?? '') : '')
  const verb = text === '' && fields.name === 'box' ? 'find' : name
  const price = usdc(definition.prices[mode])
  go.textContent = `${go.dataset[verb] ?? ''}, ${price}`
  find('#price').textContent = price
  return parsed.kind === 'valid' ? parsed.operation : undefined
}
