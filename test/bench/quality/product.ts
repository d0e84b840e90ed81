/** Calls the skills directly, without HTTP and payment. */
import type { Operation } from '../../../agent/operation/operation.ts'
import { resolveResponseSchema } from '../../../agent/operation/resolve.ts'
import { searchResponseSchema } from '../../../agent/operation/search.ts'
import type { Candidate } from '../../../agent/operation/result.ts'
import type { SkillContext } from '../../../agent/skills/registers.ts'
import { prepareAnswer } from '../../../agent/skills/skills.ts'

/** The results of a search, best first; undefined when it was refused. */
type SearchResult = readonly Named[] | undefined

export interface Named {
  number: string
  name: string
  score: number
}

export interface Resolved {
  status: 'matched' | 'ambiguous' | 'conflicting' | 'no_match' | 'refused'
  match: Named | undefined
  /** The first candidate, whatever the status. */
  first: Named | undefined
}

export interface Product {
  search(operation: Operation): SearchResult
  resolve(operation: Operation): Resolved
  /** The version in the answers; undefined before the first answer. */
  matchingVersion(): string | undefined
}

export function createProduct(context: SkillContext): Product {
  let version: string | undefined
  return {
    search(operation) {
      const prepared = prepareAnswer(operation, context)
      if (prepared.kind === 'refused') return undefined
      const answer = searchResponseSchema.parse(JSON.parse(prepared.body))
      version = answer.matching_version
      return answer.candidates.map(toNamed)
    },
    resolve(operation) {
      const prepared = prepareAnswer(operation, context)
      if (prepared.kind === 'refused') return { status: 'refused', match: undefined, first: undefined }
      const answer = resolveResponseSchema.parse(JSON.parse(prepared.body))
      version = answer.matching_version
      const [first] = answer.candidates.map(toNamed)
      return { status: answer.status, match: answer.match ? toNamed(answer.match) : undefined, first }
    },
    matchingVersion: () => version,
  }
}

function toNamed({ company, score }: Candidate): Named {
  return { number: company.company_number, name: company.legal_name, score }
}
