/**
 * Reads the JSON-RPC envelope and the message of `POST /a2a`, strictly and before the SDK sees them: its codecs take
 * numbers for text, two contents in one part, no role, and execute notifications.
 */
import { z } from 'zod'
import { readJson } from '../operation/strict-json.ts'
import { invalidParams, RPC_ERRORS, RpcFault, type RpcError, type RpcId } from './errors.ts'

/** Spec 8. */
const MESSAGE_ID_BYTES_MAX = 128
/** Longer than any UUID or counter; an id is sent back, and only this much of what a client says is. */
const RPC_ID_CHARACTERS_MAX = 256
/** The deepest honest request has seven levels; the SDK copies by recursion and fails at some thousands. */
const DEPTH_MAX = 24

export interface Envelope {
  id: RpcId
  method: string
  params: Record<string, unknown>
  /** The whole request, as the SDK takes it. */
  request: Record<string, unknown>
}

const anObject = z.record(z.string(), z.unknown())

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
  metadata: anObject.optional(),
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
  metadata: anObject.optional(),
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
  metadata: anObject.optional(),
  tenant: z.string().optional(),
})

/** Every method of A2A 1.0 that takes parameters; the SDK answers those that this agent does not offer. */
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

/** Decodes a body and checks the envelope. Throws {@link RpcFault}. */
export function readEnvelope(body: Uint8Array): Envelope {
  const request = decode(body)
  const envelope = envelopeSchema.safeParse(request)
  if (!envelope.success) throw new RpcFault(RPC_ERRORS.invalidRequest, idOf(request))
  const { id, method } = envelope.data
  if (!METHODS.has(method)) throw new RpcFault(RPC_ERRORS.methodNotFound, id)
  const params = anObject.safeParse(envelope.data.params ?? (method === 'GetExtendedAgentCard' ? {} : undefined))
  if (!params.success) throw new RpcFault(invalidParams('params must be an object'), id)
  if (isDeeper(params.data, DEPTH_MAX)) throw new RpcFault(invalidParams('they are nested too deeply'), id)
  return { id, method, params: params.data, request: { ...envelope.data, params: params.data } }
}

/** Checks the parameters of `SendMessage`. `hasExtension` says whether the payment extension was named. */
export function checkSendMessage({ id, params }: Envelope, hasExtension: boolean): void {
  const fault = findFault(params, hasExtension)
  if (fault) throw new RpcFault(fault, id)
}

function findFault(params: Record<string, unknown>, hasExtension: boolean): RpcError | undefined {
  const parsed = sendMessageSchema.safeParse(params)
  if (!parsed.success) return invalidParams(ruleOf(parsed.error.issues[0]))
  const { message, configuration } = parsed.data
  const [part] = message.parts
  const contents = CONTENTS.filter((name) => part?.[name] !== undefined)
  if (contents.length !== 1) return invalidParams('a part must hold exactly one of text and data')
  if (part?.raw !== undefined || part?.url !== undefined) return RPC_ERRORS.contentType
  // Of a task that it does not find the SDK tells the log, in the client's words.
  if (message.taskId || message.referenceTaskIds?.length) return RPC_ERRORS.taskNotFound
  if (message.contextId) return RPC_ERRORS.contextsUnsupported
  if (configuration?.taskPushNotificationConfig !== undefined) return RPC_ERRORS.pushNotSupported
  if (part?.data !== undefined && !hasExtension) return RPC_ERRORS.extensionRequired
  return undefined
}

/** Our own words for a fault: where we gave the schema a sentence, that one; else the member that is wrong. */
function ruleOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined || issue.code === 'unrecognized_keys') return 'it has a member that is not known here'
  const last = issue.path.findLast((step) => typeof step === 'string') ?? 'params'
  const isOurs = issue.message.startsWith(last)
  return isOurs ? issue.message : `${last} is missing or of the wrong type`
}

/** Two members of one name are answered without an id: it may be the id that is given twice. */
function decode(body: Uint8Array): unknown {
  const read = readJson(body)
  switch (read.kind) {
    case 'not_json':
      throw new RpcFault(RPC_ERRORS.parse, null)
    case 'repeated_name':
      throw new RpcFault(RPC_ERRORS.repeatedName, null)
    case 'json':
      return read.value
  }
}

/** The id to answer with when the rest of the envelope is wrong; null unless it is a valid one. */
function idOf(request: unknown): RpcId {
  const id = idSchema.safeParse(anObject.safeParse(request).data?.['id'])
  return id.success ? id.data : null
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}
