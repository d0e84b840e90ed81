/** The kind of a failed call of a remote service, as a label value. The set is fixed, so no remote can create labels. */
import { DeadlineError } from '../rpc/deadline.ts'
import { RpcError, WrongChain } from '../rpc/json-rpc.ts'
import { ReplyError } from '../rpc/post-json.ts'

type FailureKind = 'timeout' | 'unreachable' | 'http_status' | 'rpc_error' | 'wrong_chain' | 'invalid_reply' | 'other'

export function failureKind(cause: unknown): FailureKind {
  if (cause instanceof DeadlineError || isTimeout(cause)) return 'timeout'
  if (cause instanceof RpcError) return 'rpc_error'
  if (cause instanceof WrongChain) return 'wrong_chain'
  if (!(cause instanceof ReplyError)) return 'other'
  if (cause.code === 'UNREACHABLE') return 'unreachable'
  return cause.code.startsWith('STATUS_') ? 'http_status' : 'invalid_reply'
}

/** The error of `post` in `agent/rpc/http-client.ts` and of `AbortSignal.timeout`. */
function isTimeout(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === 'TimeoutError'
}
