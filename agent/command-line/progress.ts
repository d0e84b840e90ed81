/** How far a long command is: on a terminal, a line for each tenth of a phase. */
import type { CommandContext } from './context.ts'

export function showProgress({ note, now, isTerminal = false }: Pick<CommandContext, 'note' | 'now' | 'isTerminal'>) {
  let last = ''
  let [phase, began] = ['', 0]
  /** `share` is from 0 to 1. */
  return (at: { phase: string; rows: number; share: number }): void => {
    if (at.phase !== phase) [phase, began] = [at.phase, now().getTime()]
    const tenth = `${phase} ${10 * Math.floor(10 * at.share)} %`
    if (!isTerminal || tenth === last) return
    last = tenth
    const left = at.share > 0 ? ((now().getTime() - began) * (1 - at.share)) / at.share / 1000 : 0
    const time = left < 60 ? `${Math.ceil(left)} s` : `${Math.ceil(left / 60)} min`
    note([tenth, `${at.rows} rows`, left > 0 && `about ${time} left`].filter(Boolean).join(', '))
  }
}
