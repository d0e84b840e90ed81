/** The OpenAPI description is consistent with the code, and the check of all answers in a test run finds every fault. */
import { expect } from 'chai'
import { REFUSALS, type RefusalCode } from '../../../agent/operation/refusal.ts'
import { buildExamples } from '../../../agent/operation/examples.ts'
import { OPERATION_NAMES } from '../../../agent/operation/schema.ts'
import { DEPLOYMENTS, buildTerms } from '../../../agent/payments/terms.ts'
import { buildOpenApi } from '../../../rest-facade/documents/openapi.ts'
import {
  findOpenApiFault,
  buildValidator,
  type HttpAnswer,
  type OpenApiDescription,
} from '../../support/openapi-check.ts'

const BASE_URL = 'https://companies.example.test'

function buildDescription(mode: 'testnet' | 'mainnet', a2aEnabled = true, contactEmail?: string): OpenApiDescription {
  const described = buildOpenApi(
    {
      baseUrl: BASE_URL,
      version: '0.1.0',
      terms: buildTerms(mode, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'),
      onSale: OPERATION_NAMES,
      rateLimitPerMinute: 120,
      a2aEnabled,
      retentionDays: 30,
      extensionUri: `${BASE_URL}/docs#http-x402-v1`,
      contactEmail,
      examples: buildExamples('00000000'),
      licence: { name: 'CC0', url: 'https://licences.example.test/cc0' },
    },
    'Guidance.',
  )
  return JSON.parse(JSON.stringify(described)) as OpenApiDescription
}

const CONFIGURATIONS = [
  ['testnet', true],
  ['mainnet', true],
  ['testnet', false],
  ['mainnet', false],
] as const

/** Contract 4. */
const ROUTES = [
  'get /api/v1/company/{company_number}',
  'get /api/v1/search',
  'post /api/v1/resolve',
  'get /api/v1/meta',
  'get /attribution',
  'get /docs',
  'get /docs/api.md',
  'get /docs/a2a.md',
  'get /llms.txt',
  'get /openapi.json',
  'get /robots.txt',
  'get /.well-known/jwks.json',
  'get /.well-known/agent-card.json',
  'post /a2a',
]
const TESTNET_ROUTES = [
  'get /.well-known/agent-registration.json',
  'get /agent.json',
  'get /api/v1/reputation',
  'get /testnet-client.py',
]
/** Contract 4.1 to 4.5, and 500. */
const STATUSES: Record<string, number[]> = {
  '/api/v1/company/{company_number}': [200, 400, 402, 404, 405, 409, 429, 500, 503],
  '/api/v1/search': [200, 400, 402, 404, 405, 409, 413, 415, 429, 500, 503],
  '/api/v1/resolve': [200, 400, 402, 404, 405, 409, 413, 415, 429, 500, 503],
  '/a2a': [200, 400, 402, 404, 405, 409, 413, 415, 429, 500, 502, 503],
  '/api/v1/reputation': [200, 304, 400, 404, 405, 429, 500, 503],
}

const routesIn = ({ paths }: OpenApiDescription) =>
  Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`))

const responsesIn = ({ paths }: OpenApiDescription) =>
  Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.entries(responses)),
  )

describe('the OpenAPI description', () => {
  const testnet = buildDescription('testnet')

  it('has exactly the routes of the contract', () => {
    expect(routesIn(testnet)).to.have.members([...ROUTES, ...TESTNET_ROUTES])
    expect(routesIn(buildDescription('mainnet'))).to.have.members(ROUTES)
  })

  it('has every status of the contract for each kind of route', () => {
    for (const [path, statuses] of Object.entries(STATUSES)) {
      const [operation] = Object.values(testnet.paths[path] ?? {})
      expect(Object.keys(operation?.responses ?? {}).map(Number), path).to.have.members(statuses)
    }
  })

  it('has every refusal code under its status', () => {
    const found = new Set<string>()
    for (const [status, { content }] of responsesIn(testnet)) {
      if (Number(status) < 400) continue
      for (const code of Object.keys(content?.['application/json']?.examples ?? {})) {
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
      expect(paid).to.have.lengthOf(OPERATION_NAMES.length)
      for (const [at, name] of OPERATION_NAMES.entries()) {
        const amount = String(DEPLOYMENTS[mode].prices[name] / 1_000_000)
        const info = { price: { mode: 'fixed', currency: 'USD', amount }, protocols: [{ x402: {} }] }
        expect(paid[at]).to.deep.include({ 'x-payment-info': info, security: [] })
      }
    }
  })

  it('has the contact address only if one is configured', () => {
    const contact = { name: 'irish-company-agent', url: `${BASE_URL}/docs` }
    expect(testnet.info['contact']).to.deep.equal(contact)
    const email = 'help@companies.example'
    expect(buildDescription('testnet', true, email).info['contact']).to.deep.equal({ ...contact, email })
  })

  it('has exactly the schemas that are referred to', () => {
    for (const [mode, a2aEnabled] of CONFIGURATIONS) {
      const each = buildDescription(mode, a2aEnabled)
      const text = JSON.stringify(each)
      const named = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
      expect(Object.keys(each.components.schemas)).to.have.members([...named])
    }
  })

  it('has examples for every JSON body, and its schemas accept them', () => {
    for (const [, { content = {} }] of responsesIn(testnet)) {
      const { schema = {}, examples = {} } = content['application/json'] ?? {}
      expect(Object.keys(examples).length > 0).to.equal('application/json' in content)
      for (const example of Object.values(examples) as { $ref?: string; value?: unknown }[]) {
        const { value } = testnet.components.examples[example.$ref?.split('/').at(-1) ?? ''] ?? example
        expect(buildValidator(testnet, schema).safeParse(value).error?.message).to.equal(undefined)
      }
    }
  })

  describe('the check of an answer', () => {
    const refusal = (code: RefusalCode) => ({ text: JSON.stringify({ error: { code, message: 'x' } }) })
    const withHeader = (name: string, value: string): Pick<HttpAnswer, 'header'> => ({
      header: (each) => new Map([[name, value]]).get(each) ?? (each === 'content-type' ? 'application/json' : null),
    })
    const valid: HttpAnswer = {
      origin: BASE_URL,
      target: '/api/v1/company/1',
      method: 'GET',
      status: 400,
      ...withHeader('content-type', 'application/json; charset=utf-8'),
      ...refusal('invalid_company_number'),
    }

    it('accepts described answers', () => {
      const unknown: HttpAnswer = { ...valid, target: '/nowhere', status: 404, ...refusal('not_found') }
      for (const answer of [valid, unknown]) expect(findOpenApiFault(testnet, answer)).to.equal(undefined)
    })

    const error = { code: 'unexpected_input', message: 'x' }
    const FAULTS: Record<string, Partial<HttpAnswer>> = {
      'an undescribed status': { status: 418 },
      'a code of another route': refusal('invalid_body'),
      'a code of another status': refusal('rate_limited'),
      'an unknown code': { text: JSON.stringify({ error: { ...error, code: 'x' } }) },
      'an additional member': { text: JSON.stringify({ error, stack: 'x' }) },
      'a missing message': { text: JSON.stringify({ error: { code: error.code } }) },
      'another content type': { header: () => 'text/html' },
      'a body that is not JSON': { text: 'not here' },
      'an undescribed path': { target: '/nowhere' },
      'an undescribed method without status 405': { method: 'DELETE' },
      '405 without Allow': { method: 'DELETE', status: 405, ...refusal('method_not_allowed') },
      '402 without the quote': { status: 402, ...refusal('payment_required'), ...withHeader('PAYMENT-REQUIRED', 'x') },
      'a Retry-After of text': { status: 503, ...refusal('overloaded'), ...withHeader('Retry-After', 'soon') },
      '404 as a DataError without its source': { status: 404, ...refusal('company_not_found') },
      '200 without a company': { status: 200, text: '{}' },
      'HEAD with a body': { method: 'HEAD' },
      'a preflight without status 204': { method: 'OPTIONS' },
    }
    it('finds every fault', () => {
      for (const [fault, change] of Object.entries(FAULTS))
        expect(findOpenApiFault(testnet, { ...valid, ...change }), fault).to.be.a('string')
    })
  })
})
