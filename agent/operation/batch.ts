/**
 * Many inputs of one operation for one payment (contract 4.11). The items are computed by
 * agent/answer/prepare-batch.ts.
 */
import * as z from 'zod'
import { digestSchema } from '../../base/digest.ts'
import { SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { toJsonSchema } from './json-schema.ts'
import { parseOperation, type Operation, type OperationDefinition, type SingleDefinition } from './operation.ts'
import { API_PREFIX } from './endpoints.ts'
import { refused, type Computed } from './outcome.ts'
import { isBatchResult, REFUSALS, refusalBody, type Refusal } from './refusal.ts'
import { dataErrorSchema } from './result.ts'

/**
 * A larger answer is refused before anything is charged (contract 4.11.4). With the message and the settlement around
 * it, an answer over A2A stays below 1 MiB, so every transport delivers what any of them has sold.
 */
export const BATCH_ANSWER_BYTES_MAX = 1_048_576 - 8_192

const STATUSES = {
  found: 200,
  missing: REFUSALS.company_not_found.status,
  conflict: REFUSALS.source_data_conflict.status,
}

/**
 * @example `{"operation": "lookup", "inputs": [{"company_number": "335801"}, {"company_number": "081615"}]}` costs 0.02
 * USDC, the sum of its items, and answers `results`, one with the HTTP status and the body of each input.
 */
export function batchOf(all: readonly SingleDefinition[]): Extract<OperationDefinition, { kind: 'batch' }> {
  const operations = all.filter(({ batchInputsMax }) => batchInputsMax !== undefined)
  const described = describeInputs(operations, ({ batchInputsMax = 0 }) => batchInputsMax)
  const toolInputs = describeInputs(operations, ({ toolInputsMax = 0 }) => toolInputsMax)
  const [first] = operations
  if (!first) throw new Error('No operation has batches')
  const items = (input: Record<string, unknown>) => {
    const { operation, inputs } = input as { operation: string; inputs: Record<string, unknown>[] }
    const definition = operations.find(({ name }) => name === operation)
    return definition ? inputs.map((each) => ({ definition, input: each })) : []
  }

  return {
    kind: 'batch',
    name: 'batch',
    method: 'POST',
    path: `${API_PREFIX}/batch`,
    bodyBytesMax: 65_536,
    operations,

    inputSchema: inputSchema(operations, described),
    toolInputs,
    inputFault: 'invalid_body',
    answerSchema: answerSchema(operations),
    answerName: 'BatchResponse',
    refusals: [
      'company_not_found',
      'batch_too_large',
      ...new Set(operations.flatMap(({ refusals }) => refusals.filter((code) => !isBatchResult(code)))),
    ],

    items,
    isAnswerTo(input, answer) {
      const asked = items(input)
      const { results } = answer as unknown as BatchAnswer
      const isAnswered = (item: (typeof asked)[number], at: number) => {
        if (results[at]?.http_status !== STATUSES.found) return true
        const { definition } = item
        const parsed = definition.answerSchema.safeParse(fromItem(item, results[at].body, answer))
        return parsed.success && definition.isAnswerTo(item.input, parsed.data)
      }
      return results.length === asked.length && asked.every(isAnswered)
    },

    examples: (company) =>
      operations.map((each) => ({ operation: each.name, inputs: each.examples(company).slice(0, 1) })),
    exampleAnswer(mode) {
      const item = { definition: first, input: {} }
      const results = [
        { kind: 'computed' as const, answer: first.exampleAnswer(mode) },
        refused({ code: 'company_not_found', provenance: SYNTHETIC_PROVENANCE }),
      ]
      const shared = sharedMembers([item], SYNTHETIC_PROVENANCE)
      return { results: results.map((each) => toItem(item, each, shared)), ...shared }
    },

    skill: {
      name: 'Batch',
      description:
        'Many inputs of one operation for one payment. The price is the sum of the items. Missing and contradictory ' +
        'records are results and are charged, unless no item has an answer.',
      tags: ['ireland', 'company', 'registry', 'batch', 'kyb'],
    },
    tool: {
      name: 'batch_companies',
      title: 'Answer many inputs of one operation for one payment',
      bestFor: 'a list: "operation" is that of all "inputs"',
      notFor: 'a single company',
      charge: 'Missing and contradictory records are results and are charged, unless no item has an answer.',
      size: 'An answer has the sizes of the single ones.',
    },
  }
}

function describeInputs(operations: readonly SingleDefinition[], maxOf: (each: SingleDefinition) => number) {
  const limits = operations.map((each) => `${maxOf(each)} of ${each.name}`).join(', ')
  return { description: `Inputs of the operation: at most ${limits}.`, maxItems: Math.max(...operations.map(maxOf)) }
}

function inputSchema(
  operations: readonly SingleDefinition[],
  described: { description: string; maxItems: number },
): z.ZodObject {
  const schemas = operations.map((each) => toJsonSchema(each.inputSchema, 'input'))
  return z
    .strictObject({
      operation: z
        .enum(operations.map(({ name }) => name) as [string, ...string[]], {
          error: `must be ${operations.map(({ name }) => name).join(' or ')}`,
        })
        .meta({ description: 'The operation of all inputs.' }),
      inputs: z
        .array(z.unknown().meta({ anyOf: schemas }), { error: 'must be a list' })
        .min(1, { error: 'must have at least one input' })
        .meta(described),
    })
    .check((batch) => {
      const { operation, inputs } = batch.value
      const definition = operations.find(({ name }) => name === operation)
      if (!definition) return
      const refuse = (field: string, message: string) =>
        void batch.issues.push({ code: 'custom', input: batch.value, path: [field], message })
      const { batchInputsMax = 0 } = definition
      if (inputs.length > batchInputsMax)
        return refuse('inputs', `must have at most ${batchInputsMax} inputs of ${operation}`)
      const canonical: Record<string, unknown>[] = []
      for (const [at, input] of inputs.entries()) {
        const parsed = parseOperation(definition, input)
        if (parsed.kind === 'invalid') {
          const { field, rule } = parsed.fault
          return refuse(field === null ? `inputs[${at}]:` : `inputs[${at}].${field}`, rule)
        }
        canonical.push(parsed.operation.input)
      }
      batch.value = { operation, inputs: canonical }
    })
}

type Item = Operation<SingleDefinition>

type Provenance = NonNullable<Refusal['provenance']>

interface BatchAnswer {
  results: { http_status: number; body: object }[]
}

/** What stands once in a batch, for all items. */
export function sharedMembers([first]: readonly Item[], provenance: Provenance): Provenance {
  return { ...provenance, ...first?.definition.batchItem?.shared }
}

/** An item of a batch: the answer or the refusal without what the batch has already. */
export function toItem(
  { definition: { batchItem } }: Item,
  computed: Computed<object>,
  shared: Provenance,
): BatchAnswer['results'][number] {
  if (computed.kind === 'refused') {
    const { refusal } = computed
    const body = withoutMembers(refusalBody(refusal, 'yes'), sharedNames(refusal.provenance ?? shared, shared))
    return { http_status: REFUSALS[refusal.code].status, body }
  }
  const { answer } = computed
  const { omitted = [] } = batchItem ?? {}
  return {
    http_status: STATUSES.found,
    body: withoutMembers(answer, [...omitted, ...sharedNames(answer as Provenance, shared)]),
  }
}

/** The answer of the single operation. */
export function fromItem({ definition, input }: Item, body: object, batch: object): object {
  const { results: _, ...shared } = batch as Provenance & BatchAnswer
  return { ...shared, ...body, ...definition.batchItem?.restore(input, body) }
}

/** The source is that of another file if the snapshot or the time of its retrieval differs. */
function sharedNames({ source, snapshot_id }: Provenance, shared: Provenance): string[] {
  const others = new Map(Object.entries(shared.source))
  const isSame =
    snapshot_id === shared.snapshot_id && Object.entries(source).every(([name, value]) => others.get(name) === value)
  return Object.keys(shared).filter((name) => isSame || !PROVENANCE.has(name))
}

const PROVENANCE: ReadonlySet<string> = new Set(['source', 'snapshot_id'])

function withoutMembers(body: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)))
}

function answerSchema(operations: readonly SingleDefinition[]) {
  const bodies = new Map(operations.map((each) => [each.answerSchema, itemSchema(each)]))
  const found = z.strictObject({ http_status: z.literal(STATUSES.found), body: z.union([...bodies.values()]) })
  const refusedItem = z.strictObject({
    http_status: z.literal([STATUSES.missing, STATUSES.conflict]),
    body: dataErrorSchema.partial({ source: true, snapshot_id: true }),
  })
  return z.strictObject({
    results: z
      .array(z.union([found, refusedItem]))
      .min(1)
      .meta({ description: 'In the order of the inputs.' }),
    source: sourceSchema,
    snapshot_id: digestSchema,
    matching_version: z.string().optional(),
    score_definition: z.string().optional(),
  })
}

function itemSchema({ answerSchema: schema, batchItem }: SingleDefinition): z.ZodObject {
  const omitted = new Set([...(batchItem?.omitted ?? []), ...Object.keys(batchItem?.shared ?? {})])
  const shape = Object.entries((schema as unknown as z.ZodObject).shape)
    .filter(([name]) => !omitted.has(name))
    .map(([name, member]) => [name, PROVENANCE.has(name) ? z.optional(member) : member])
  return z.strictObject(Object.fromEntries(shape) as z.ZodRawShape)
}
