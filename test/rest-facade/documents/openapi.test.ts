/** The OpenAPI description is consistent with the code. */
import { expect } from 'chai'
import { RE2JS } from 're2js'
import { MCP_ERRORS } from '../../../agent/transport/mcp/protocol-error.ts'
import { REFUSALS, type RefusalCode } from '../../../agent/operation/refusal.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import type { Mode } from '../../../agent/payment/terms.ts'
import { listTools } from '../../../agent/payment/tools.ts'
import { buildOpenApi } from '../../../rest-facade/documents/openapi.ts'
import { buildValidator, codesIn, responseOf, type OpenApiDescription } from '../../support/openapi-check.ts'
import { deploymentOf } from '../../support/deployment.ts'
import { singleOf } from '../../support/operations.ts'

function buildDescription(mode: Mode, a2aEnabled = true): OpenApiDescription {
  const described = buildOpenApi(deploymentOf(mode, { a2aEnabled }), 'Guidance.')
  return JSON.parse(JSON.stringify(described)) as OpenApiDescription
}

/** Every value of this member in a document. */
function valuesOf(member: string, part: unknown): unknown[] {
  if (typeof part !== 'object' || part === null) return []
  const own = Object.entries(part)
  return own.flatMap(([name, value]) => valuesOf(member, value).concat(name === member ? [value] : []))
}

describe('the schemas for clients', () => {
  const { components, paths } = buildDescription('testnet')

  for (const [name, document] of Object.entries({
    OpenAPI: [components.schemas, valuesOf('parameters', paths)],
    MCP: listTools(deploymentOf('testnet').terms),
  })) {
    it(`of ${name} have patterns that RE2 and JavaScript compile`, () => {
      const patterns = new Set(valuesOf('pattern', document).filter((each) => typeof each === 'string'))
      expect(patterns.size).to.be.at.least(4)
      for (const pattern of patterns) {
        expect(() => RE2JS.compile(pattern), pattern).not.to.throw()
        expect(() => new RegExp(pattern, 'u'), pattern).not.to.throw()
      }
    })

    it(`of ${name} name a single value by enum, because generators refuse const in an open object`, () => {
      expect(valuesOf('const', document)).to.deep.equal([])
      expect(valuesOf('enum', document)).not.to.deep.equal([])
    })
  }
})

const MCP_CODES = new Set(MCP_ERRORS.map(({ code }) => String(code)))

const responsesIn = (description: OpenApiDescription) =>
  Object.values(description.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) =>
      Object.entries(responses).map(([status, each]) => [status, responseOf(description, each)!] as const),
    ),
  )

describe('the OpenAPI description', () => {
  const testnet = buildDescription('testnet')

  it('[7.9] has one operation for each path, which has an answer and an id of its own', () => {
    const operations = Object.entries(testnet.paths).map(([path, methods]) => {
      const [operation, ...more] = Object.values(methods)
      expect(more, path).to.deep.equal([])
      expect(operation?.responses, path).to.include.keys('200')
      return operation
    })
    expect(new Set(operations.map((each) => each?.operationId)).size).to.equal(operations.length)
    expect(testnet.info['description']).to.contain('405 with `Allow`')
  })

  it('[4.2.5] names the statuses of the dataset in the description of a status, which accepts other texts', () => {
    const { parameters } = Object.values(testnet.paths['/api/v1/search'] ?? {})[0] as unknown as {
      parameters: { name: string; description: string; schema: object }[]
    }
    const status = parameters.find(({ name }) => name === 'status')
    expect(status?.description).to.match(/^Only companies of this status.* The dataset has: Dissolved, Normal\.$/)
    expect(status?.schema).not.to.have.property('enum')
  })

  it('has every refusal code under its status', () => {
    const found = new Set<string>()
    for (const [status, response] of responsesIn(testnet)) {
      if (Number(status) < 400) continue
      for (const code of codesIn(response)) {
        if (MCP_CODES.has(code)) continue
        found.add(code)
        expect(REFUSALS[code as RefusalCode].status, code).to.equal(Number(status))
      }
    }
    expect([...found]).to.have.members(Object.keys(REFUSALS))
  })

  it('has the prices in US dollars, and no security scheme', () => {
    for (const mode of ['testnet', 'mainnet'] as const) {
      const operations = Object.values(buildDescription(mode).paths).flatMap((methods) => Object.values(methods))
      const paid = operations.filter((each) => 'x-payment-info' in each)
      expect(paid).to.have.lengthOf(OPERATIONS.length)
      for (const [at, name] of OPERATIONS.map((each) => each.name).entries()) {
        const usd = (operation: string, count = 1) => String((singleOf(operation).prices[mode] * count) / 1_000_000)
        const own =
          name === 'batch'
            ? { mode: 'dynamic', min: usd('lookup'), max: usd('lookup', 100) }
            : { mode: 'fixed', amount: usd(name) }
        const info = { price: { currency: 'USD', ...own }, protocols: [{ x402: {} }] }
        expect(paid[at]).to.deep.include({ 'x-payment-info': info, security: [] })
      }
    }
  })

  it('has exactly the components that are referred to', () => {
    for (const each of [testnet, buildDescription('mainnet', false)])
      for (const kind of ['schemas', 'headers', 'responses'] as const) {
        const named = new Set(JSON.stringify(each).match(new RegExp(`(?<="#/components/${kind}/)[^"]+`, 'g')))
        expect(Object.keys(each.components[kind])).to.have.members([...named])
      }
  })

  it('has an example for every answer that is paid, and for every kind of error, which its schemas accept', () => {
    let examples = 0
    for (const [path, methods] of Object.entries(testnet.paths)) {
      for (const { responses } of Object.values(methods)) {
        for (const [status, response] of Object.entries(responses)) {
          const { schema = {}, example: own } = responseOf(testnet, response)!.content?.['application/json'] ?? {}
          const { $ref = '' } = schema as { $ref?: string }
          const named: { examples?: unknown[] } = testnet.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}
          const example = own ?? named.examples?.[0]
          const isPaid = status === '200' && '402' in responses
          if (isPaid || Number(status) >= 400) expect(example ?? schema, path).to.satisfy(hasExample)
          if (example === undefined) continue
          expect(buildValidator(testnet, schema).safeParse(example).error?.message).to.equal(undefined)
          examples += 1
        }
      }
    }
    expect(examples).to.be.at.least(100)
  })
})

/** A body of several forms has the examples of these. */
const hasExample = (value: object) => !('$ref' in value)
