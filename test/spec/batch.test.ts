/** Batches over all transports: input, price, results, refusals, limits and replays (contract 4.11). */
import { rm } from 'node:fs/promises'
import { decodePaymentRequiredHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import { expect } from 'chai'
import { SYNTHETIC_COMPANY } from '../../store/dataset/synthetic.ts'
import { historyFolder } from '../../store/files/layout.ts'
import { fromItem } from '../../agent/operation/batch.ts'
import { itemsOf, parseOperation } from '../../agent/operation/operation.ts'
import { answersOperation } from '../../buyer/library/purchase-request.ts'
import { recordFiles, type PastFile } from '../support/journal.ts'
import { codeOf, expectRefusal, type RawReply } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { BATCH, detailOf, expectCharges, messageOf, quoteOf, rpcBody, type Operation } from '../support/transports.ts'
import { operationOf } from '../support/operations.ts'
import { useService } from '../support/use-service.ts'

const looking = (...numbers: string[]): Operation => ({
  operation: 'batch',
  input: { operation: 'lookup', inputs: numbers.map((company_number) => ({ company_number })) },
})
const resolving = (...inputs: object[]): Operation => ({ operation: 'batch', input: { operation: 'resolve', inputs } })
const inDays = (...inputs: object[]): Operation => ({ operation: 'batch', input: { operation: 'as_of', inputs } })
const numbers = (count: number) => Array.from({ length: count }, (_, at) => String(1001 + (at % 20)))
const days = (count: number, date = '2026-01-31') => numbers(count).map((company_number) => ({ company_number, date }))
/** The day of the only file. */
const TODAY = new Date().toISOString().slice(0, 10)
const names = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `Plain Fixture ${at}` }))

interface Batch {
  results: { http_status: number; body: Record<string, unknown> }[]
  source: object
  snapshot_id: string
}

/** The answer in a reply of any transport. */
function batchIn(reply: RawReply): Batch {
  return (reply.json['result'] ? messageOf(reply).data : reply.json) as Batch
}

/** With the inputs in canonical form. */
function parsedOf(asked: Operation) {
  const parsed = parseOperation(operationOf(asked).definition, asked.input)
  if (parsed.kind === 'invalid') throw new Error(parsed.fault.rule)
  return parsed.operation
}

/** A record, a missing one, a quarantined one, and the synthetic company. */
const MIXED = looking('73848', '999', '2001', '00000000')

describe('a batch', () => {
  const { service, rest, a2a, mcp, payFor, buy, get } = useService(() => startTestService())
  const post = (body: string, payment?: string) =>
    get(BATCH, payment, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } })
  const buySingle = (operation: string, input: Record<string, unknown>) =>
    buy((payment) => rest({ operation, input }, payment))

  const TRANSPORTS = { REST: rest, A2A: (asked: Operation, payment?: string) => a2a(asked, payment), MCP: mcp }
  /** As a client that repeats the resource and the extensions of the quote in a payment that is an object. */
  const mcpAsClient = async (asked: Operation, payment?: string) => {
    if (payment === undefined) return mcp(asked)
    const { resource, extensions } = decodePaymentRequiredHeader(String((await mcp(asked)).headers['payment-required']))
    const signed = decodePaymentSignatureHeader(payment)
    return mcp(asked, { ...signed, resource, extensions: { ...extensions, ...signed.extensions } })
  }

  for (const [name, ask] of Object.entries(TRANSPORTS))
    it(`[4.11.2, 4.11.3] over ${name} is one payment, and replayed equally over every transport`, () =>
      expectCharges(service, [4000n], async () => {
        const payment = await payFor(ask(MIXED))
        await ask(MIXED, payment)
        const bought = await rest(MIXED, payment)
        const { results } = bought.json as unknown as Batch
        expect(results.map((each) => each.http_status)).to.deep.equal([200, 404, 409, 200])
        expect((await mcp(MIXED, payment)).json).to.deep.equal(bought.json)
        expect(messageOf(await a2a(MIXED, payment)).data).to.deep.equal(bought.json)
        expect(answersOperation(operationOf(MIXED), bought.json)).to.equal(true)
        expect(answersOperation(operationOf(looking('1001', '999', '2001', '00000000')), bought.json)).to.equal(false)
        expect(answersOperation(operationOf(looking('73848', '999', '2001')), bought.json)).to.equal(false)
      }))

  it('[4.11.6] has the bodies of the single operations without what stands once in it or in the request', async () => {
    const inputs = [
      { name: 'Plain Fixture Limited', eircode: 't12 ab34' },
      { company_number: '2001' },
      { name: 'no such' },
    ]
    const asked = resolving(...inputs)
    const { json } = await buy((payment) => rest(asked, payment))
    const { results, ...shared } = json as unknown as Batch
    expect(Object.keys(shared)).to.have.members(['source', 'snapshot_id', 'matching_version', 'score_definition'])
    expect(results.map((each) => each.http_status)).to.deep.equal([200, 409, 200])
    const items = itemsOf(parsedOf(asked))
    for (const [at, { body }] of results.entries()) {
      const single = await buySingle('resolve', inputs[at]!)
      expect(body).not.to.have.any.keys('query', 'match', ...Object.keys(shared))
      if (single.status === 200) expect(fromItem(items[at]!, body, json)).to.deep.equal(single.json)
      else {
        const error = { ...(single.json['error'] as object), charged: 'yes' }
        expect({ source: shared.source, snapshot_id: shared.snapshot_id, ...body }).to.deep.equal({
          ...single.json,
          error,
        })
      }
    }
  })

  it('[4.11.6] has a source in the items whose source is another one', async () => {
    const asked = inDays({ company_number: '00000000', date: '2026-01-31' }, { company_number: '73848', date: TODAY })
    const { json } = await buy((payment) => rest(asked, payment))
    const { results, source, ...others } = json as unknown as Batch
    expect(Object.keys(others)).to.deep.equal(['snapshot_id'])
    expect(results[0]!.body['source']).to.include({ synthetic: true })
    for (const { body } of results) expect(body['source']).not.to.deep.equal(source)
    const alone = await buy((payment) => rest(inDays({ company_number: '00000000', date: '2026-01-31' }), payment))
    expect(Object.keys((alone.json as unknown as Batch).results[0]!.body)).to.deep.equal(['company'])
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

  it('[4.11.1] of the most inputs is sold over every transport, and over MCP also for the longest payment', async () => {
    const most = (numbersMax: number, namesMax: number) => [
      looking(...numbers(numbersMax)),
      resolving(...names(namesMax)),
      inDays(...days(numbersMax, TODAY)),
    ]
    const prices = [100_000n, 50_000n, 100_000n, 100_000n, 50_000n, 100_000n]
    const overMcp = [50_000n, 30_000n, 50_000n, 50_000n, 30_000n, 50_000n]
    await expectCharges(service, [...prices, ...overMcp], async () => {
      for (const [ask, allowed] of [
        [rest, most(100, 25)],
        [a2a, most(100, 25)],
        [mcp, most(50, 15)],
        [mcpAsClient, most(50, 15)],
      ] as const)
        for (const asked of allowed) {
          const { results } = batchIn(await buy((payment) => ask(asked, payment)))
          expect(results).to.have.length((asked.input['inputs'] as unknown[]).length)
        }
    })
  })

  for (const [asked, detail] of [
    [looking(...numbers(51)), 'inputs must have at most 50 inputs of lookup over MCP'],
    [inDays(...days(51, TODAY)), 'inputs must have at most 50 inputs of as_of over MCP'],
    [resolving(...names(16)), 'inputs must have at most 15 inputs of resolve over MCP'],
  ] as const)
    it(`[4.11.1] is neither quoted nor sold over MCP: ${detail}. One that REST has sold is delivered`, async () => {
      const payment = await payFor(rest(asked))
      await expectCharges(service, [], async () => {
        for (const reply of [await mcp(asked), await mcp(asked, payment)]) {
          expect(codeOf(reply)).to.equal('invalid_body')
          expect(reply.headers['payment-required']).to.equal(undefined)
          expect(detailOf(reply)).to.equal(`The body is not valid: ${detail}.`)
        }
      })
      const bought = await rest(asked, payment)
      expect(batchIn(await mcp(asked, payment))).to.deep.equal(batchIn(bought))
    })

  const REFUSED: [input: unknown, detail: string][] = [
    [looking().input, 'inputs must have at least one input'],
    [looking(...numbers(101)).input, 'inputs must have at most 100 inputs of lookup'],
    [inDays(...days(101)).input, 'inputs must have at most 100 inputs of as_of'],
    [resolving(...names(26)).input, 'inputs must have at most 25 inputs of resolve'],
    [looking('1', '2', '3', 'x', 'y').input, 'inputs[3].company_number must be 1 to 20 ASCII digits'],
    [resolving({ name: 'abc' }, {}).input, 'inputs[1]: name or company_number is required'],
    [
      resolving({ name: 'abc', h0stile: 1 }).input,
      'inputs[0]: unknown fields are not accepted, only name, company_number, eircode, address',
    ],
    [{ operation: 'lookup', inputs: [7] }, 'inputs[0]: must be an object'],
    [{ operation: 'lookup', inputs: { 0: {} } }, 'inputs must be a list'],
    [{ operation: 'search', inputs: [{ q: 'abc' }] }, 'operation must be lookup or resolve or as_of'],
    [{ operation: 'batch', inputs: [looking('1').input] }, 'operation must be lookup or resolve or as_of'],
    [{ ...looking('1').input, h0stile: 1 }, 'unknown fields are not accepted, only operation, inputs'],
    [[], 'must be an object'],
  ]
  for (const [input, detail] of REFUSED)
    it(`[4.11.1] is refused: ${detail}`, async () => {
      const asked = { operation: 'batch', input } as Operation
      for (const reply of [await rest(asked), await a2a(asked)]) {
        expectRefusal(reply, 'invalid_body')
        expect(detailOf(reply)).to.equal(`The body is not valid: ${detail}.`)
      }
      if (Array.isArray(input)) return
      expect(codeOf(await mcp(asked))).to.equal('invalid_body')
    })

  it('[4.5.1, 4.11.1] has a body of at most 64 KiB, and of 16 KiB over A2A', async () => {
    const body = JSON.stringify(looking('73848').input)
    expectRefusal(await post(body.padEnd(65_536)), 'payment_required')
    expectRefusal(await post(body.padEnd(65_537)), 'body_too_large')
    const overA2a = rpcBody(looking(...numbers(100)))
    expectRefusal(await a2a(overA2a.padEnd(16_384)), 'payment_required')
    expectRefusal(await a2a(overA2a.padEnd(16_385)), 'body_too_large')
  })

  for (const [name, ask] of Object.entries(TRANSPORTS)) {
    it(`[4.11.4] of which no item has an answer is not charged over ${name}, and its payment buys another`, async () => {
      const payment = await payFor(ask(looking('999', '2001')))
      await expectCharges(service, [], async () => {
        const refused = await ask(looking('999', '2001'), payment)
        expect(codeOf(refused)).to.equal('company_not_found')
        expect(refused.json).to.include.all.keys('company', 'error', 'source', 'snapshot_id')
      })
      await expectCharges(service, [2000n], async () =>
        expect(batchIn(await ask(looking('999', '73848'), payment)).results).to.have.length(2),
      )
    })

    it(`[4.11.4] with a day that no file covers is refused over ${name} with its index, and is not charged`, async () => {
      const [covered, before] = ['2026-01-31', '2001-02-03'].map((date) => ({ company_number: '00000000', date }))
      const payment = await payFor(ask(inDays(covered!, before!)))
      await expectCharges(service, [], async () => {
        const refused = await ask(inDays(covered!, before!), payment)
        expect(codeOf(refused)).to.equal('date_not_covered')
        expect(detailOf(refused)).to.match(
          /^No recorded file of the register covers this day: inputs\[1\], covered are [0-9-]{10} to [0-9-]{10}\.$/,
        )
      })
      await expectCharges(service, [2000n], () => ask(inDays(covered!, covered!), payment))
    })
  }

  it('[1.7] of the synthetic company alone has its snapshot', async () => {
    const { json } = await buy((payment) => rest(looking('00000000'), payment))
    const single = await buySingle('lookup', { company_number: '00000000' })
    expect(json).to.include({ snapshot_id: single.json['snapshot_id'] })
  })
})

describe('a batch with large records', () => {
  const { service, rest, a2a, mcp, payFor, buy } = useService(() => startTestService())
  const TRANSPORTS = { REST: rest, A2A: (asked: Operation, payment?: string) => a2a(asked, payment), MCP: mcp }

  it('[4.5.10, 4.11.4] has an answer of at most 1016 KiB over every transport, over A2A also for the longest id', async () => {
    const asked = (date: string) => inDays({ company_number: '5', date })
    const files: PastFile[] = []
    const record = (date: string, letters: number) => {
      const registered_address = { lines: ['A'.repeat(letters)], eircode: null }
      const entries = { 5: { ...SYNTHETIC_COMPANY, company_number: '5', registered_address } }
      files.push({ updated: `${date}T08:00:00Z`, entries })
      return service.restart({
        async whileStopped() {
          await rm(historyFolder(service.directory), { recursive: true })
          await recordFiles(service.directory, files)
        },
      })
    }
    await record('2026-01-01', 1)
    const short = Buffer.byteLength((await buy((payment) => rest(asked('2026-01-01'), payment))).text)
    const most = 1 + 1016 * 1024 - short
    await record('2026-01-02', most)
    await record('2026-01-03', most + 1)
    const withLongId = (each: Operation, payment?: string) =>
      a2a(rpcBody(each).replace('"id":1', `"id":"${'€'.repeat(256)}"`), payment)
    const payment = await payFor(rest(asked('2026-01-02')))
    await expectCharges(service, [1000n], async () => {
      const { text, json } = await rest(asked('2026-01-02'), payment)
      expect(Buffer.byteLength(text)).to.equal(1016 * 1024)
      for (const ask of [a2a, withLongId, mcp])
        expect(batchIn(await ask(asked('2026-01-02'), payment))).to.deep.equal(json)
    })
    await expectCharges(service, [], async () => {
      for (const ask of [...Object.values(TRANSPORTS), withLongId]) {
        const refused = await buy((signed) => ask(asked('2026-01-03'), signed))
        expect(detailOf(refused)).to.equal('The answer to the batch would be too large: the first 0 inputs fit.')
      }
    })
  })
})
