/** The reference answers of the benchmark: which companies a query name identifies, by the benchmark's own rules. */
import type { Company } from '../../../store/dataset/company.ts'
import { coreWords, partsOf } from './names.ts'

/** The fields of a company that queries are made from, so that a whole register fits in memory. */
export interface BenchCompany {
  number: string
  name: string
  status: string
  eircode: string | null
  addressLines: readonly string[]
}

export function toBenchCompany({ company_number, legal_name, status, registered_address }: Company): BenchCompany {
  const { eircode, lines } = registered_address
  return { number: company_number, name: legal_name, status: status ?? '', eircode, addressLines: lines }
}

/** Texts by which companies are found, made from the words of their names before the legal form. */
const TEXTS = {
  core: (words: string[]) => [words.join(' ')],
  /** The name without its last word, or its last two. */
  beginning: (words: string[]) =>
    [1, 2].filter((less) => less < words.length).map((less) => words.slice(0, -less).join(' ')),
  word: (words: string[]) => new Set(words),
  lettersOnly: (words: string[]) => [words.join('')],
}

export class ReferenceRegister {
  readonly companies: readonly BenchCompany[]
  /** By kind of text, built on first use. */
  readonly #tables = new Map<keyof typeof TEXTS, Map<string, BenchCompany[]>>()

  constructor(companies: readonly BenchCompany[]) {
    this.companies = companies
  }

  find(kind: keyof typeof TEXTS, text: string): readonly BenchCompany[] {
    return this.#table(kind).get(text) ?? []
  }

  /** The numbers of the companies that a query names: the same words, and the same legal form or none in the query. */
  named(query: string): string[] {
    const { form } = partsOf(query)
    return this.#sameWords(query)
      .filter(({ name }) => form === undefined || partsOf(name).form === form)
      .map(({ number }) => number)
  }

  /** The numbers of the companies with the same words and legal form. */
  sameName(name: string): string[] {
    const { form } = partsOf(name)
    return this.#sameWords(name)
      .filter((each) => partsOf(each.name).form === form)
      .map(({ number }) => number)
  }

  /** The words that the names of other companies have behind the words of this one. */
  addedWords(name: string): string[] {
    const { length } = coreWords(name)
    return this.find('beginning', coreWords(name).join(' ')).map((other) =>
      coreWords(other.name).slice(length).join(' '),
    )
  }

  /** The companies whose name begins with a text. */
  beginningWith(text: string): BenchCompany[] {
    return [...this.#table('core')].flatMap(([core, companies]) => (core.startsWith(text) ? companies : []))
  }

  #sameWords(name: string): readonly BenchCompany[] {
    return this.find('core', coreWords(name).join(' '))
  }

  #table(kind: keyof typeof TEXTS): ReadonlyMap<string, BenchCompany[]> {
    const built = this.#tables.get(kind)
    if (built) return built
    const table = new Map<string, BenchCompany[]>()
    for (const company of this.companies) {
      for (const text of TEXTS[kind](coreWords(company.name))) {
        const same = table.get(text)
        if (same) same.push(company)
        else table.set(text, [company])
      }
    }
    this.#tables.set(kind, table)
    return table
  }
}
