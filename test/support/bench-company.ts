/** A company of the search benchmarks. It has only a number and a name unless `change` sets more. */
import type { BenchCompany } from '../bench/quality/register.ts'

export function benchCompany(number: string, name: string, change: Partial<BenchCompany> = {}): BenchCompany {
  return { number, name, condition: 'live', eircode: null, addressLines: [], ...change }
}
