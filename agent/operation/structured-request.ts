/** The data part of A2A, `{operation, input}`, and the one that a text means. No register is read. */
import * as z from 'zod'
import { parseRequest } from '../../base/strict-json.ts'
import { parseName } from '../../store/index/normalise-name.ts'
import { lookup } from './lookup.ts'
import { inputRefusal, parseOperation, type Operation, type Operations } from './operation.ts'
import { refused, type Refused } from './outcome.ts'
import { resolve } from './resolve.ts'
import { namesCompany, readTypedNumber } from './typed-number.ts'

/** The schema of the operation checks the input. */
const structuredRequestSchema = z.strictObject({ operation: z.string(), input: z.unknown() })

type ParsedRequest = { kind: 'valid'; operation: Operation } | Refused

export function parseStructuredRequest(data: unknown, operations: Operations): ParsedRequest {
  const request = structuredRequestSchema.safeParse(data).data
  const definition = operations.find(({ name }) => name === request?.operation)
  if (!definition) {
    const known = operations.map(({ name }) => name).join(', ')
    const detail = `the data part must be {operation, input}, with one of the operations ${known}`
    return refused({ code: 'invalid_body', detail, field: 'operation' })
  }
  const parsed = parseOperation(definition, request?.input)
  return parsed.kind === 'valid' ? parsed : refused(inputRefusal(definition, parsed.fault))
}

/** Of a text that is taken for a name. */
const NAME_CHARACTERS_MAX = 160

/** The operation of a text that is one as JSON, a company number as people type it, or a name with a legal form. */
export function operationInText(text: string, operations: Operations): Operation | undefined {
  const data = dataInText(text.trim())
  if (data === undefined) return undefined
  const parsed = parseStructuredRequest(data, operations)
  return parsed.kind === 'valid' ? parsed.operation : undefined
}

function dataInText(text: string): unknown {
  if (text.startsWith('{')) {
    const read = parseRequest(Buffer.from(text))
    return read.kind === 'valid' ? read.value : undefined
  }
  if (text.length > NAME_CHARACTERS_MAX) return undefined
  const typed = readTypedNumber(text)
  const number = typed && namesCompany(typed) ? typed.digits : text
  if (/^[0-9]+$/.test(number)) return { operation: lookup.name, input: { company_number: number } }
  return parseName(text).suffix === '' ? undefined : { operation: resolve.name, input: { name: text } }
}
