/** A company as the benches of the search know it, with nothing but a number and a name unless a test says more. */
import type { Listed } from '../bench/quality/register.ts'

export function aListed(number: string, name: string, change: Partial<Listed> = {}): Listed {
  return { number, name, condition: 'live', eircode: null, addressLines: [], ...change }
}
