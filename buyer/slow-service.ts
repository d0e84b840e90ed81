/** Tells the user of a command that a service does not answer. */
import type { CommandContext } from '../agent/command-line/context.ts'
import { REQUEST_TIMEOUT_MS, type Fetch } from '../base/bounded-fetch.ts'

const SILENT_MS = 10_000

/** A `fetch` that notes a silence once, and again only after an answer. */
export function tellSlow({ fetch, later, note }: Pick<CommandContext, 'fetch' | 'later' | 'note'>): Fetch {
  let isTold = false
  return async (input, init) => {
    const cancel = later(SILENT_MS, () => {
      const { origin } = new URL(input instanceof Request ? input.url : input)
      const [seconds, most] = [SILENT_MS / 1000, REQUEST_TIMEOUT_MS / 1000]
      if (!isTold)
        note(`${origin} has not answered for ${seconds} s. The request ends after ${most} s; Ctrl-C ends it now.`)
      isTold = true
    })
    try {
      const response = await fetch(input, init)
      isTold = false
      return response
    } finally {
      cancel()
    }
  }
}
