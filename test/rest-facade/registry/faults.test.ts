/** Faults of the node: the registry routes return the correct answer or 503, within the time limit. */
import { expect } from 'chai'
import { type Hex } from 'viem'
import type { Timer } from '../../../store/base/runtime.ts'
import { rpc, testChainUrl } from '../../support/chain.ts'
import {
  passOn,
  sendJson,
  startFaultProxy,
  type Fault,
  type FaultProxy,
  type RpcAnswer,
} from '../../support/fault-proxy.ts'
import { expectRefusal, type RawReply } from '../../support/raw-http.ts'
import {
  giveFeedback,
  newAddress,
  newAgent,
  serveRegistry,
  revokeFeedback,
  type ServedRegistry,
} from '../../support/registries.ts'
import { manualTimer } from '../../support/timers.ts'

const REGISTRATION_FILE = '/.well-known/agent-registration.json'

/** The time limit of a read. */
const BOUND_MS = 3_000

const changing =
  (change: (answers: RpcAnswer[]) => unknown): Fault =>
  async ({ answer, response }) =>
    sendJson(response, change(await answer()))

const each = (change: (answer: RpcAnswer, position: number) => unknown) => changing((answers) => answers.map(change))

const result = (change: (data: string) => unknown) =>
  each((answer) => (typeof answer.result === 'string' ? { ...answer, result: change(answer.result) } : answer))

type Batch = 'head' | 'calls'
const BOTH: Batch[] = ['head', 'calls']

interface FaultCase {
  name: string
  fault: Fault
  outcome?: 'correct' | 'unchecked'
  /** Default: both. */
  batches?: Batch[]
}

/** Faults of single replies and of HTTP are tested with the JSON-RPC client. */
const CASES: FaultCase[] = [
  { name: 'status 500', fault: ({ response }) => void response.writeHead(500).end('[]') },
  { name: 'one object instead of a batch', fault: changing(([first]) => first) },
  {
    name: 'a refusal of every batch',
    fault: (exchange) =>
      exchange.calls.length === 1
        ? passOn(exchange)
        : sendJson(exchange.response, { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'no batches' } }),
    outcome: 'correct',
  },
  { name: 'a reversed batch', fault: changing((answers) => answers.toReversed()), outcome: 'correct' },
  { name: 'a batch without its first reply', fault: changing((answers) => answers.slice(1)) },
  { name: 'a batch with a duplicate reply', fault: changing((answers) => [...answers, answers[0]]) },
  { name: 'ids of another batch', fault: each((answer) => ({ ...answer, id: Number(answer.id) + 1 })) },
  { name: 'null results', fault: each((answer) => ({ ...answer, result: null, error: undefined })) },
  { name: 'errors without data', fault: each(({ id, jsonrpc }) => ({ id, jsonrpc, error: { code: 3, message: '' } })) },
  { name: 'empty data', fault: result(() => '0x'), batches: ['calls'] },
  { name: 'another chain', fault: result((data) => (data === '0x14a34' ? '0x1' : data)), batches: ['head'] },
  {
    name: 'a block that is an hour old',
    fault: each((answer) => {
      if (typeof answer.result !== 'object') return answer
      const { timestamp, ...rest } = answer.result as { timestamp: string }
      return { ...answer, result: { ...rest, timestamp: `0x${(Number(timestamp) - 3600).toString(16)}` } }
    }),
    batches: ['head'],
  },
  {
    name: 'a block that does not exist',
    fault: each((answer) =>
      typeof answer.result === 'object'
        ? { ...answer, result: { ...answer.result, hash: `0x${'12'.repeat(32)}` } }
        : answer,
    ),
    batches: ['head'],
  },
]

const UNEXPECTED_REVERTS = [`0x7e273289${'f'.repeat(64)}`, '0x7e273289', '0x', '0x08c379a0']
const reverted = ({ id, jsonrpc }: RpcAnswer, data: string) => ({ id, jsonrpc, error: { code: 3, message: '', data } })

/** Changes of the replies to the calls of a page. The calls after the last index revert. */
const PAGE_FAULTS: [what: string, change: Parameters<typeof each>[0]][] = [
  [
    'readFeedback returns a result after the last index',
    ({ error, ...answer }) => (error === undefined ? answer : { ...answer, result: '0x' }),
  ],
  ...[7, 9].map((last): (typeof PAGE_FAULTS)[number] => [
    `getLastIndex returns ${last} of 8`,
    (answer, position) => (position === 0 ? { ...answer, result: `0x${String(last).padStart(64, '0')}` } : answer),
  ]),
]

/** Applies the fault to one of the two batches of a read. */
const only =
  (batch: Batch, fault: Fault): Fault =>
  (exchange) =>
    (exchange.calls[0]?.method === 'eth_chainId') === (batch === 'head') ? fault(exchange) : passOn(exchange)

const inCalls = (change: Parameters<typeof each>[0]) => only('calls', each(change))

/** Removes the members that change with time. */
function withoutTimes({ json: { block: _block, checked_at: _time, ...rest } }: RawReply) {
  return rest
}

describe('the registry routes with a faulty node', () => {
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
    const served = await open()
    truth = { agent: withoutTimes(await served.get('/agent.json')), page: withoutTimes(await served.get(page)) }
    expect(truth.page).to.deep.include({ status: 'registered', last_index: 8, next_start: null })
  })
  afterEach(async () => {
    proxy.fail(undefined)
    await Promise.all(opened.splice(0).map((served) => served.close()))
  })
  after(() => proxy.close())

  const opened: ServedRegistry[] = []
  async function open(options: { timer?: Timer } = {}): Promise<ServedRegistry> {
    const served = await serveRegistry({ url: proxy.url, agentId, payTo: client, ...options })
    opened.push(served)
    return served
  }

  for (const { name, fault, outcome = 'unchecked', batches = BOTH } of CASES) {
    for (const batch of batches) {
      it(`are ${outcome} after ${name} in the ${batch} batch`, async () => {
        const routes = await open()
        await routes.get('/agent.json')
        proxy.fail(only(batch, fault))
        const faulty = await open()
        const [read, known] = [await routes.get(page), await faulty.get('/agent.json')]
        if (outcome === 'correct') {
          expect(withoutTimes(read)).to.deep.equal(truth.page)
          expect(withoutTimes(known)).to.deep.equal(truth.agent)
        } else {
          for (const reply of [read, known, await faulty.get(page), await faulty.get(REGISTRATION_FILE)])
            expectRefusal(reply, 'registry_unchecked')
        }
      })
    }
  }

  it('return 503 after a reorganisation between the two batches', async () => {
    const routes = await open()
    await routes.get('/agent.json')
    await rpc(await testChainUrl(), 'anvil_mine', '0x3')
    const pins: unknown[] = []
    proxy.fail(
      only('calls', async (exchange) => {
        pins.push(...exchange.calls.map(({ params }) => (params[1] as { requireCanonical?: unknown }).requireCanonical))
        await rpc(await testChainUrl(), 'anvil_reorg', 2, [])
        await passOn(exchange)
      }),
    )
    expectRefusal(await routes.get(page), 'registry_unchecked')
    // A node that still has the old block must reject the calls too.
    expect(pins).to.deep.equal(Array.from({ length: 11 }, () => true))
    proxy.fail(undefined)
    expect(withoutTimes(await routes.get(page))).to.deep.equal(truth.page)
  })

  for (const [what, change] of PAGE_FAULTS) {
    it(`return 503 if ${what}`, async () => {
      const routes = await open()
      await routes.get('/agent.json')
      proxy.fail(inCalls(change))
      expectRefusal(await routes.get(page), 'registry_unchecked')
    })
  }

  it('return 503 if every call about the agent reverts with unexpected data', async () => {
    for (const data of UNEXPECTED_REVERTS) {
      proxy.fail(inCalls((answer, position) => (position > 0 ? reverted(answer, data) : answer)))
      expectRefusal(await (await open()).get('/agent.json'), 'registry_unchecked')
    }
  })

  it('return 503 if the reputation registry uses another identity registry', async () => {
    const other = `0x${newAddress().slice(2).padStart(64, '0')}`
    proxy.fail(inCalls((answer, position) => (position === 0 ? { ...answer, result: other } : answer)))
    const served = await open()
    expectRefusal(await served.get('/agent.json'), 'registry_unchecked')
    expect(served.reports).to.deep.equal(['registry_unread REGISTRIES_NOT_LINKED'])
  })

  for (const batch of BOTH) {
    it(`give up at the time limit without a retry if the node never replies in the ${batch} batch`, async () => {
      const { timer, times, pass } = manualTimer()
      const served = await open({ timer })
      await served.get('/agent.json')
      let reached: () => void
      const held = new Promise<void>((resolve) => void (reached = resolve))
      const gone = new Promise<void>((resolve) => {
        proxy.fail(
          only(batch, (exchange) => {
            exchange.response.on('close', resolve)
            reached()
          }),
        )
      })
      const before = proxy.batches.length
      const answer = served.get(page)
      await held
      expect(times()).to.deep.equal([BOUND_MS])
      pass(BOUND_MS)
      expectRefusal(await answer, 'registry_unchecked')
      await gone
      expect(proxy.batches.length - before).to.equal(batch === 'head' ? 1 : 2)
    })
  }
})
