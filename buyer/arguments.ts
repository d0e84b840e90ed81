/** Parsers of command-line values that commands of the buyer take. */
import { InvalidArgumentError } from 'commander'
import { matching } from '../agent/command-line/arguments.ts'
import { readUsdc } from './amounts.ts'
import { formOf, TABLE_ENDS } from './table/table-name.ts'

/** A parser of an option from a function that throws an error with the rule that a value breaks. */
export const parsing =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text)
    } catch (cause) {
      throw new InvalidArgumentError(`${(cause as Error).message}.`)
    }
  }

const checkWhole = matching(/^[1-9][0-9]{0,6}$/, 'It must be a whole number from 1.')

export const parseWholeNumber = (text: string) => Number(checkWhole(text))

/** Returns micro-USDC. */
export function parseAmount(text: string): number {
  const amount = readUsdc(text)
  if (amount !== undefined) return amount
  const proposed = /^[1-9][0-9]{0,8}$/.test(text) ? `: write ${text}.00` : ', such as 0.05'
  throw new InvalidArgumentError(`It must be USDC with a decimal point and at most six decimals${proposed}.`)
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

export function parseTableName(text: string): string {
  if (formOf(text) === undefined) throw new InvalidArgumentError(`Its name must end with one of ${TABLE_ENDS}.`)
  return text
}
