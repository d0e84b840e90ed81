/**
 * The definition of a paid operation: its contract. All transports, quotes and documents are derived from a list of
 * definitions. agent/answer computes the answers.
 */
import type { z } from 'zod'
import { NEXT_OF_CASE, type Refusal, type RefusalCode } from './refusal.ts'

/** An operation in canonical form: defaults filled in, absent members absent. */
export interface Operation<Definition = OperationDefinition> {
  definition: Definition
  input: Record<string, unknown>
}

/** The form that digests, records and receipts have. */
export interface NamedOperation {
  operation: string
  input: Record<string, unknown>
}

/** A company for the examples, whose name finds it alone, and a day on which the register had it. */
export interface ExampleCompany {
  company_number: string
  legal_name: string
  date: string
}

type AnswerSchema = z.ZodType<{ snapshot_id: string }>

interface DescribedOperation<Name extends string, Input extends z.ZodObject, Answer extends AnswerSchema> {
  name: Name
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

  /** Its member `company_number` selects a record. That of the synthetic company needs no dataset (contract 1.7). */
  inputSchema: Input
  /** The refusal of an input that the schema does not accept. */
  inputFault: RefusalCode
  /** By member of the input: the refusal, if it is not `inputFault`. */
  memberFaults?: Readonly<Record<string, RefusalCode>>
  answerSchema: Answer
  answerName: string
  /** Refusals of valid inputs that only some operations have. They are not charged. */
  refusals: readonly RefusalCode[]
  /** Refusals that clients should expect although this version does not send them. */
  reserved?: readonly RefusalCode[]

  /** Whether an answer is about this input. A receipt cannot show it: the service signs whatever it answers. */
  isAnswerTo(input: z.output<Input>, answer: z.output<Answer>): boolean

  /** Inputs for the documents and the quote, the shortest first. Each ends in a record, in `matched` or in results. */
  examples(company: ExampleCompany): readonly z.input<Input>[]
  /** The answer to the first example. */
  exampleAnswer(mode: 'mainnet' | 'testnet'): z.output<Answer>

  /**
   * The skill in the agent card, and the route in OpenAPI. Description and tags are also those of the quote, of which
   * catalogues accept at most 500 characters and five tags.
   */
  skill: { name: string; description: string; tags: string[] }
  /** The tool of MCP: its name, its title, what it is for, what is charged, and the size of the answer's JSON. */
  tool: { name: string; title: string; bestFor: string; notFor: string; charge: string; size: string }
}

interface QuoteNote {
  /** A fixed text for the message of the 402. */
  detail: string
  /** For the description of the quote. It can have bounded and escaped text of the source. */
  description: string
}

interface BatchItemForm {
  /** Members of every answer. They stand once in the batch. */
  shared: Readonly<Record<string, string>>
  /** Members that the request and the rest of the answer already say. */
  omitted: readonly string[]
  restore(input: Record<string, unknown>, item: object): object
}

export interface SingleDefinition<
  Name extends string = string,
  Input extends z.ZodObject = z.ZodObject,
  Answer extends AnswerSchema = AnswerSchema,
> extends DescribedOperation<Name, Input, Answer> {
  kind: 'single'
  /** Micro-USDC. */
  prices: Record<'mainnet' | 'testnet', number>
  /** The most inputs of a batch. Absent: the operation has no batches. */
  batchInputsMax?: number
  /** The most inputs of a batch over MCP. Clients cut an answer at about 100 KB, and a model must read all of it. */
  toolInputsMax?: number
  /** How an answer stands in a batch. Absent: it has only what is equal for all items left out. */
  batchItem?: BatchItemForm
  /** What the quote says before anything is paid, if the input cannot have the answer that a client expects. */
  quoteNote?(input: z.output<Input>, statuses: () => readonly (string | null)[]): QuoteNote | undefined
}

/** Several inputs of one single operation. The price is the sum of the prices of the inputs. */
interface BatchDefinition extends DescribedOperation<string, z.ZodObject, AnswerSchema> {
  kind: 'batch'
  operations: readonly SingleDefinition[]
  items(input: Record<string, unknown>): readonly Operation<SingleDefinition>[]
  /** The JSON Schema members of `inputs` that differ over MCP. */
  toolInputs: { description: string; maxItems: number }
}

export type OperationDefinition = SingleDefinition | BatchDefinition

export type Operations = readonly OperationDefinition[]

/** Adds the kind. The compiler checks a definition against its own schemas. */
export function defineOperation<const Name extends string, Input extends z.ZodObject, Answer extends AnswerSchema>(
  definition: Omit<SingleDefinition<Name, Input, Answer>, 'kind'>,
): SingleDefinition<Name, Input, Answer> {
  return { kind: 'single', ...definition }
}

export function parseOperation<Definition extends OperationDefinition>(
  definition: Definition,
  input: unknown,
): { kind: 'valid'; operation: Operation<Definition> } | { kind: 'invalid'; fault: InputFault } {
  const parsed = parseInput(definition.inputSchema, input)
  return parsed.kind === 'valid' ? { kind: 'valid', operation: { definition, input: parsed.input } } : parsed
}

export function parseInput<Schema extends z.ZodObject>(
  schema: Schema,
  input: unknown,
): { kind: 'valid'; input: z.output<Schema> } | { kind: 'invalid'; fault: InputFault } {
  const parsed = schema.safeParse(input, { reportInput: false })
  return parsed.success
    ? { kind: 'valid', input: parsed.data }
    : { kind: 'invalid', fault: toFault(schema, input, parsed.error.issues[0]) }
}

export function toNamed({ definition, input }: Operation): NamedOperation {
  return { operation: definition.name, input }
}

/** The items of a batch. Any other operation is its own only item. */
export function itemsOf({ definition, input }: Operation): readonly Operation<SingleDefinition>[] {
  return definition.kind === 'batch' ? definition.items(input) : [{ definition, input }]
}

/** The first example of the first operation. */
export function firstExample([definition]: Operations, company: ExampleCompany): Operation {
  const [input] = definition?.examples(company) ?? []
  if (!definition || !input) throw new Error('The first operation has no example')
  return { definition, input }
}

/** The examples of an operation as the JSON data of an A2A data part. */
export function exampleParts(definition: OperationDefinition, company: ExampleCompany | undefined): string[] {
  const examples = company ? definition.examples(company) : []
  return examples.map((input) => JSON.stringify(toNamed({ definition, input })))
}

function toFault(schema: z.ZodObject, input: unknown, issue: z.core.$ZodIssue | undefined): InputFault {
  if (issue?.code === 'unrecognized_keys') {
    const unknown = issue.keys.find((name) => REPEATED_NAME.test(name))
    const rule = `unknown fields are not accepted, only ${Object.keys(schema.shape).join(', ')}`
    return { field: null, rule, ...(unknown !== undefined && { unknown }) }
  }
  const [field] = issue?.path ?? []
  if (typeof field !== 'string')
    return { field: null, rule: issue?.code === 'custom' ? issue.message : 'must be an object' }
  const value = (input as Record<string, unknown>)[field]
  const isText = typeof value === 'string' && LETTER.test(value)
  return { field, rule: issue?.message ?? 'is not valid', ...(isText && { isText }) }
}

/** A name of the client that an error may repeat (contract 7.1). */
export const REPEATED_NAME = /^[A-Za-z0-9_-]{1,40}$/
const LETTER = /\p{L}/u

/** The broken rule, without any part of the input. `field` is null when the rule is about the whole input. */
interface InputFault {
  field: string | null
  rule: string
  /** The first unknown member. */
  unknown?: string
  /** The value of the field has a letter. */
  isText?: boolean
}

export function inputRefusal(
  { inputFault, memberFaults = {} }: Pick<OperationDefinition, 'inputFault' | 'memberFaults'>,
  fault: InputFault,
): Refusal {
  const { field, rule, unknown, isText = false } = fault
  if (field === null) return { code: inputFault, detail: rule, ...(unknown !== undefined && { field: unknown }) }
  const code = memberFaults[field] ?? inputFault
  // A name in place of a number.
  const next = isText && field === 'company_number' ? { next: NEXT_OF_CASE.invalid_company_number } : {}
  return { code, detail: `${field} ${rule}`, field: field.replace(/:$/, ''), ...next }
}

/** The refusals of inputs that the schema does not accept. */
export function inputFaults({ inputFault, memberFaults = {} }: OperationDefinition): RefusalCode[] {
  return [inputFault, ...Object.values(memberFaults)]
}

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
