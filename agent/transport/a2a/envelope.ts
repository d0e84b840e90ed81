/**
 * Checks the JSON-RPC envelope and the message of `POST /a2a` before the SDK decodes them. The SDK accepts numbers as
 * text, two contents in one part and a missing role. It gets only the members that have an effect.
 */
import * as z from 'zod'
import { parseRequest } from '../../../base/strict-json.ts'
import { extensionRequired, invalidParams, RPC_ERRORS, RpcFault } from './errors.ts'

/** Contract 4.5.2. */
const MESSAGE_ID_BYTES_MAX = 128
/** Longer than any UUID or counter. The response repeats the id, so its length is limited. */
const RPC_ID_CHARACTERS_MAX = 256

const objectSchema = z.record(z.string(), z.unknown())

const idSchema = z.union([z.string().max(RPC_ID_CHARACTERS_MAX), z.int()])

const envelopeSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: idSchema,
  method: z.string().min(1),
  params: z.unknown().optional(),
})

/** A JSON-RPC request. Its method and parameters are not checked yet. */
type Envelope = z.output<typeof envelopeSchema>

/** An optional member. ProtoJSON treats null as absent. */
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined)

const partSchema = z.object({
  text: optional(z.string()),
  // Null is also a JSON value, which a data part may hold.
  data: z.unknown().optional(),
  raw: optional(z.unknown()),
  url: optional(z.unknown()),
})

const messageSchema = z.object({
  messageId: z
    .string({ error: 'messageId must be text' })
    .refine((id) => id !== '' && Buffer.byteLength(id) <= MESSAGE_ID_BYTES_MAX && id.isWellFormed(), {
      error: `messageId must have 1 to ${MESSAGE_ID_BYTES_MAX} bytes`,
    }),
  role: z.literal('ROLE_USER', { error: 'role must be ROLE_USER' }),
  parts: z.array(partSchema).length(1, { error: 'parts must hold exactly one part' }),
  contextId: optional(z.string()),
  taskId: optional(z.string()),
  referenceTaskIds: optional(z.array(z.string())),
})

/**
 * Ignores other members at every level (A2A 1.0 section 5.7). Only the schema of an operation refuses unknown members,
 * and only in its input.
 */
const sendMessageSchema = z.object({
  message: messageSchema,
  configuration: optional(z.object({ taskPushNotificationConfig: optional(z.unknown()) })),
})

type SendMessageParams = z.output<typeof sendMessageSchema>

/** Decodes the body and checks the envelope. Throws {@link RpcFault}. */
export function readEnvelope(body: Uint8Array): Envelope {
  const request = decode(body)
  const envelope = envelopeSchema.safeParse(request)
  if (!envelope.success) throw new RpcFault(RPC_ERRORS.invalidRequest, readId(request))
  return envelope.data
}

/**
 * Checks the parameters of `SendMessage`, and returns the members that have an effect. Throws {@link RpcFault}.
 * `isActive` tells whether the request names the payment extension.
 */
export function readSendMessage(
  { id, params }: Envelope,
  extension: { uri: string; isActive: boolean },
): SendMessageParams {
  const refuse = (fault: RpcFault['error']): never => {
    throw new RpcFault(fault, id)
  }
  const parsed = sendMessageSchema.safeParse(params)
  if (!parsed.success) return refuse(invalidParams(describeIssue(parsed.error.issues[0])))
  const { message, configuration } = parsed.data
  const content = contentOf(message.parts[0])
  if (content === undefined) return refuse(invalidParams('a part must hold exactly one of text and data'))
  if (content === 'raw' || content === 'url') return refuse(RPC_ERRORS.contentType)
  // Checked here, because the SDK writes unknown task ids, which are client input, to the log.
  if (message.taskId || message.referenceTaskIds?.length) return refuse(RPC_ERRORS.taskNotFound)
  if (message.contextId) return refuse(RPC_ERRORS.contextsUnsupported)
  if (configuration?.taskPushNotificationConfig !== undefined) return refuse(RPC_ERRORS.pushNotSupported)
  if (content === 'data' && !extension.isActive) return refuse(extensionRequired(extension.uri))
  return parsed.data
}

const CONTENTS = ['text', 'data', 'raw', 'url'] as const

/** The only content of a part, or undefined. `data` of null counts if the part has no other content. */
function contentOf(part: z.output<typeof partSchema> | undefined): (typeof CONTENTS)[number] | undefined {
  if (part === undefined) return undefined
  const [content, ...more] = CONTENTS.filter((name) => part[name] !== undefined && part[name] !== null)
  if (more.length > 0) return undefined
  return content ?? (part.data === null ? 'data' : undefined)
}

/**
 * Describes the first fault without repeating input. Uses the message of the schema if it starts with the member's
 * name.
 */
function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  const last = issue?.path.findLast((step) => typeof step === 'string') ?? 'params'
  return issue?.message.startsWith(last) ? issue.message : `${last} is missing or of the wrong type`
}

/** A repeated member name gets an error with a null id, because the repeated member may be the id. */
function decode(body: Uint8Array): unknown {
  const read = parseRequest(body)
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
function readId(request: unknown): RpcFault['id'] {
  const id = idSchema.safeParse(objectSchema.safeParse(request).data?.['id'])
  return id.success ? id.data : null
}
