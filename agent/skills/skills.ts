/** The skills on sale, by operation. The card, the metadata and the routes list what is listed here. */
import type { Operation, OperationName } from '../operation/schema.ts'
import { lookup } from './lookup.ts'
import { resolve } from './resolve.ts'
import { search } from './search.ts'
import type { Prepared, Shelf, Skill } from './skill.ts'

type Skills = { [Name in OperationName]: Skill<Extract<Operation, { operation: Name }>['input']> }

const SKILLS: Skills = { lookup, search, resolve }

export const OPERATIONS_ON_SALE = Object.keys(SKILLS) as OperationName[]

/** Whether an operation's answer depends on the dataset. */
export function needsDataset(operation: Operation, shelf: Shelf): boolean {
  return skillOf(operation).needsDataset(operation.input, shelf)
}

/** The answer to an operation, ready to be stored and sold. */
export function prepareAnswer(operation: Operation, shelf: Shelf): Prepared {
  return skillOf(operation).prepare(operation.input, shelf)
}

/** The table pairs each operation with a skill for its input; TypeScript can't follow that through an index. */
function skillOf(operation: Operation): Skill<Operation['input']> {
  return SKILLS[operation.operation]
}
