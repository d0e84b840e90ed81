/** A definition and a function that answers are all that a new operation needs, and few files name an operation. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { answersOperation, requestedOperation, restRequest } from '../../agent/buyer/library/purchase-request.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { answerNameWords, nameWords } from '../support/made-up-operation.ts'
import { startTestService } from '../support/service.ts'
import { expectCharges, messageOf, quoteOf, type Ask } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'
import { ANSWERS } from '../../agent/answer/answers.ts'

const ALL = [...OPERATIONS, nameWords]
const ANSWERS_OF_ALL = { ...ANSWERS, name_words: answerNameWords }
const PATH = '/api/v1/company/00000000/words/lower'
const INPUT = { company_number: '00000000', letter_case: 'lower', limit: 3, starts: 't' }
const DATA = { operation: 'name_words', input: INPUT }
const OPERATION = { definition: nameWords, input: INPUT }
const PRICE = 3000n

describe('a new operation', () => {
  const { service, get, a2a, mcp, payFor } = useService(() =>
    startTestService({ sold: { operations: ALL, answers: ANSWERS_OF_ALL } }),
  )
  const rest: Ask = (payment) => get(`${PATH}?limit=3&starts=t`, payment)

  const TRANSPORTS: [name: string, ask: Ask][] = [
    ['REST', rest],
    ['A2A', (payment) => a2a(DATA, payment)],
    ['MCP', (payment) => mcp(DATA, payment)],
  ]

  for (const [name, ask] of TRANSPORTS) {
    it(`is bought over ${name} for one payment, and replayed over every transport`, () =>
      expectCharges(service(), [PRICE], async () => {
        const payment = await payFor(ask())
        await ask(payment)
        const replayed = await Promise.all([rest(payment), mcp(DATA, payment), a2a(DATA, payment)])
        const [overRest, overMcp, overA2a] = replayed
        expect(overRest.json).to.deep.include({ company_number: '00000000', words: ['test'] })
        expect(overMcp.json).to.deep.equal(overRest.json)
        expect(messageOf(overA2a).data).to.deep.equal(overRest.json)
        expect(answersOperation(OPERATION, overRest.json)).to.equal(true)
      }))
  }

  it('is quoted with its price and its canonical URL', async () => {
    const url = `${service().url}${PATH}?limit=3&starts=t`
    expect(quoteOf(await rest())).to.deep.equal({ url, amount: String(PRICE) })
    expect(quoteOf(await a2a(DATA))).to.deep.equal({ url, amount: String(PRICE) })
    expect(quoteOf(await get(PATH)).url).to.equal(`${service().url}${PATH}?limit=5`)
  })

  it('refuses input that its schema does not accept, and other methods', async () => {
    for (const path of [
      PATH.replace('lower', 'mixed'),
      `${PATH}?limit=11`,
      `${PATH}?limit=01`,
      `${PATH}?x=1`,
      `${PATH}?company_number=1`,
    ])
      expect((await get(path)).json['error'], path).to.deep.include({ code: 'invalid_query' })
    expect((await get(PATH, undefined, { method: 'POST' })).status).to.equal(405)
    expect((await get(`${PATH}/`)).status).to.equal(402)
    expect((await get(PATH.replace('/lower', ''))).status).to.equal(404)
  })

  it('is in the card, the tools, the metadata and the documents', async () => {
    const read = async (path: string) => (await get(path)).text
    const card = JSON.parse(await read('/.well-known/agent-card.json')) as { skills: { id: string }[] }
    expect(card.skills.map(({ id }) => id)).to.deep.equal(ALL.map(({ name }) => name))
    const { access, endpoints } = JSON.parse(await read('/api/v1/meta')) as {
      access: { endpoint_prices: object }
      endpoints: string[]
    }
    expect(access.endpoint_prices).to.include({ [nameWords.path]: Number(PRICE) })
    expect(endpoints).to.include(`GET ${nameWords.path}`)
    const { paths } = JSON.parse(await read('/openapi.json')) as {
      paths: Record<string, { get: { operationId: string; parameters: { name: string; in: string }[] } }>
    }
    const parameters = paths[nameWords.path]?.get.parameters.map((each) => `${each.in} ${each.name}`)
    expect(parameters).to.include.members(['path company_number', 'path letter_case', 'query limit', 'query starts'])
    for (const path of ['/docs/api.md', '/docs', '/llms.txt']) expect(await read(path), path).to.contain(nameWords.path)
    expect(await read('/docs/a2a.md')).to.contain(
      '| name_words | `company_number`, `letter_case`, `limit?`, `starts?` |',
    )
  })

  it('is requested and recognised by the library of the buyer', () => {
    const request = restRequest(service().url, OPERATION)
    expect(request.url).to.equal(`${service().url}${PATH}?limit=3&starts=t`)
    expect(requestedOperation(request, ALL)).to.deep.equal(OPERATION)
  })
})

describe('the product', () => {
  it('names each operation in at most ten files', () => {
    const root = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
    const files = ['agent', 'store', 'rest-facade', 'keys'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts') && !path.includes('node_modules'))
        .map((path) => join(folder, path)),
    )
    // The journal and its command are also called history.
    const distinct = OPERATIONS.filter(({ name }) => name !== 'history')
    for (const { name, tool, answerName, path } of distinct) {
      const names = [
        `['"]${name}['"]`,
        `['/]${name.replace('_', '-')}\\.ts'`,
        // A member or a table entry, but no method of another object.
        `\\b(?:prices|operations|examples)\\.${name}\\b`,
        `^ *${name}: [{'\\d]`,
        `\\b(?:${tool.name}|${answerName})\\b`,
        // The path, but no folder or file of that name.
        path.replace(/\{.*/, '').replace('/api/v1', '') + '\\b(?![/-])',
      ]
      const pattern = new RegExp(names.join('|'), 'm')
      const naming = files.filter((each) => pattern.test(withoutComments(readFileSync(join(root, each), 'utf8'))))
      expect(naming).to.include('agent/operation/operations.ts')
      expect(naming.length, naming.join(' ')).to.be.at.most(10)
    }
  })
})

const withoutComments = (source: string) => source.replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
