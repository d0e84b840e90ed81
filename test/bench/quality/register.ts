/** The register as the bench knows it: what it asks about each company, and which companies a query names. */
import type { Company } from '../../../store/company.ts'
import { fold, partsOf, type LegalForm } from './names.ts'

/** As little of a record as the questions need, so that a whole register fits in memory. */
export interface Listed {
  number: string
  name: string
  condition: 'live' | 'dissolved' | 'other'
  eircode: string | null
  addressLines: readonly string[]
}

export function listed(company: Company): Listed {
  const { company_number, legal_name, status, registered_address } = company
  return {
    number: company_number,
    name: legal_name,
    condition: conditionOf(status ?? ''),
    eircode: registered_address.eircode,
    addressLines: registered_address.lines,
  }
}

function conditionOf(status: string): Listed['condition'] {
  if (status === 'Normal') return 'live'
  return status.startsWith('Dissolved') ? 'dissolved' : 'other'
}

interface Held {
  number: string
  form: LegalForm | undefined
}

export class Register {
  readonly #byCore = new Map<string, Held[]>()
  readonly companies: readonly Listed[]

  constructor(companies: readonly Listed[]) {
    this.companies = companies
    for (const { number, name } of companies) {
      const { core, form } = partsOf(name)
      const key = fold(core)
      const same = this.#byCore.get(key)
      if (same) same.push({ number, form })
      else this.#byCore.set(key, [{ number, form }])
    }
  }

  /** The companies whose name a query is: the same words and kind of legal form, or the same words and no form asked. */
  named(query: string): string[] {
    const { core, form } = partsOf(query)
    const same = this.#byCore.get(fold(core)) ?? []
    return same.filter((held) => form === undefined || held.form === form).map(({ number }) => number)
  }

  /** The companies that nobody could tell from this one by its name. */
  sameName(name: string): string[] {
    const { core, form } = partsOf(name)
    const same = this.#byCore.get(fold(core)) ?? []
    return same.filter((held) => held.form === form).map(({ number }) => number)
  }

  hasCore(foldedCore: string): boolean {
    return this.#byCore.has(foldedCore)
  }
}
