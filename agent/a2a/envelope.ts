/**
 * Checks the JSON-RPC envelope and the message of `POST /a2a` before the SDK decodes them. The SDK accepts numbers as text,
 * two contents in one part and a missing role, and executes JSON-RPC notifications.
 */
import { z } from 'zod'
import { parseStrictJson } from '../operation/strict-json.ts'
import { invalidParams, RPC_ERRORS, RpcFault, type ErrorObject, type RpcId } from './errors.ts'

/** Contract 4.5.2. */
const MESSAGE_ID_BYTES_MAX = 128
/** Longer than any UUID or counter. The response repeats the id, so its length is limited. */
const RPC_ID_CHARACTERS_MAX = 256
/** Valid requests have seven levels. The SDK copies recursively and overflows at some thousands. */
const DEPTH_MAX = 24

export interface Envelope {
  id: RpcId
  method: string
  params: Record<string, unknown>
  /** The whole request, for the SDK. */
  request: Record<string, unknown>
}

const objectSchema = z.record(z.string(), z.unknown())

const idSchema = z.union([z.string().max(RPC_ID_CHARACTERS_MAX), z.int()])

const envelopeSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: idSchema,
  method: z.string(),
  params: z.unknown().optional(),
})

const partSchema = z.strictObject({
  text: z.string().optional(),
  data: z.unknown().optional(),
  raw: z.unknown().optional(),
  url: z.unknown().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  metadata: objectSchema.optional(),
})

const CONTENTS = ['text', 'data', 'raw', 'url'] as const

const messageSchema = z.strictObject({
  messageId: z
    .string({ error: 'messageId must be text' })
    .refine((id) => id !== '' && Buffer.byteLength(id) <= MESSAGE_ID_BYTES_MAX && id.isWellFormed(), {
      error: `messageId must have 1 to ${MESSAGE_ID_BYTES_MAX} bytes`,
    }),
  role: z.literal('ROLE_USER', { error: 'role must be ROLE_USER' }),
  parts: z.array(partSchema).length(1, { error: 'parts must hold exactly one part' }),
  contextId: z.string().optional(),
  taskId: z.string().optional(),
  metadata: objectSchema.optional(),
  extensions: z.array(z.string()).optional(),
  referenceTaskIds: z.array(z.string()).optional(),
})

const configurationSchema = z.strictObject({
  acceptedOutputModes: z.array(z.string()).optional(),
  taskPushNotificationConfig: z.unknown().optional(),
  historyLength: z.number().optional(),
  returnImmediately: z.boolean().optional(),
})

const sendMessageSchema = z.strictObject({
  message: messageSchema,
  configuration: configurationSchema.optional(),
  metadata: objectSchema.optional(),
  tenant: z.string().optional(),
})

/** All methods of A2A 1.0. The SDK refuses those that the card does not offer. */
const METHODS: ReadonlySet<string> = new Set([
  'SendMessage',
  'SendStreamingMessage',
  'SubscribeToTask',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
])

/** Decodes the body and checks the envelope. Throws {@link RpcFault}. */
export function readEnvelope(body: Uint8Array): Envelope {
  const request = decode(body)
  const envelope = envelopeSchema.safeParse(request)
  if (!envelope.success) throw new RpcFault(RPC_ERRORS.invalidRequest, readId(request))
  const { id, method } = envelope.data
  if (!METHODS.has(method)) throw new RpcFault(RPC_ERRORS.methodNotFound, id)
  const params = objectSchema.safeParse(envelope.data.params ?? (method === 'GetExtendedAgentCard' ? {} : undefined))
  if (!params.success) throw new RpcFault(invalidParams('params must be an object'), id)
  if (isDeeperThan(params.data, DEPTH_MAX)) throw new RpcFault(invalidParams('they are nested too deeply'), id)
  return { id, method, params: params.data, request: { ...envelope.data, params: params.data } }
}

/**
 * Checks the parameters of `SendMessage`. `hasExtension` says whether the request activates the payment extension. Throws
 * {@link RpcFault}.
 */
export function checkSendMessage({ id, params }: Envelope, hasExtension: boolean): void {
  const fault = findFault(params, hasExtension)
  if (fault) throw new RpcFault(fault, id)
}

function findFault(params: Record<string, unknown>, hasExtension: boolean): ErrorObject | undefined {
  const parsed = sendMessageSchema.safeParse(params)
  if (!parsed.success) return invalidParams(describeIssue(parsed.error.issues[0]))
  const { message, configuration } = parsed.data
  const [part] = message.parts
  const contents = CONTENTS.filter((name) => part?.[name] !== undefined)
  if (contents.length !== 1) return invalidParams('a part must hold exactly one of text and data')
  if (part?.raw !== undefined || part?.url !== undefined) return RPC_ERRORS.contentType
  // Checked here, because the SDK writes unknown task ids, which are client input, to the log.
  if (message.taskId || message.referenceTaskIds?.length) return RPC_ERRORS.taskNotFound
  if (message.contextId) return RPC_ERRORS.contextsUnsupported
  if (configuration?.taskPushNotificationConfig !== undefined) return RPC_ERRORS.pushNotSupported
  if (part?.data !== undefined && !hasExtension) return RPC_ERRORS.extensionRequired
  return undefined
}

/** Describes the first fault without repeating input. Uses the message of the schema if it starts with the member's name. */
function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined || issue.code === 'unrecognized_keys') return 'an object has an unknown member'
  const last = issue.path.findLast((step) => typeof step === 'string') ?? 'params'
  return issue.message.startsWith(last) ? issue.message : `${last} is missing or of the wrong type`
}

/** A repeated member name gets an error with a null id, because the repeated member may be the id. */
function decode(body: Uint8Array): unknown {
  const read = parseStrictJson(body)
  switch (read.kind) {
    case 'invalid':
      throw new RpcFault(RPC_ERRORS.parse, null)
    case 'duplicate_name':
      throw new RpcFault(RPC_ERRORS.repeatedName, null)
    case 'valid':
      return read.value
  }
}

/** The id for the error response to an invalid envelope; null when the id is invalid too. */
function readId(request: unknown): RpcId {
  const id = idSchema.safeParse(objectSchema.safeParse(request).data?.['id'])
  return id.success ? id.data : null
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1))
}
