/** How far a long command is: on a terminal, a line for each tenth of a phase. */
import type { CommandContext } from './context.ts'

export function showProgress({ note, isTerminal = false }: Pick<CommandContext, 'note' | 'isTerminal'>) {
  let last = ''
  /** `share` is from 0 to 1. */
  return ({ phase, share }: { phase: string; share: number }): void => {
    const line = `${phase} ${10 * Math.floor(10 * share)} %`
    if (isTerminal && line !== last) note(line)
    last = line
  }
}
