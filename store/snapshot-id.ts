/**
 * The snapshot id: what two people with the same archive both arrive at.
 *
 * SHA-256 over lines that end in a line feed: first the version of the normalisation, then every entry in the order
 * of its company number (shorter ones first, then byte by byte), each as RFC 8785 JSON. The archive's own row order, its ZIP form and its date don't enter.
 */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Company, Entry } from './company.ts'

/** Raised whenever the same archive may come out as another snapshot. */
export const NORMALISATION_VERSION = 'cro-2'

/** Lines are hashed together up to this length: a call for each of a million takes longer than the hashing. */
const CHUNK_CHARACTERS = 64 * 1024

export class SnapshotHash {
  readonly #hash = createHash('sha256')
  #lines = `${canonicalize({ normalisation: NORMALISATION_VERSION })}\n`

  /** Adds one entry; the caller adds them in the order of their numbers. */
  add(companyNumber: string, entry: Entry): this {
    const line = entry === 'quarantined' ? { company_number: companyNumber, quarantined: true } : sorted(entry)
    this.#lines += `${JSON.stringify(line)}\n`
    if (this.#lines.length > CHUNK_CHARACTERS) this.#flush()
    return this
  }

  /** `sha256:` and 64 hex digits. Nothing can be added afterwards. */
  id(): string {
    this.#flush()
    return `sha256:${this.#hash.digest('hex')}`
  }

  #flush(): void {
    this.#hash.update(this.#lines)
    this.#lines = ''
  }
}

/** A company with its names in order: JSON of texts, arrays and nulls with sorted names is RFC 8785. */
function sorted(company: Company): Company {
  return {
    company_number: company.company_number,
    company_type: company.company_type,
    company_type_code: company.company_type_code,
    dissolved_date: company.dissolved_date,
    last_accounts_date: company.last_accounts_date,
    last_annual_return_date: company.last_annual_return_date,
    legal_name: company.legal_name,
    nace_v2_code: company.nace_v2_code,
    name_effective_date: company.name_effective_date,
    next_annual_return_date: company.next_annual_return_date,
    principal_object_code: company.principal_object_code,
    registered_address: { eircode: company.registered_address.eircode, lines: company.registered_address.lines },
    registered_date: company.registered_date,
    status: company.status,
    status_code: company.status_code,
    status_date: company.status_date,
    type_effective_date: company.type_effective_date,
  }
}
