/** How schemas become JSON Schema for clients: generators and validators of other languages must read the result. */
import * as z from 'zod'

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>

/**
 * A format implies the long pattern that zod adds to it. Some generators refuse `const` in an open object. A value that
 * can be null has two types, which is shorter than two schemas.
 */
export const portable: Override = ({ jsonSchema }) => {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  const [value, none, ...more] = jsonSchema.anyOf ?? []
  if (typeof value?.type === 'string' && !value.enum && none?.type === 'null' && more.length === 0) {
    delete jsonSchema.anyOf
    Object.assign(jsonSchema, value, { type: [value.type, 'null'] })
  }
  if (jsonSchema.const === undefined) return
  jsonSchema.enum = [jsonSchema.const]
  delete jsonSchema.const
}

export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output', override = portable): Record<string, unknown> {
  const { $schema: _dialect, ...converted } = z.toJSONSchema(schema, { io, override })
  return converted
}
