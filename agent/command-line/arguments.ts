/** Parsers of command-line values that several commands take. */
import { InvalidArgumentError } from 'commander'

/** A parser of an option. It returns a text that matches, and otherwise fails with `rule`. */
export const matching = (pattern: RegExp, rule: string) => (text: string) => {
  if (!pattern.test(text)) throw new InvalidArgumentError(rule)
  return text
}

/** Without a slash at its end. */
export function parseHttpUrl(text: string): string {
  if (!/^https?:/.test(text) || !URL.canParse(text)) throw new InvalidArgumentError('It must be an http or https URL.')
  return text.replace(/\/$/, '')
}
