/** How far a long command is: a bar with the rows and the remaining time. */
import { counted } from '../../base/grammar.ts'
import type { CommandContext } from './context.ts'

const BAR_CHARACTERS = 20

/** `share` is from 0 to 1. */
export interface ProgressOf {
  phase: string
  rows: number
  share: number
}

/** The remaining time counts from the first share of a phase, where a resumed command stands. */
export function showProgress({ showStatus, now }: Pick<CommandContext, 'showStatus' | 'now'>) {
  let last = ''
  let began = { phase: '', at: 0, share: 0 }
  return ({ phase, rows, share }: ProgressOf): void => {
    if (phase !== began.phase) began = { phase, at: now().getTime(), share }
    const percent = Math.floor(100 * share)
    if (`${phase} ${percent}` === last) return
    last = `${phase} ${percent}`
    const done = share - began.share
    const left = done > 0 ? ((now().getTime() - began.at) * (1 - share)) / done / 1000 : 0
    const time = left < 60 ? `${Math.ceil(left)} s` : `${Math.ceil(left / 60)} min`
    const full = Math.floor(BAR_CHARACTERS * share)
    const bar = `[${'#'.repeat(full)}${'-'.repeat(BAR_CHARACTERS - full)}]`
    showStatus(
      [`${phase} ${bar} ${percent} %`, counted(rows, 'row'), left > 0 && `about ${time} left`]
        .filter(Boolean)
        .join(', '),
    )
  }
}
