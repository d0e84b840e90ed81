/** Batches over all transports: input, price, results, refusals, limits and replays (contract 4.11). */
import { expect } from 'chai'
import { answersOperation } from '../../agent/client/check-answer.ts'
import { expectRefusal } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import {
  BATCH,
  buyOverTransports,
  detailOf,
  expectCharges,
  messageOf,
  quoteOf,
  type Operation,
} from '../support/transports.ts'

const looking = (...numbers: string[]): Operation => ({
  operation: 'batch',
  input: { operation: 'lookup', inputs: numbers.map((company_number) => ({ company_number })) },
})
const resolving = (...inputs: object[]): Operation => ({ operation: 'batch', input: { operation: 'resolve', inputs } })
const numbers = (count: number) => Array.from({ length: count }, (_, at) => String(1001 + (at % 20)))
const names = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `Plain Fixture ${at}` }))

interface Batch {
  results: { status: number; body: unknown }[]
  source: object
  snapshot_id: string
}

/** A record, a missing one, a quarantined one, and the synthetic company. */
const MIXED = looking('73848', '999', '2001', '00000000')

describe('a batch', () => {
  let service: TestService
  const { rest, a2a, mcp, payFor, buy, get } = buyOverTransports(() => service)
  const post = (body: string, payment?: string) =>
    get(BATCH, payment, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } })
  const buySingle = (operation: string, input: Record<string, unknown>) =>
    buy((payment) => rest({ operation, input }, payment))

  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  const TRANSPORTS = { REST: rest, A2A: (asked: Operation, payment?: string) => a2a(asked, payment), MCP: mcp }

  for (const [name, ask] of Object.entries(TRANSPORTS))
    it(`[4.11.2, 4.11.3] over ${name} is one payment, and replayed equally over every transport`, () =>
      expectCharges(service, [4000n], async () => {
        const payment = await payFor(ask(MIXED))
        await ask(MIXED, payment)
        const bought = await rest(MIXED, payment)
        const { results } = bought.json as unknown as Batch
        expect(results.map(({ status }) => status)).to.deep.equal([200, 404, 409, 200])
        expect((await mcp(MIXED, payment)).json).to.deep.equal(bought.json)
        expect(messageOf(await a2a(MIXED, payment)).data).to.deep.equal(bought.json)
        expect(answersOperation(MIXED, bought.json)).to.equal(true)
        expect(answersOperation(looking('1001', '999', '2001', '00000000'), bought.json)).to.equal(false)
        expect(answersOperation(looking('73848', '999', '2001'), bought.json)).to.equal(false)
      }))

  it('[4.11.3] has exactly the bodies of the single operations', async () => {
    const inputs = [
      { name: 'Plain Fixture Limited', eircode: 't12 ab34' },
      { company_number: '2001' },
      { name: 'no such' },
    ]
    const { text, json } = await buy((payment) => rest(resolving(...inputs), payment))
    const { results, source, snapshot_id } = json as unknown as Batch
    const singles = []
    for (const input of inputs) singles.push(await buySingle('resolve', input))
    const bodies = singles.map((each) => `{"status":${each.status},"body":${each.text}}`)
    expect(text).to.equal(`{"results":[${bodies.join(',')}],${JSON.stringify({ source, snapshot_id }).slice(1)}`)
    expect(results.map(({ status }) => status)).to.deep.equal([200, 409, 200])
    expect(singles[0]!.json).to.include({ snapshot_id })
  })

  it('[10.3] with inputs that mean the same is the same batch, and in another order another', async () => {
    const payment = await payFor(rest(resolving({ name: 'Plain  Fixture Limited' }, { name: 'Other Name' })))
    await expectCharges(service, [4000n], async () => {
      const bought = await rest(resolving({ name: 'Plain  Fixture Limited' }, { name: 'Other Name' }), payment)
      const same = await rest(resolving({ name: ' Plain Fixture Limited ' }, { name: 'Other Name' }), payment)
      expect(same.text).to.equal(bought.text)
      const swapped = resolving({ name: 'Other Name' }, { name: 'Plain  Fixture Limited' })
      expectRefusal(await rest(swapped, payment), 'payment_replay_conflict')
    })
  })

  it('[4.11.2] costs the sum of its items, and is quoted by its URL', async () => {
    for (const [asked, amount] of [
      [looking('1'), '1000'],
      [looking(...numbers(100)), '100000'],
      [resolving(...names(25)), '50000'],
    ] as const)
      for (const ask of [rest, a2a])
        expect(quoteOf(await ask(asked))).to.deep.equal({ url: `${service.url}${BATCH}`, amount })
  })

  it('[4.11.2] is not sold for the payment of a smaller one', () =>
    expectCharges(service, [], async () => {
      const payment = await payFor(rest(looking('73848')))
      const reply = await rest(looking('73848', '1001'), payment)
      expectRefusal(reply, 'payment_invalid')
      expect(quoteOf(reply).amount).to.equal('2000')
    }))

  it('[4.11.1] of the most inputs is sold', () =>
    expectCharges(service, [100_000n, 50_000n], async () => {
      for (const asked of [looking(...numbers(100)), resolving(...names(25))]) {
        const bought = await buy((payment) => rest(asked, payment))
        expect(bought.status, bought.text).to.equal(200)
        expect((bought.json as unknown as Batch).results).to.have.length((asked.input['inputs'] as unknown[]).length)
      }
    }))

  const REFUSED: [input: unknown, detail: string][] = [
    [looking().input, 'inputs must have at least one input'],
    [looking(...numbers(101)).input, 'inputs must have at most 100 inputs of lookup'],
    [resolving(...names(26)).input, 'inputs must have at most 25 inputs of resolve'],
    [looking('1', '2', '3', 'x', 'y').input, 'inputs[3].company_number must be 1 to 20 ASCII digits'],
    [resolving({ name: 'abc' }, {}).input, 'inputs[1]: name or company_number is required'],
    [resolving({ name: 'abc', h0stile: 1 }).input, 'inputs[0]: unknown fields are not accepted'],
    [{ operation: 'lookup', inputs: [7] }, 'inputs[0]: must be an object'],
    [{ operation: 'lookup', inputs: { 0: {} } }, 'inputs must be a list'],
    [{ operation: 'search', inputs: [{ q: 'abc' }] }, 'operation must be lookup or resolve or as_of'],
    [{ operation: 'batch', inputs: [looking('1').input] }, 'operation must be lookup or resolve or as_of'],
    [{ ...looking('1').input, h0stile: 1 }, 'unknown fields are not accepted'],
    [[], 'must be an object'],
  ]
  for (const [input, detail] of REFUSED)
    it(`[4.11.1] is refused: ${detail}`, async () => {
      const asked = { operation: 'batch', input } as Operation
      for (const reply of [await rest(asked), await a2a(asked)]) {
        expectRefusal(reply, 'invalid_body')
        expect(detailOf(reply)).to.equal(`The body is not valid: ${detail}.`)
      }
    })

  it('[4.11.1] has a body of at most 64 KiB', async () => {
    const body = JSON.stringify(looking('73848').input)
    expectRefusal(await post(body.padEnd(65_536)), 'payment_required')
    expectRefusal(await post(body.padEnd(65_537)), 'body_too_large')
  })

  it('[4.11.4] of which no item has an answer is not charged, and its payment buys another', async () => {
    const payment = await payFor(rest(looking('999', '2001')))
    await expectCharges(service, [], async () => {
      const refused = await rest(looking('999', '2001'), payment)
      expectRefusal(refused, 'company_not_found')
      expect(refused.json).to.have.all.keys('company', 'error', 'source', 'snapshot_id')
    })
    await expectCharges(service, [2000n], async () =>
      expect((await rest(looking('999', '73848'), payment)).status).to.equal(200),
    )
  })

  it('[1.7] of the synthetic company alone has its snapshot', async () => {
    const { json } = await buy((payment) => rest(looking('00000000'), payment))
    const single = await buySingle('lookup', { company_number: '00000000' })
    expect(json).to.include({ snapshot_id: single.json['snapshot_id'] })
  })

  it('[6.2.1] is one sale, and has a receipt', async () => {
    const bought = await buy((payment) => rest(MIXED, payment))
    const receipt = JSON.parse(Buffer.from(String(bought.headers['payment-response']), 'base64').toString()) as object
    expect(receipt).to.have.nested.property('extensions.payment-receipt.info.receipt')
  })
})
