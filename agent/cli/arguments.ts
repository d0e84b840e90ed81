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

export function parsePort(text: string): number {
  if (!/^(?:0|[1-9][0-9]{0,4})$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port from 0 to 65535.')
  return Number(text)
}

export function parseSeparator(text: string): string {
  const separator = text === 'tab' ? '\t' : text
  if (!/^[^"\r\n]{1,8}$/.test(separator))
    throw new InvalidArgumentError('It must have 1 to 8 characters, and no quote.')
  return separator
}
