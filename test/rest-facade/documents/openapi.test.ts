/** The OpenAPI description is consistent with the code. */
import { expect } from 'chai'
import { RE2JS } from 're2js'
import { MCP_ERRORS } from '../../../agent/transport/mcp/protocol-error.ts'
import { REFUSALS, type RefusalCode } from '../../../agent/operation/refusal.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import type { Mode } from '../../../agent/payment/terms.ts'
import { listTools } from '../../../agent/payment/tools.ts'
import { buildOpenApi } from '../../../rest-facade/documents/openapi.ts'
import { buildValidator, type OpenApiDescription } from '../../support/openapi-check.ts'
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
      expect(patterns.size).to.be.at.least(5)
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
    Object.values(methods).flatMap(({ responses }) => Object.entries(responses)),
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
    for (const [status, { content }] of responsesIn(testnet)) {
      if (Number(status) < 400) continue
      for (const code of Object.keys(content?.['application/json']?.examples ?? {})) {
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

  it('has exactly the schemas that are referred to', () => {
    for (const each of [testnet, buildDescription('mainnet', false)]) {
      const text = JSON.stringify(each)
      const named = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
      expect(Object.keys(each.components.schemas)).to.have.members([...named])
    }
  })

  it('has examples for every JSON body but those of free documents, and its schemas accept them', () => {
    for (const [path, methods] of Object.entries(testnet.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        for (const [status, { content = {} }] of Object.entries(responses)) {
          const { schema = {}, examples = {} } = content['application/json'] ?? {}
          const isFree = method === 'get' && status === '200' && !('402' in responses)
          expect(Object.keys(examples).length > 0, path).to.equal('application/json' in content && !isFree)
          for (const example of Object.values(examples) as { $ref?: string; value?: unknown }[]) {
            const { value } = testnet.components.examples[example.$ref?.split('/').at(-1) ?? ''] ?? example
            expect(buildValidator(testnet, schema).safeParse(value).error?.message).to.equal(undefined)
          }
        }
      }
    }
  })
})
