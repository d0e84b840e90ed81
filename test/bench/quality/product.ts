/** The product as the bench asks it: the function that the service sells by, without HTTP and payment. */
import type { Operation } from '../../../agent/operation/schema.ts'
import { resolveResponseSchema, searchResponseSchema, type Candidate } from '../../../agent/operation/result.ts'
import type { Shelf } from '../../../agent/skills/skill.ts'
import { prepareAnswer } from '../../../agent/skills/skills.ts'

/** What came of a search, best first; undefined when it was refused. */
type Found = readonly Named[] | undefined

export interface Named {
  number: string
  name: string
}

export interface Resolved {
  status: 'matched' | 'ambiguous' | 'conflicting' | 'no_match' | 'refused'
  match: Named | undefined
}

export interface Product {
  search(operation: Operation): Found
  resolve(operation: Operation): Resolved
  /** As the answers state it; undefined before the first. */
  matchingVersion(): string | undefined
}

export function productOf(shelf: Shelf): Product {
  let version: string | undefined
  return {
    search(operation) {
      const prepared = prepareAnswer(operation, shelf)
      if (prepared.kind === 'refused') return undefined
      const answer = searchResponseSchema.parse(JSON.parse(prepared.body))
      version = answer.matching_version
      return answer.candidates.map(named)
    },
    resolve(operation) {
      const prepared = prepareAnswer(operation, shelf)
      if (prepared.kind === 'refused') return { status: 'refused', match: undefined }
      const answer = resolveResponseSchema.parse(JSON.parse(prepared.body))
      version = answer.matching_version
      return { status: answer.status, match: answer.match ? named(answer.match) : undefined }
    },
    matchingVersion: () => version,
  }
}

function named({ company }: Candidate): Named {
  return { number: company.company_number, name: company.legal_name }
}
