/** Company numbers as a person or a model types them, in the input of an operation. Runs in browsers too. */
import { readTypedNumber } from '../agent/operation/typed-number.ts'

const toDigits = (value: unknown): unknown =>
  typeof value === 'string' || typeof value === 'number' ? (readTypedNumber(String(value))?.digits ?? value) : value

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
