/** JSON-RPC errors of `/a2a`: the protocol's codes with sentences of our own, never a library's or a client's text. */
import {
  ContentTypeNotSupportedError,
  ExtensionSupportRequiredError,
  PushNotificationNotSupportedError,
  TaskNotFoundError,
  toJsonRpcError,
  UnsupportedOperationError,
  VersionNotSupportedError,
} from '@a2a-js/sdk/errors'

export interface RpcError {
  code: number
  message: string
  data?: unknown
}

export type RpcId = string | number | null

/** An error of the envelope or the message, thrown inside the route and answered by it. */
export class RpcFault extends Error {
  override name = 'RpcFault'
  readonly error: RpcError
  readonly id: RpcId

  constructor(error: RpcError, id: RpcId) {
    super(error.message)
    this.error = error
    this.id = id
  }
}

/** JSON-RPC 2.0 section 5.1, and A2A 1.0 section 5.4 with the SDK's `data`. */
export const RPC_ERRORS = {
  parse: { code: -32700, message: 'The body is not valid UTF-8 JSON.' },
  invalidRequest: { code: -32600, message: 'The body is not one JSON-RPC 2.0 request with an id.' },
  repeatedName: { code: -32600, message: 'An object in the body has two members of one name.' },
  methodNotFound: { code: -32601, message: 'There is no such method.' },
  invalidParams: { code: -32602, message: 'The parameters are not valid.' },
  internal: { code: -32603, message: 'The service failed.' },
  taskNotFound: toJsonRpcError(new TaskNotFoundError('There are no tasks here.')),
  pushNotSupported: toJsonRpcError(new PushNotificationNotSupportedError('Push notifications are not supported.')),
  unsupported: toJsonRpcError(new UnsupportedOperationError('This operation is not supported.')),
  contextsUnsupported: toJsonRpcError(new UnsupportedOperationError('Conversation contexts are not supported.')),
  contentType: toJsonRpcError(new ContentTypeNotSupportedError('The content must be JSON, text or data.')),
  extensionRequired: toJsonRpcError(
    new ExtensionSupportRequiredError('A structured request must name the payment extension in A2A-Extensions.'),
  ),
  version: toJsonRpcError(new VersionNotSupportedError('A2A-Version must be 1.0.')),
} as const satisfies Record<string, RpcError>

export function invalidParams(rule: string): RpcError {
  return { code: RPC_ERRORS.invalidParams.code, message: `The parameters are not valid: ${rule}.` }
}
