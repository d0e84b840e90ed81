/** The definition of a paid operation. All transports, quotes and documents are derived from a list of definitions. */
import type { z } from 'zod'
import type { Computed } from './outcome.ts'
import type { Refusal, RefusalCode } from './refusal.ts'
import type { Registers } from './registers.ts'

/** An operation in canonical form: defaults filled in, absent members absent. */
export interface Operation {
  operation: string
  input: Record<string, unknown>
}

interface DescribedOperation<Input extends z.ZodObject, Answer extends z.ZodType<{ snapshot_id: string }>> {
  name: string
  method: 'GET' | 'POST'
  /**
   * The REST route, with `{member}` for each member of the input in the path. The other members are query parameters of
   * a GET, or the body of a POST.
   */
  path: string
  /** The key of the price in the metadata (contract 2.9). Default: the path. */
  priceKey?: string
  /** Of a POST. */
  bodyBytesMax?: number

  inputSchema: Input
  /** The refusal of an input that the schema does not accept. */
  inputFault: RefusalCode
  /** By member of the input: the refusal, if it is not `inputFault`. */
  memberFaults?: Readonly<Record<string, RefusalCode>>
  answerSchema: Answer
  /** The name of the answer's schema in OpenAPI. */
  answerName: string
  /** Refusals of valid inputs that only some operations have. They are not charged. */
  refusals: readonly RefusalCode[]
  /** Refusals that clients should expect although this version does not send them. */
  reserved?: readonly RefusalCode[]

  /** Whether an answer is about this input. A receipt cannot show it: the service signs whatever it answers. */
  isAnswerTo(input: z.output<Input>, answer: z.output<Answer>): boolean

  /**
   * Inputs for the documents, the shortest first. `companyNumber` is one that the deployment has, if it is known, and
   * had on the day `date`.
   */
  examples(companyNumber: string | undefined, date: string | undefined): readonly z.input<Input>[]
  /** Example answers by name. The first one answers the first example. */
  exampleAnswers(mode: 'mainnet' | 'testnet'): { found: z.output<Answer> } & Record<string, z.output<Answer>>
  /** The example in quotes, as text. A member of the path that has no constant example is `{member}`. */
  quotedExample(mode: 'mainnet' | 'testnet'): Record<string, unknown>

  /**
   * The skill in the agent card. The name is also the summary in OpenAPI. Description and tags are also those of the
   * quote, of which catalogues accept at most 500 characters and five tags.
   */
  skill: { name: string; description: string; tags: string[] }
  /** The tool of MCP: its name, its title, when to use it, and what is charged. */
  tool: { name: string; title: string; use: string; charge: string }
  /** The REST route in OpenAPI. */
  route: { operationId: string; description: string }
}

interface QuoteNote {
  /** A fixed text for the message of the 402. */
  detail: string
  /** For the description of the quote. It can have bounded and escaped text of the source. */
  description: string
}

/** An operation that is not a batch. */
export interface SingleDefinition<
  Input extends z.ZodObject = z.ZodObject,
  Answer extends z.ZodType<{ snapshot_id: string }> = z.ZodType<{ snapshot_id: string }>,
> extends DescribedOperation<Input, Answer> {
  kind: 'single'
  /** Micro-USDC. */
  prices: Record<'mainnet' | 'testnet', number>
  /** The most inputs of a batch. Absent: the operation has no batches. */
  batchInputsMax?: number

  /** The number that selects the record. That of the synthetic company needs no dataset (contract 1.7). */
  companyNumber?(input: z.output<Input>): string | undefined
  /** What the quote says before anything is paid, if the input cannot have the answer that a client expects. */
  quoteNote?(input: z.output<Input>, registers: Pick<Registers, 'statuses'>): QuoteNote | undefined
  /** Computes the answer. Does not depend on the transport or the payment. */
  answer(input: z.output<Input>, registers: Registers): Computed<z.output<Answer>>
}

/** Several inputs of one single operation. The price is the sum of the prices of the inputs. */
export interface BatchDefinition extends DescribedOperation<z.ZodObject, z.ZodType<{ snapshot_id: string }>> {
  kind: 'batch'
  /** The single operations that have batches. */
  operations: readonly SingleDefinition[]
  items(input: Record<string, unknown>): readonly Operation[]
}

export type OperationDefinition = SingleDefinition | BatchDefinition

export type Operations = readonly OperationDefinition[]

/** Checks a definition against its own schemas, and forgets their types. */
export function defineOperation<Input extends z.ZodObject, Answer extends z.ZodType<{ snapshot_id: string }>>(
  definition: Omit<SingleDefinition<Input, Answer>, 'kind'>,
): SingleDefinition {
  return { kind: 'single', ...definition }
}

type ParsedInput = { kind: 'valid'; input: Record<string, unknown> } | { kind: 'invalid'; fault: InputFault }

export function parseInput({ inputSchema }: OperationDefinition, input: unknown): ParsedInput {
  const parsed = inputSchema.safeParse(input, { reportInput: false })
  return parsed.success
    ? { kind: 'valid', input: parsed.data }
    : { kind: 'invalid', fault: toFault(parsed.error.issues[0]) }
}

function toFault(issue: z.core.$ZodIssue | undefined): InputFault {
  if (issue?.code === 'unrecognized_keys') return { field: null, rule: 'unknown fields are not accepted' }
  const [field] = issue?.path ?? []
  if (typeof field !== 'string')
    return { field: null, rule: issue?.code === 'custom' ? issue.message : 'must be an object' }
  return { field, rule: issue?.message ?? 'is not valid' }
}

/** The broken rule, without any part of the input. `field` is null when the rule is about the whole input. */
interface InputFault {
  field: string | null
  rule: string
}

/** The refusal of an operation's input, with the field and the rule. */
export function inputRefusal({ inputFault, memberFaults = {} }: OperationDefinition, fault: InputFault): Refusal {
  const { field, rule } = fault
  if (field === null) return { code: inputFault, detail: rule }
  return { code: memberFaults[field] ?? inputFault, detail: `${field} ${rule}` }
}

/** The refusals of inputs that the schema does not accept. */
export function inputFaults({ inputFault, memberFaults = {} }: OperationDefinition): RefusalCode[] {
  return [inputFault, ...Object.values(memberFaults)]
}

/** The members of the input in the path, in order. */
export function pathMembers({ path }: OperationDefinition): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}

/** The members of the input that are query parameters, in the order of the canonical URL. */
export function queryMembers(definition: OperationDefinition): string[] {
  if (definition.method === 'POST') return []
  const inPath = pathMembers(definition)
  return Object.keys(definition.inputSchema.shape).filter((name) => !inPath.includes(name))
}

/** The members without which an input is not valid. */
export function requiredMembers({ inputSchema }: OperationDefinition): string[] {
  const members = Object.entries<z.ZodType>(inputSchema.shape)
  return members.flatMap(([name, schema]) => (schema.safeParse(undefined).success ? [] : [name]))
}

/** A paid route as `METHOD path` (contract 2.9). */
export function endpoint({ method, path }: OperationDefinition): string {
  return `${method} ${path}`
}

export function priceKey({ priceKey: key, path }: OperationDefinition): string {
  return key ?? path
}
