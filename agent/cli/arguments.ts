/** Parsers of command-line values that several commands take. */
import { InvalidArgumentError } from 'commander'

export function parseAmount(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of micro-USDC.')
  return Number(text)
}

export function parseHttpUrl(text: string): string {
  if (!/^https?:/.test(text) || !URL.canParse(text)) throw new InvalidArgumentError('It must be an http or https URL.')
  return text
}
