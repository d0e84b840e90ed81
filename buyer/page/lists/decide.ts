/**
 * Decides rows one after the other: the candidates of one row as a table, with what differs marked. Only this part is
 * built again for the next row, and the focus stays in it.
 */
import { candidateRows } from '../../candidate-row.ts'
import type { Candidate } from '../../../agent/operation/result.ts'
import { showAddress } from '../../address.ts'
import { button, create, paragraph, table, type Content } from '../elements.ts'
import { statusOf } from '../record.ts'
import { showDay, toWords } from '../words.ts'
import { nextUndecided, type ShownRow, type Step } from './state.ts'

export interface Deciding {
  rows: () => readonly ShownRow[]
  /** Stores a step of a person. */
  take: (row: ShownRow, step: Omit<Step, 'at'>) => void
}

const HEADS = ['Choose', 'Name', 'Status', 'Eircode', 'Address', 'Registered', 'Why']

export function createDecider({ rows, take }: Deciding) {
  const announcer = create('p', { class: 'quiet', role: 'status' })
  const place = create('div')
  const element = create('section', { class: 'decide', 'aria-label': 'Decide', hidden: '' }, [place, announcer])
  let at = 0
  /** The rows that were decided, the last one last. */
  const before: number[] = []

  const open = (index: number | undefined, said = ''): void => {
    element.hidden = false
    const row = index === undefined ? undefined : rows()[index]
    const left = rows().filter(({ group }) => group === 'undecided').length
    announcer.textContent = said
    if (!row || index === undefined) {
      place.replaceChildren(create('h2', { tabindex: '-1' }, 'All rows are decided'), undo())
      place.querySelector('h2')?.focus()
      return
    }
    at = index
    place.replaceChildren(...showQuestion(row, left, { choose, skip, undo: undo() }))
    const chosen =
      place.querySelector<HTMLElement>('[aria-pressed=true]') ?? place.querySelector<HTMLElement>('tbody button')
    chosen?.focus()
  }
  const note = () => place.querySelector('input')?.value.trim() ?? ''
  const next = (said: string) => open(nextUndecided(rows(), at + 1), said)
  const choose = (number: string | undefined): void => {
    const row = rows()[at]
    if (!row) return
    before.push(at)
    take(row, number === undefined ? { kind: 'none', note: note() } : { kind: 'chosen', number, note: note() })
    next(`Row ${row.at}: ${number === undefined ? 'none of these' : `chosen ${number}`}.`)
  }
  const skip = (): void => {
    const row = rows()[at]
    if (row && note() !== '' && note() !== row.note) take(row, { kind: 'noted', note: note() })
    next('')
  }
  const takeBack = (): void => {
    const index = before.pop()
    const row = index === undefined ? undefined : rows()[index]
    if (!row) return
    take(row, { kind: 'undone', note: '' })
    open(index, `Row ${row.at} is taken back.`)
  }
  const undo = (): HTMLElement => {
    const made = button('Undo (U)', takeBack)
    made.hidden = before.length === 0
    return made
  }
  element.addEventListener('keydown', (event) => onKey(event, { place, choose, skip, takeBack }))
  return { element, open }
}

interface Keys {
  place: HTMLElement
  choose: (number: string | undefined) => void
  skip: () => void
  takeBack: () => void
}

/** Keys act inside this part alone, and not while a note is typed. */
function onKey(event: KeyboardEvent, { place, choose, skip, takeBack }: Keys): void {
  const buttons = [...place.querySelectorAll<HTMLElement>('tbody button')]
  const focused = buttons.findIndex((each) => each === document.activeElement)
  const move = (to: number) => buttons[(to + buttons.length) % buttons.length]?.focus()
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target instanceof HTMLInputElement) {
    if (event.key === 'Enter' || event.key === 'Escape') move(0)
    else return
    return event.preventDefault()
  }
  const actions: Record<string, () => void> = {
    ArrowDown: () => move(focused + 1),
    ArrowUp: () => move(focused - 1),
    0: () => choose(undefined),
    n: () => place.querySelector('input')?.focus(),
    s: skip,
    u: takeBack,
  }
  const numbered = /^[1-9]$/.test(event.key) ? buttons[Number(event.key) - 1] : undefined
  const act = numbered ? () => numbered.click() : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key]
  if (!act) return
  event.preventDefault()
  act()
}

interface Actions extends Pick<Keys, 'choose' | 'skip'> {
  undo: HTMLElement
}

function showQuestion(row: ShownRow, left: number, { choose, skip, undo }: Actions): Node[] {
  const { result } = row.known
  if (result.kind !== 'bought') return []
  const { address, eircode } = row.known.listed.cells
  const asked = [...row.asked, row.asked.includes(eircode ?? '') ? '' : eircode, address].filter(Boolean).join(', ')
  const note = create('input', { type: 'text', id: 'note', maxlength: '500', autocomplete: 'off' })
  note.value = row.note
  const heading = row.isDecided ? `Row ${row.at}: ${row.decision}` : `Row ${row.at}, ${left} to decide`
  return [
    create('h2', {}, heading),
    paragraph(create('strong', {}, asked)),
    candidateTable(row, choose),
    create('p', { class: 'actions' }, [
      button('None of these (0)', () => choose(undefined)),
      button('Next (S)', skip),
      undo,
      create('label', { class: 'note' }, ['Note (N) ', note]),
    ]),
    paragraph('Keys: 1 to 9 choose, 0 none of these, arrows move, N note, S next, U undo.', 'quiet keys'),
  ]
}

function candidateTable(
  { known: { result, listed }, company, isDecided }: ShownRow,
  choose: Actions['choose'],
): HTMLElement {
  if (result.kind !== 'bought') throw new Error('Only a bought row has candidates')
  const { candidates } = result.answer
  const reasons = candidateRows(result.answer).map(({ reason }) => reason)
  const shownOf = candidates.map((candidate) => valuesOf(candidate))
  const differs = [0, 1, 2, 3].map((column) => new Set(shownOf.map((values) => values[column])).size > 1)
  const isAsked = (code: string) => normal(code) === normal(listed.cells.eircode ?? '') && code !== ''
  const rows = candidates.map(({ company: each, signals }, at) => {
    const { company_number: number, legal_name: name, registered_address: address } = each
    const isChosen = isDecided && company?.company_number === number
    const chooser = create(
      'button',
      {
        type: 'button',
        class: 'plain',
        'aria-pressed': String(isChosen),
        'aria-label': `Choose ${number} ${name}`,
        click: () => choose(number),
      },
      isChosen ? '✓ Chosen' : `Choose${at < 9 ? ` (${at + 1})` : ''}`,
    )
    const code = address.eircode ?? 'not recorded'
    const texts: Content[] = [
      statusOf(each, result.answer),
      isAsked(code) ? `✓ ${code}` : code,
      [signals.address_contains ? '✓ ' : '', showAddress(each)],
      showDay(each.registered_date),
    ]
    const marked = texts.map((text, column) => (differs[column] ? create('mark', {}, text) : text))
    const cells: Content[] = [chooser, [create('strong', {}, name), ` ${number}`]]
    return cells.concat(marked, toWords(reasons[at] ?? ''))
  })
  return table(HEADS, rows, 'rows candidates')
}

const normal = (code: string) => code.replaceAll(/\s/g, '').toUpperCase()

/** What can differ between two candidates of one name. */
const valuesOf = ({ company }: Candidate): string[] => [
  company.status ?? '',
  company.registered_address.eircode ?? '',
  showAddress(company),
  company.registered_date ?? '',
]
