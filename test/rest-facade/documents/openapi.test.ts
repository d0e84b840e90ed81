/** The OpenAPI description against the code, and the check that every answer of a test run goes through against lies. */
import { expect } from 'chai'
import { REFUSALS, type RefusalCode } from '../../../agent/operation/refusal.ts'
import { OPERATION_NAMES } from '../../../agent/operation/schema.ts'
import { DEPLOYMENTS, termsOf } from '../../../agent/payments/terms.ts'
import { openApi } from '../../../rest-facade/documents/openapi.ts'
import { faultOf, validatorOf, type Answer, type Description } from '../../support/described.ts'

const BASE_URL = 'https://companies.example.test'

function describedAs(mode: 'testnet' | 'mainnet', a2aEnabled = true, contactEmail?: string): Description {
  const described = openApi(
    {
      baseUrl: BASE_URL,
      version: '0.1.0',
      terms: termsOf(mode, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'),
      onSale: OPERATION_NAMES,
      rateLimitPerMinute: 120,
      a2aEnabled,
      retentionDays: 30,
      extensionUri: `${BASE_URL}/docs#http-x402-v1`,
      contactEmail,
    },
    'Guidance.',
  )
  return JSON.parse(JSON.stringify(described)) as Description
}

/** Spec 4. */
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
/** Spec 4.1 to 4.3 and 4.5, and the 500 that any program can come to. */
const STATUSES: Record<string, number[]> = {
  '/api/v1/company/{company_number}': [200, 400, 402, 404, 405, 409, 429, 500, 503],
  '/api/v1/search': [200, 400, 402, 404, 405, 409, 413, 415, 429, 500, 503],
  '/api/v1/resolve': [200, 400, 402, 404, 405, 409, 413, 415, 429, 500, 503],
  '/a2a': [200, 400, 402, 404, 405, 409, 413, 415, 429, 500, 502, 503],
  '/api/v1/reputation': [200, 304, 400, 404, 405, 429, 500, 503],
}

const routesIn = ({ paths }: Description) =>
  Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`))

const responsesIn = ({ paths }: Description) =>
  Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }) => Object.entries(responses)),
  )

describe('the OpenAPI description', () => {
  const testnet = describedAs('testnet')

  it('has every route of the contract, and no other', () => {
    expect(routesIn(testnet)).to.have.members([...ROUTES, ...TESTNET_ROUTES])
    expect(routesIn(describedAs('mainnet'))).to.have.members(ROUTES)
  })

  for (const [path, statuses] of Object.entries(STATUSES)) {
    it(`has for ${path} every status of the contract`, () => {
      const [operation] = Object.values(testnet.paths[path] ?? {})
      expect(Object.keys(operation?.responses ?? {}).map(Number)).to.have.members(statuses)
    })
  }

  it('has every code of the table of refusals, each under its own status', () => {
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

  it('states the prices in dollars, as listers read them, and that no login is needed', () => {
    for (const mode of ['testnet', 'mainnet'] as const) {
      const paid = Object.values(describedAs(mode).paths).flatMap((methods) =>
        Object.values(methods).filter((each) => 'x-payment-info' in each),
      ) as unknown as { operationId: string; security: unknown; 'x-payment-info': unknown }[]
      const infos = paid.map((each) => each['x-payment-info'])
      expect(infos).to.deep.equal(
        OPERATION_NAMES.map((name) => ({
          price: { mode: 'fixed', currency: 'USD', amount: String(DEPLOYMENTS[mode].prices[name] / 1_000_000) },
          protocols: [{ x402: {} }],
        })),
      )
      expect(paid.map(({ security }) => security)).to.deep.equal([[], [], []])
    }
  })

  it('names an e-mail address for questions where there is one, and none elsewhere', () => {
    const contact = { name: 'irish-company-agent', url: `${BASE_URL}/docs` }
    expect(testnet.info['contact']).to.deep.equal(contact)
    const email = 'help@companies.example'
    expect(describedAs('testnet', true, email).info['contact']).to.deep.equal({ ...contact, email })
  })

  it('states every schema that something refers to, and no other', () => {
    for (const each of [
      testnet,
      describedAs('mainnet'),
      describedAs('testnet', false),
      describedAs('mainnet', false),
    ]) {
      const text = JSON.stringify(each)
      const named = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
      expect(Object.keys(each.components.schemas)).to.have.members([...named])
    }
  })

  it('shows only bodies that its own schemas accept', () => {
    let checked = 0
    for (const [, { content = {} }] of responsesIn(testnet)) {
      for (const { schema = {}, examples = {} } of Object.values(content)) {
        for (const example of Object.values(examples) as { $ref?: string; value?: unknown }[]) {
          const { value } = example.$ref
            ? (testnet.components.examples[example.$ref.split('/').at(-1) ?? ''] ?? example)
            : example
          const parsed = validatorOf(testnet, schema).safeParse(value)
          expect(parsed.error?.message).to.equal(undefined)
          checked += 1
        }
      }
    }
    expect(checked).to.be.greaterThan(100)
  })

  it('has an example for every answer that has a body', () => {
    for (const [, { content = {} }] of responsesIn(testnet)) {
      for (const { example, examples } of Object.values(content))
        expect(Object.keys(examples ?? {}).length > 0 || example !== undefined).to.equal(true)
    }
  })

  describe('refuses an answer', () => {
    const refusal = (code: RefusalCode) => JSON.stringify({ error: { code, message: 'x' } })
    const right: Answer = {
      origin: BASE_URL,
      target: '/api/v1/company/1',
      method: 'GET',
      status: 400,
      header: (name) => (name === 'content-type' ? 'application/json; charset=utf-8' : null),
      text: refusal('invalid_company_number'),
    }
    const of =
      (headers: Record<string, string>): Answer['header'] =>
      (name) =>
        headers[name] ?? (name === 'content-type' ? 'application/json' : null)

    it('not when it is right', () => {
      expect(faultOf(testnet, right)).to.equal(undefined)
      expect(faultOf(testnet, { ...right, target: '/nowhere', status: 404, text: refusal('not_found') })).to.equal(
        undefined,
      )
    })

    const WRONG: [name: string, change: Partial<Answer>][] = [
      ['with a status that is not described', { status: 418 }],
      ['with a code of another route', { text: refusal('invalid_body') }],
      ['with a code of another status', { text: refusal('rate_limited') }],
      ['with a code that does not exist', { text: JSON.stringify({ error: { code: 'x', message: 'x' } }) }],
      [
        'with a field more',
        { text: JSON.stringify({ error: { code: 'unexpected_input', message: 'x' }, stack: 'x' }) },
      ],
      ['without a message', { text: JSON.stringify({ error: { code: 'unexpected_input' } }) }],
      ['of another type', { header: () => 'text/html' }],
      ['that is no JSON', { text: 'not here' }],
      ['to a path that is not described', { target: '/nowhere' }],
      ['to a method that is not described, but for 405', { method: 'DELETE' }],
      ['405 without Allow', { method: 'DELETE', status: 405, text: refusal('method_not_allowed') }],
      [
        '402 without the quote',
        { status: 402, text: refusal('payment_required'), header: of({ 'PAYMENT-REQUIRED': 'x' }) },
      ],
      [
        '503 with a Retry-After of words',
        { status: 503, text: refusal('overloaded'), header: of({ 'Retry-After': 'soon' }) },
      ],
      ['404 as a DataError without its source', { status: 404, text: refusal('company_not_found') }],
      ['200 that is no company', { status: 200, text: '{}' }],
      ['HEAD with a body', { method: 'HEAD' }],
      ['to a preflight other than 204', { method: 'OPTIONS' }],
    ]
    for (const [name, change] of WRONG)
      it(name, () => {
        expect(faultOf(testnet, { ...right, ...change })).to.be.a('string')
      })
  })
})
