/**
 * JSON-RPC errors of `/a2a` (contract 4.5.8). Their messages are fixed and never contain text of a library or a client.
 */
import {
  ContentTypeNotSupportedError,
  ExtensionSupportRequiredError,
  PushNotificationNotSupportedError,
  TaskNotFoundError,
  toJsonRpcError,
  UnsupportedOperationError,
  VersionNotSupportedError,
} from '@a2a-js/sdk/errors'
import { A2A_VERSION } from '../../operation/endpoints.ts'

interface ErrorObject {
  code: number
  message: string
  data?: unknown
}

export class RpcFault extends Error {
  override name = 'RpcFault'
  readonly error: ErrorObject
  readonly id: string | number | null

  constructor(error: ErrorObject, id: RpcFault['id']) {
    super(error.message)
    this.error = error
    this.id = id
  }
}

/** JSON-RPC 2.0 section 5.1, and A2A 1.0 section 5.4 with the `data` of the SDK. */
export const RPC_ERRORS = {
  parse: { code: -32700, message: 'The body is not valid UTF-8 JSON.' },
  invalidRequest: { code: -32600, message: 'The body is not one JSON-RPC 2.0 request with an id.' },
  repeatedName: { code: -32600, message: 'An object in the body has two members with the same name.' },
  methodNotFound: { code: -32601, message: 'There is no such method.' },
  invalidParams: { code: -32602, message: 'The parameters are not valid.' },
  internal: { code: -32603, message: 'The service failed.' },
  taskNotFound: toJsonRpcError(new TaskNotFoundError('The service has no tasks.')),
  pushNotSupported: toJsonRpcError(new PushNotificationNotSupportedError('Push notifications are not supported.')),
  unsupported: toJsonRpcError(
    new UnsupportedOperationError('This operation is not supported. The service has no streams and no extended card.'),
  ),
  contextsUnsupported: toJsonRpcError(new UnsupportedOperationError('Conversation contexts are not supported.')),
  contentType: toJsonRpcError(new ContentTypeNotSupportedError('The content must be JSON, with a text or data part.')),
  version: toJsonRpcError(
    new VersionNotSupportedError({
      message: `A2A-Version must be ${A2A_VERSION}. A request without it counts as version 0.3.`,
      metadata: { supportedVersions: A2A_VERSION },
    }),
  ),
} as const satisfies Record<string, ErrorObject>

/** The error with this code. An unknown code is a failure of the service. */
export function errorOfCode(code: number): ErrorObject {
  return Object.values(RPC_ERRORS).find((error) => error.code === code) ?? RPC_ERRORS.internal
}

export function invalidParams(rule: string): ErrorObject {
  return { code: RPC_ERRORS.invalidParams.code, message: `The parameters are not valid: ${rule}.` }
}

/** Has the whole header line, so that a client can activate the extension without reading the agent card. */
export function extensionRequired(uri: string): ErrorObject {
  const message = `A structured request must have the header "A2A-Extensions: ${uri}".`
  return toJsonRpcError(new ExtensionSupportRequiredError({ message, metadata: { extension: uri } }))
}

/** What every refusal says, in `data`: nothing was charged, and the request must change. */
export function describeRpcError({ data, ...error }: ErrorObject): ErrorObject {
  const next = error.code === RPC_ERRORS.internal.code ? 'repeat' : 'change_request'
  const charged = error.code === RPC_ERRORS.internal.code ? 'unknown' : 'no'
  return { ...error, data: [...(Array.isArray(data) ? (data as unknown[]) : []), { charged, next }] }
}
