/** The skill of each operation. The agent card, the metadata and the routes list the operations of this table. */
import type { Operation, OperationName } from '../operation/schema.ts'
import { lookup } from './lookup.ts'
import { resolve } from './resolve.ts'
import { search } from './search.ts'
import type { PreparedAnswer, Skill, SkillContext } from './skill.ts'

type Skills = { [Name in OperationName]: Skill<Extract<Operation, { operation: Name }>['input']> }

const SKILLS: Skills = { lookup, search, resolve }

export const OPERATIONS_ON_SALE = Object.keys(SKILLS) as OperationName[]

export function needsDataset(operation: Operation, context: SkillContext): boolean {
  return skillFor(operation).needsDataset(operation.input, context)
}

export function prepareAnswer(operation: Operation, context: SkillContext): PreparedAnswer {
  return skillFor(operation).prepare(operation.input, context)
}

/** `SKILLS` pairs each operation with a skill for its input, which TypeScript cannot follow through an index. */
function skillFor(operation: Operation): Skill<Operation['input']> {
  return SKILLS[operation.operation]
}
