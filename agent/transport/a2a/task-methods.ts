/**
 * The task methods that every A2A server has (A2A 1.0 section 3.1). No message creates a task, so every id is unknown
 * and every list is empty.
 */
import { z } from 'zod'
import type { Envelope } from './envelope.ts'
import { invalidParams, RPC_ERRORS, RpcFault } from './errors.ts'

const PAGE_SIZE_MAX = 100

const taskSchema = z.object({ id: z.string().min(1) })

const listSchema = z.object({
  pageSize: z.int().min(1).max(PAGE_SIZE_MAX).nullish(),
  // This service has issued no token.
  pageToken: z.literal('').nullish(),
  historyLength: z.int().min(0).nullish(),
})

const EMPTY_LIST = { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }

/** The result of a task method. Undefined for other methods. Throws {@link RpcFault}. */
export function answerTaskMethod({ id, method, params }: Envelope): object | undefined {
  switch (method) {
    case 'GetTask':
    case 'CancelTask':
      if (!taskSchema.safeParse(params).success) throw new RpcFault(invalidParams('id must be the id of a task'), id)
      throw new RpcFault(RPC_ERRORS.taskNotFound, id)
    case 'ListTasks': {
      const [issue] = listSchema.safeParse(params ?? {}).error?.issues ?? []
      if (!issue) return EMPTY_LIST
      throw new RpcFault(invalidParams(`${String(issue.path[0] ?? 'params')} is out of range or of the wrong type`), id)
    }
    default:
      return undefined
  }
}
