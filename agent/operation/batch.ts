/**
 * Many inputs of one operation for one payment (contract 4.11). The items are computed by
 * agent/answer/prepare-batch.ts.
 */
import * as z from 'zod'
import { sourceSchema } from '../../store/dataset/source.ts'
import { EXAMPLE_PROVENANCE } from './examples.ts'
import { parseInput, type BatchDefinition, type SingleDefinition } from './operation.ts'
import { API_PREFIX } from './paths.ts'
import { isBatchResult, REFUSALS, refusalBody } from './refusal.ts'
import { dataErrorSchema, snapshotIdSchema } from './result.ts'

/**
 * A larger answer is refused before anything is charged (contract 4.11.4). With the message around it, an
 * answer over A2A stays below 1 MiB, so every transport delivers what any of them has sold.
 */
export const BATCH_ANSWER_BYTES_MAX = 1_048_576 - 4_096

/** A batch in canonical form. */
interface Batch {
  operation: string
  inputs: Record<string, unknown>[]
}

const STATUSES = {
  found: 200,
  missing: REFUSALS.company_not_found.status,
  conflict: REFUSALS.source_data_conflict.status,
}

export function batchOf(all: readonly SingleDefinition[]): BatchDefinition {
  const operations = all.filter(({ batchInputsMax }) => batchInputsMax !== undefined)
  const named = (name: string) => operations.find((each) => each.name === name)
  const limits = operations.map(({ name, batchInputsMax }) => `${batchInputsMax} of ${name}`).join(', ')
  const [first] = operations
  if (!first) throw new Error('No operation has batches')

  return {
    kind: 'batch',
    name: 'batch',
    method: 'POST',
    path: `${API_PREFIX}/batch`,
    bodyBytesMax: 65_536,
    operations,

    inputSchema: inputSchema(operations, limits),
    inputFault: 'invalid_body',
    answerSchema: answerSchema(operations),
    answerName: 'BatchResponse',
    refusals: [
      'company_not_found',
      'batch_too_large',
      ...new Set(operations.flatMap(({ refusals }) => refusals.filter((code) => !isBatchResult(code)))),
    ],

    items(input) {
      const { operation, inputs } = input as unknown as Batch
      return inputs.map((each) => ({ operation, input: each }))
    },
    isAnswerTo(input, answer) {
      const { operation, inputs } = input as unknown as Batch
      const { results } = answer as unknown as { results: { status: number; body: unknown }[] }
      const isAnswered = ({ status, body }: (typeof results)[number], at: number) => {
        if (status !== STATUSES.found) return true
        const parsed = named(operation)?.answerSchema.safeParse(body)
        return parsed?.success === true && named(operation)?.isAnswerTo(inputs[at] ?? {}, parsed.data) === true
      }
      return results.length === inputs.length && results.every(isAnswered)
    },

    examples: (companyNumber, date) =>
      operations.flatMap((each) => {
        const inputs = each.examples(companyNumber, date)
        return inputs.length === 0 ? [] : [{ operation: each.name, inputs: [...inputs] }]
      }),
    exampleAnswers: (mode) => ({
      found: {
        results: [
          { status: STATUSES.found, body: first.exampleAnswers(mode).found },
          {
            status: STATUSES.missing,
            body: refusalBody({ code: 'company_not_found', provenance: EXAMPLE_PROVENANCE }),
          },
        ],
        ...EXAMPLE_PROVENANCE,
      },
    }),
    quotedExample(mode) {
      // The others have no constant example on mainnet.
      const quoted = operations.find(({ path }) => !path.includes('{')) ?? first
      return { operation: quoted.name, inputs: [quoted.quotedExample(mode)] }
    },

    skill: {
      name: 'Batch',
      description:
        `Many inputs of one operation for one payment: at most ${limits}. The price is the sum of the items. Missing and ` +
        'contradictory records are results and are charged, unless no item has an answer.',
      tags: ['ireland', 'company', 'registry', 'batch', 'kyb'],
    },
    tool: {
      name: 'batch_companies',
      title: 'Answer many inputs of one operation for one payment',
      use: `Use it for a list: "operation" is that of all "inputs", at most ${limits}.`,
      charge: 'Missing and contradictory records are results and are charged, unless no item has an answer.',
    },
    route: {
      operationId: 'buyBatch',
      description:
        `At most ${limits}, in a body of at most 64 KiB. \`results\` has the status and the body of each item in the order ` +
        'of `inputs`. The price is the sum of the items. Missing and quarantined records are results and are charged, ' +
        'unless no item has an answer. A retry must repeat URI, Content-Type and the exact body.',
    },
  }
}

function inputSchema(operations: readonly SingleDefinition[], limits: string): z.ZodObject {
  const inputs = operations.map((each) => {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(each.inputSchema, { io: 'input' })
    return schema
  })
  return z
    .strictObject({
      operation: z
        .enum(operations.map(({ name }) => name) as [string, ...string[]], {
          error: `must be ${operations.map(({ name }) => name).join(' or ')}`,
        })
        .meta({ description: 'The operation of all inputs.' }),
      inputs: z
        .array(z.unknown().meta({ anyOf: inputs }), { error: 'must be a list' })
        .min(1, { error: 'must have at least one input' })
        .meta({
          description: `Inputs of the operation: at most ${limits}.`,
          maxItems: Math.max(...operations.map(({ batchInputsMax = 0 }) => batchInputsMax)),
        }),
    })
    .check(({ value, issues }) => {
      const definition = operations.find(({ name }) => name === value.operation)
      const fault = definition && canonicalise(value.inputs, definition)
      if (fault) issues.push({ code: 'custom', input: value, ...fault })
    })
}

/** Replaces the inputs by their canonical form, or returns the first fault. */
function canonicalise(
  inputs: unknown[],
  definition: SingleDefinition,
): { path: string[]; message: string } | undefined {
  const { name, batchInputsMax = 0 } = definition
  if (inputs.length > batchInputsMax)
    return { path: ['inputs'], message: `must have at most ${batchInputsMax} inputs of ${name}` }
  for (const [at, input] of inputs.entries()) {
    const parsed = parseInput(definition, input)
    if (parsed.kind === 'invalid') {
      const { field, rule } = parsed.fault
      return { path: [field === null ? `inputs[${at}]:` : `inputs[${at}].${field}`], message: rule }
    }
    inputs[at] = parsed.input
  }
  return undefined
}

function answerSchema(operations: readonly SingleDefinition[]) {
  const bodies = new Set(operations.map((each) => each.answerSchema))
  const found = z.strictObject({ status: z.literal(STATUSES.found), body: z.union([...bodies]) })
  const refused = z.strictObject({ status: z.literal([STATUSES.missing, STATUSES.conflict]), body: dataErrorSchema })
  return z.strictObject({
    results: z.array(z.union([found, refused])).min(1),
    source: sourceSchema,
    snapshot_id: snapshotIdSchema,
  })
}
