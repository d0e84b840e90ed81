/** Asks for an Eircode or an address of a company, below its record and below results. */
import { create, details, paragraph } from './elements.ts'
import { ask, parseTyped, priceOfName } from './question.ts'
import { usdc } from './words.ts'

const FIELDS = { eircode: 'Eircode', address: 'A part of the address' }

/**
 * @param known the name or the number that is checked
 * @param summary what opens the form
 */
export function askForEvidence(known: { name?: string; company_number?: string }, summary: string): HTMLElement {
  const inputs = Object.keys(FIELDS).map((name) =>
    create('input', { id: `evidence-${name}`, name, autocomplete: 'off', maxlength: '160' }),
  )
  const fields = Object.values(FIELDS).map((text, at) => [
    create('label', { for: inputs[at]?.id ?? '' }, text),
    inputs[at],
  ])
  const check = () => {
    const typed = inputs.filter(({ value }) => value.trim() !== '').map(({ name, value }) => [name, value])
    const { operation, fault } = parseTyped('resolve', { ...known, ...Object.fromEntries(typed) })
    const wrong = inputs.find(({ name }) => name === fault?.field) ?? inputs[0]
    for (const each of inputs) each.setCustomValidity('')
    if (typed.length === 0) wrong?.setCustomValidity('Type an Eircode or a part of the address.')
    else if (fault) wrong?.setCustomValidity(`This ${fault.rule}.`)
    else if (operation) ask(operation)
    wrong?.reportValidity()
  }
  const form = create('form', { class: 'evidence' }, [
    ...fields,
    create('button', { class: 'plain' }, `Check, ${usdc(priceOfName('resolve'))}`),
    paragraph('Charged also if it does not fit.', 'quiet'),
  ])
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    check()
  })
  // A message of an earlier click must not stop the next one.
  form.addEventListener('input', () => inputs.forEach((each) => each.setCustomValidity('')))
  return details(summary, form)
}
