/** Whatever stands between us and the chain does, the routes give the right answer or 503, and in their time. */
import { expect } from 'chai'
import { type Hex } from 'viem'
import { rpc } from '../../../agent/sandbox/rpc.ts'
import { testChainUrl } from '../../support/chain.ts'
import {
  passOn,
  sendJson,
  startFaultProxy,
  type Fault,
  type FaultProxy,
  type RpcAnswer,
} from '../../support/fault-proxy.ts'
import { expectRefusal, type RawReply } from '../../support/raw-http.ts'
import { giveFeedback, manualTimer, newAddress, newAgent, openHouse, revokeFeedback } from '../../support/registries.ts'

/** What the page's whole deadline may be (one HTTP exchange has less). */
const BOUND_MS = 3_000
const MIB = 1_048_576

const changing =
  (change: (answers: RpcAnswer[]) => unknown): Fault =>
  async ({ answer, response }) =>
    sendJson(response, change(await answer()))

const each = (change: (answer: RpcAnswer, position: number) => unknown) => changing((answers) => answers.map(change))

const result = (change: (data: string) => unknown) =>
  each((answer) => (typeof answer.result === 'string' ? { ...answer, result: change(answer.result) } : answer))

const padded =
  (bytes: number) =>
  async ({ answer, response }: Parameters<Fault>[0]) => {
    const text = JSON.stringify(await answer())
    response.end(text.padEnd(bytes, ' '))
  }

type Place = 'head' | 'calls'
const BOTH: Place[] = ['head', 'calls']

interface Case {
  name: string
  fault: Fault
  outcome?: 'right' | 'refused'
  /** In both batches unless said. */
  places?: Place[]
}

const CASES: Case[] = [
  { name: 'a status 500', fault: ({ response }) => void response.writeHead(500).end('[]') },
  {
    name: 'a status 429 that asks for patience',
    fault: ({ response }) => void response.writeHead(429, { 'Retry-After': '60' }).end(),
  },
  {
    name: 'an answer under status 203',
    fault: async ({ answer, response }) => sendJson(Object.assign(response, { statusCode: 203 }), await answer()),
  },
  {
    name: 'a page of HTML',
    fault: ({ response }) => void response.setHeader('content-type', 'text/html').end('<h1>Hello</h1>'),
  },
  { name: 'a cut connection', fault: ({ response }) => void response.destroy() },
  {
    name: 'a cut body',
    fault: ({ response }) =>
      void response.writeHead(200, { 'Content-Length': '100' }).write('[{', () => response.destroy()),
  },
  { name: 'nothing', fault: ({ response }) => void response.end() },
  { name: 'null', fault: changing(() => null) },
  { name: 'one object instead of a batch', fault: changing(([first]) => first) },
  {
    name: 'an error instead of a batch',
    fault: changing(() => ({ jsonrpc: '2.0', id: null, error: { code: -32_600 } })),
  },
  { name: '4 MiB', fault: padded(4 * MIB) },
  { name: 'one byte more than 1 MiB', fault: padded(MIB + 1) },
  { name: 'exactly 1 MiB', fault: padded(MIB), outcome: 'right' },
  { name: 'a reversed batch', fault: changing((answers) => answers.toReversed()), outcome: 'right' },
  { name: 'a batch without its first answer', fault: changing((answers) => answers.slice(1)) },
  { name: 'a batch without its last answer', fault: changing((answers) => answers.slice(0, -1)) },
  { name: 'a batch with one answer twice', fault: changing((answers) => [...answers, answers[0]]) },
  {
    name: 'a batch with one answer in the place of another',
    fault: changing((answers) => answers.with(0, answers[1] as RpcAnswer)),
  },
  { name: 'an empty batch', fault: changing(() => []) },
  { name: 'answers without ids', fault: each(({ jsonrpc, result: data }) => ({ jsonrpc, result: data })) },
  { name: 'ids that are null', fault: each((answer) => ({ ...answer, id: null })) },
  { name: 'ids that are texts', fault: each((answer) => ({ ...answer, id: String(answer.id) })) },
  { name: 'the ids of another batch', fault: each((answer) => ({ ...answer, id: Number(answer.id) + 1 })) },
  { name: 'another version', fault: each((answer) => ({ ...answer, jsonrpc: '1.0' })) },
  { name: 'answers that are both', fault: each((answer) => ({ ...answer, error: { code: 1 } })) },
  { name: 'answers that are neither', fault: each(({ id, jsonrpc }) => ({ id, jsonrpc })) },
  { name: 'results that are null', fault: each((answer) => ({ ...answer, result: null, error: undefined })) },
  { name: 'results that are objects', fault: each((answer) => ({ ...answer, result: {}, error: undefined })) },
  { name: 'errors without data', fault: each(({ id, jsonrpc }) => ({ id, jsonrpc, error: { code: 3 } })) },
  { name: 'reverts with nothing', fault: each(({ id, jsonrpc }) => ({ id, jsonrpc, error: { code: 3, data: '0x' } })) },
  { name: 'no data', fault: result(() => '0x'), places: ['calls'] },
  { name: 'data that is cut by a byte', fault: result((data) => data.slice(0, -2)), places: ['calls'] },
  { name: 'data that is cut by half a byte', fault: result((data) => data.slice(0, -1)), places: ['calls'] },
  { name: 'data that is cut by a word', fault: result((data) => data.slice(0, -64)), places: ['calls'] },
  { name: 'data with a word more', fault: result((data) => `${data}${'00'.repeat(32)}`), places: ['calls'] },
  {
    name: 'data whose places point nowhere',
    fault: result((data) => data.replace(/0{62}(a0|20)/, `${'0'.repeat(60)}ffff`)),
    places: ['calls'],
  },
  { name: 'data that is no hexadecimal', fault: result((data) => data.replace('0x', '0X')), places: ['calls'] },
  { name: 'another chain', fault: result((data) => (data === '0x14a34' ? '0x1' : data)), places: ['head'] },
  {
    name: 'a block of an hour ago',
    fault: each((answer) => {
      if (typeof answer.result !== 'object') return answer
      const { timestamp, ...rest } = answer.result as { timestamp: string }
      return { ...answer, result: { ...rest, timestamp: `0x${(Number(timestamp) - 3600).toString(16)}` } }
    }),
    places: ['head'],
  },
  {
    name: 'a block that there is not',
    fault: each((answer) =>
      typeof answer.result === 'object'
        ? { ...answer, result: { ...answer.result, hash: `0x${'12'.repeat(32)}` } }
        : answer,
    ),
    places: ['head'],
  },
]

/** Only in one of the two batches that make a reading. */
const only =
  (place: Place, fault: Fault): Fault =>
  (exchange) =>
    (exchange.calls[0]?.method === 'eth_chainId') === (place === 'head') ? fault(exchange) : passOn(exchange)

/** Without what passes with the time. */
function lasting({ json: { block: _block, checked_at: _time, ...rest } }: RawReply) {
  return rest
}

describe('the registries behind a faulty RPC', () => {
  let agentId: bigint
  let client: Hex
  let page: string
  let proxy: FaultProxy
  let truth: { agent: object; page: object }

  before(async () => {
    ;({ agentId } = await newAgent())
    client = newAddress()
    const given = Array.from({ length: 8 }, (_, index) => ({
      value: BigInt(index) - 3n,
      decimals: 1,
      tag1: `tag ${index}`,
    }))
    await giveFeedback(agentId, client, ...given)
    await revokeFeedback(agentId, client, 3n)
    page = `/api/v1/reputation?client=${client}&start=2`
    proxy = await startFaultProxy(await testChainUrl())
    const house = await openHouse({ url: proxy.url, agentId, payTo: client })
    truth = { agent: lasting(await house.get('/agent.json')), page: lasting(await house.get(page)) }
    await house.close()
    expect(truth.page).to.deep.include({ status: 'registered', last_index: 8, next_start: null })
  })
  afterEach(() => proxy.fail(undefined))
  after(() => proxy.close())

  const open = () => openHouse({ url: proxy.url, agentId, payTo: client })

  for (const { name, fault, outcome = 'refused', places = BOTH } of CASES) {
    for (const place of places) {
      it(`say 503, or the truth, after ${name} in the batch of the ${place}: ${outcome}`, async () => {
        const healthy = await open()
        proxy.fail(only(place, fault))
        const faulty = await open()
        try {
          const [read, known] = [await healthy.get(page), await faulty.get('/agent.json')]
          if (outcome === 'right') {
            expect(lasting(read)).to.deep.equal(truth.page)
            expect(lasting(known)).to.deep.equal(truth.agent)
          } else {
            for (const reply of [
              read,
              known,
              await faulty.get(page),
              await faulty.get('/.well-known/agent-registration.json'),
            ])
              expectRefusal(reply, 'registry_unchecked')
          }
        } finally {
          await healthy.close()
          await faulty.close()
        }
      })
    }
  }

  it('follow no redirect, not even to the chain itself', async () => {
    const healthy = await open()
    const location = await testChainUrl()
    const before = proxy.batches.length
    proxy.fail(({ response }) => void response.writeHead(307, { Location: location }).end())
    expectRefusal(await healthy.get(page), 'registry_unchecked')
    expect(proxy.batches.length - before).to.equal(1)
    await healthy.close()
  })

  it('give no answer of two histories: a reorganisation between the batches is 503', async () => {
    const healthy = await open()
    await rpc(await testChainUrl(), 'anvil_mine', '0x3')
    const pins: unknown[] = []
    proxy.fail(
      only('calls', async (exchange) => {
        pins.push(...exchange.calls.map(({ params }) => (params[1] as { requireCanonical?: unknown }).requireCanonical))
        await rpc(await testChainUrl(), 'anvil_reorg', 2, [])
        await passOn(exchange)
      }),
    )
    expectRefusal(await healthy.get(page), 'registry_unchecked')
    // A node that still has the old block must refuse it all the same.
    expect(pins).to.deep.equal(Array.from({ length: 11 }, () => true))
    proxy.fail(undefined)
    expect(lasting(await healthy.get(page))).to.deep.equal(truth.page)
    await healthy.close()
  })

  it('take no answer that is a result beside a revert', async () => {
    const healthy = await open()
    proxy.fail(
      only(
        'calls',
        each((answer) => (answer.error === undefined ? answer : { ...answer, result: '0x' })),
      ),
    )
    expectRefusal(await healthy.get(page), 'registry_unchecked')
    await healthy.close()
  })

  it('believe no end of the feedback that the feedback itself contradicts', async () => {
    const healthy = await open()
    for (const last of [7, 9]) {
      const said = `0x${String(last).padStart(64, '0')}`
      proxy.fail(
        only(
          'calls',
          each((answer, position) => (position === 0 ? { ...answer, result: said } : answer)),
        ),
      )
      expectRefusal(await healthy.get(page), 'registry_unchecked')
    }
    await healthy.close()
  })

  it('take no other revert for the end of the feedback, or for an agent that is not there', async () => {
    const healthy = await open()
    const reverting = (data: string) =>
      each(({ id, jsonrpc, result: given }, position) =>
        position > 0 ? { id, jsonrpc, error: { code: 3, data } } : { id, jsonrpc, result: given },
      )
    for (const data of [`0x7e273289${'f'.repeat(64)}`, '0x7e273289', '0x', '0x08c379a0']) {
      proxy.fail(only('calls', reverting(data)))
      const faulty = await open()
      expectRefusal(await faulty.get('/agent.json'), 'registry_unchecked')
      await faulty.close()
      proxy.fail(
        only(
          'calls',
          each((answer) => (answer.error === undefined ? answer : { ...answer, error: { code: 3, data } })),
        ),
      )
      expectRefusal(await healthy.get(page), 'registry_unchecked')
    }
    await healthy.close()
  })

  it('are unchecked where the reputation registry is linked to another', async () => {
    const other = `0x${newAddress().slice(2).padStart(64, '0')}`
    proxy.fail(
      only(
        'calls',
        each((answer, position) => (position === 0 ? { ...answer, result: other } : answer)),
      ),
    )
    const house = await open()
    expectRefusal(await house.get('/agent.json'), 'registry_unchecked')
    expect(house.reports).to.deep.equal(['registry_unread REGISTRIES_NOT_LINKED'])
    await house.close()
  })

  const LATE: [name: string, fault: Fault][] = [
    ['never answers', () => undefined],
    ['sends its headers and no more', ({ response }) => response.writeHead(200).flushHeaders()],
    [
      'drips',
      ({ response }) => {
        const drip = setInterval(() => void response.write(' '), 5)
        response.on('close', () => clearInterval(drip))
      },
    ],
  ]
  for (const [name, fault] of LATE) {
    for (const place of BOTH) {
      it(`are done with a node that ${name} to the ${place} when the time is over, without asking again`, async () => {
        const { timer, times, pass } = manualTimer()
        const house = await openHouse({ url: proxy.url, agentId, payTo: client, timer })
        let reached: () => void
        const held = new Promise<void>((resolve) => void (reached = resolve))
        const gone = new Promise<void>((resolve) => {
          proxy.fail(
            only(place, (exchange) => {
              exchange.response.on('close', resolve)
              reached()
              return fault(exchange)
            }),
          )
        })
        const before = proxy.batches.length
        const reading = house.get(page)
        await held
        // The identity's next reading is far away; the rest is what this request waits for.
        expect(times().filter((time) => time <= BOUND_MS)).to.have.members([2_000, 3_000])
        pass(BOUND_MS)
        expectRefusal(await reading, 'registry_unchecked')
        await gone
        expect(proxy.batches.length - before).to.equal(place === 'head' ? 1 : 2)
        await house.close()
      })
    }
  }

  it('never show the address of the RPC, which may hold a key', async () => {
    const house = await open()
    proxy.fail(({ response }) => void response.destroy())
    await house.get(page)
    proxy.fail(({ response }) => void response.writeHead(307, { Location: `${proxy.url}/else` }).end())
    await house.get(`${page}&limit=3`)
    expect(house.reports).to.deep.equal(['reputation_unread UNREACHABLE', 'reputation_unread UNREACHABLE'])
    await house.close()
  })
})
