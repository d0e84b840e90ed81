/** Company numbers as a person or a model types them, in the input of an operation or a list. Runs in browsers too. */
import { readTypedNumber } from '../agent/operation/typed-number.ts'

/**
 * A minus sign or a dash before the number, which can be a mistyped option or a negative number. Other punctuation can
 * come first: in a CSV, a quote keeps a spreadsheet from reading a formula.
 */
const SIGNED = /^[^\p{L}\p{N}]*[\p{Pd}\u2212]/u

/** Whether a text is a number with a sign, which is read nowhere. */
export const isSignedNumber = (text: string): boolean => SIGNED.test(text) && readTypedNumber(text) !== undefined

/** The digits of a company number. Undefined if the text has another form, or a sign. */
export const readNumber = (text: string): string | undefined =>
  isSignedNumber(text) ? undefined : readTypedNumber(text)?.digits

const toDigits = (value: unknown): unknown =>
  typeof value === 'string' || typeof value === 'number' ? (readNumber(String(value)) ?? value) : value

/** How a typed number was read. Undefined if it has only digits and spaces. */
export const describeReading = (typed: string, number: unknown): string | undefined =>
  /[^0-9\s]/.test(typed) ? `The number ${JSON.stringify(typed)} is read as ${String(number)}.` : undefined

export function readTypedInput(input: Record<string, unknown>): Record<string, unknown> {
  const { company_number: number, company_numbers: numbers, inputs } = input
  return {
    ...input,
    ...(number !== undefined && { company_number: toDigits(number) }),
    ...(Array.isArray(numbers) && { company_numbers: numbers.map(toDigits) }),
    ...(Array.isArray(inputs) && {
      inputs: inputs.map((each: unknown) =>
        typeof each === 'object' && each !== null ? readTypedInput(each as Record<string, unknown>) : each,
      ),
    }),
  }
}
