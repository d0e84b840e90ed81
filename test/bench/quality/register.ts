/** The reference answers of the benchmark: which companies a query name identifies, by the benchmark's own rules. */
import type { Company } from '../../../store/company.ts'
import { fold, partsOf, type LegalForm } from './names.ts'

/** The fields of a company that queries are made from, so that a whole register fits in memory. */
export interface BenchCompany {
  number: string
  name: string
  condition: 'live' | 'dissolved' | 'other'
  eircode: string | null
  addressLines: readonly string[]
}

export function toBenchCompany(company: Company): BenchCompany {
  const { company_number, legal_name, status, registered_address } = company
  return {
    number: company_number,
    name: legal_name,
    condition: toCondition(status ?? ''),
    eircode: registered_address.eircode,
    addressLines: registered_address.lines,
  }
}

function toCondition(status: string): BenchCompany['condition'] {
  if (status === 'Normal') return 'live'
  return status.startsWith('Dissolved') ? 'dissolved' : 'other'
}

interface Entry {
  number: string
  form: LegalForm | undefined
}

export class ReferenceRegister {
  readonly #byCore = new Map<string, Entry[]>()
  readonly companies: readonly BenchCompany[]

  constructor(companies: readonly BenchCompany[]) {
    this.companies = companies
    for (const { number, name } of companies) {
      const { core, form } = partsOf(name)
      const key = fold(core)
      const same = this.#byCore.get(key)
      if (same) same.push({ number, form })
      else this.#byCore.set(key, [{ number, form }])
    }
  }

  /** The companies that a query names: the same words, and the same legal form or none in the query. */
  named(query: string): string[] {
    const { core, form } = partsOf(query)
    const same = this.#byCore.get(fold(core)) ?? []
    return same.filter((entry) => form === undefined || entry.form === form).map(({ number }) => number)
  }

  /** The companies with the same words and legal form. */
  sameName(name: string): string[] {
    const { core, form } = partsOf(name)
    const same = this.#byCore.get(fold(core)) ?? []
    return same.filter((entry) => entry.form === form).map(({ number }) => number)
  }

  /** The companies with these words before the legal form. */
  withCore(foldedCore: string): string[] {
    return this.#byCore.get(foldedCore)?.map(({ number }) => number) ?? []
  }
}
