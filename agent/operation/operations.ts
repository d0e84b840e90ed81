/**
 * The operations that the service sells. Only code that resolves a name or a path from outside needs a list of them.
 */
import { asOf } from './as-of.ts'
import { batchOf } from './batch.ts'
import { changes } from './changes.ts'
import { history } from './history.ts'
import { lookup } from './lookup.ts'
import type { OperationDefinition, Operations } from './operation.ts'
import { resolve } from './resolve.ts'
import { search } from './search.ts'

export const SINGLE_OPERATIONS = [lookup, search, resolve, history, asOf, changes] as const

export const batch: Extract<OperationDefinition, { kind: 'batch' }> = batchOf(SINGLE_OPERATIONS)

export const OPERATIONS: Operations = [...SINGLE_OPERATIONS, batch]
