/** The reference answers of the benchmark: which companies a query name identifies, by the benchmark's own rules. */
import type { Company } from '../../../store/dataset/company.ts'
import { fold, partsOf, type LegalForm } from './names.ts'
import { coreWords, initialsOf } from './search-classes.ts'

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

/** Numbers of companies by a text that is made from their names. Built on first use. */
class NameTable {
  #table: Map<string, string[]> | undefined
  readonly #companies: readonly BenchCompany[]
  readonly #textsOf: (name: string) => Iterable<string>

  constructor(companies: readonly BenchCompany[], textsOf: (name: string) => Iterable<string>) {
    this.#companies = companies
    this.#textsOf = textsOf
  }

  find(text: string): readonly string[] {
    return this.#built().get(text) ?? []
  }

  #built(): Map<string, string[]> {
    if (this.#table) return this.#table
    const table = new Map<string, string[]>()
    for (const { number, name } of this.#companies) {
      for (const text of this.#textsOf(name)) {
        const numbers = table.get(text)
        if (numbers) numbers.push(number)
        else table.set(text, [number])
      }
    }
    this.#table = table
    return table
  }
}

const FIVE_LETTERS = 5

interface Entry {
  number: string
  form: LegalForm | undefined
}

export class ReferenceRegister {
  readonly #byCore = new Map<string, Entry[]>()
  readonly companies: readonly BenchCompany[]

  readonly #byWord: NameTable
  readonly #byFiveLetters: NameTable
  readonly #byLettersOnly: NameTable
  readonly #byInitials: NameTable
  #sortedCores: { core: string; number: string }[] | undefined

  constructor(companies: readonly BenchCompany[]) {
    this.companies = companies
    this.#byWord = new NameTable(companies, (name) => new Set(coreWords(name)))
    this.#byFiveLetters = new NameTable(
      companies,
      (name) => new Set(coreWords(name).map((word) => word.slice(0, FIVE_LETTERS))),
    )
    this.#byLettersOnly = new NameTable(companies, (name) => [coreWords(name).join('')])
    this.#byInitials = new NameTable(companies, (name) => [initialsOf(name)])
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

  /** The companies with a word in their name. */
  withWord(word: string): readonly string[] {
    return this.#byWord.find(word)
  }

  /** The companies with a word that begins with these five letters. */
  withFiveLetters(letters: string): readonly string[] {
    return this.#byFiveLetters.find(letters)
  }

  /** The companies whose name is this without spaces. */
  withLetters(letters: string): readonly string[] {
    return this.#byLettersOnly.find(letters)
  }

  withInitials(initials: string): readonly string[] {
    return this.#byInitials.find(initials)
  }

  /** The companies whose name begins with a text. */
  beginningWith(text: string): readonly string[] {
    this.#sortedCores ??= this.companies
      .map(({ number, name }) => ({ core: coreWords(name).join(' '), number }))
      .toSorted((one, other) => (one.core < other.core ? -1 : 1))
    const sorted = this.#sortedCores
    let low = 0
    let high = sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (sorted[middle]!.core < text) low = middle + 1
      else high = middle
    }
    const end = sorted.findIndex(({ core }, at) => at >= low && !core.startsWith(text))
    return sorted.slice(low, end === -1 ? undefined : end).map(({ number }) => number)
  }

  hasCore(foldedCore: string): boolean {
    return this.#byCore.has(foldedCore)
  }
}
