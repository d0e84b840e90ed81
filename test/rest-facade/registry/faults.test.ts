/** Faults of the node: the registry routes return the correct answer or 503, within the time limit. */
import { expect } from 'chai'
import { decodeFunctionResult, encodeFunctionResult, multicall3Abi, type Hex } from 'viem'
import type { Timer } from '../../../base/runtime.ts'
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

const each =
  (change: (answer: RpcAnswer) => unknown): Fault =>
  async ({ answer, response }) =>
    sendJson(response, change(await answer()))

const result = (change: (data: string) => unknown) =>
  each((answer) => (typeof answer.result === 'string' ? { ...answer, result: change(answer.result) } : answer))

const METHODS = { block: 'eth_getBlockByNumber', calls: 'eth_call' } as const
type Step = keyof typeof METHODS
const BOTH: Step[] = ['block', 'calls']

interface FaultCase {
  name: string
  fault: Fault
  /** Default: both. */
  steps?: Step[]
}

const hourOld = each((answer) => {
  if (typeof answer.result !== 'object') return answer
  const { timestamp, ...rest } = answer.result as { timestamp: string }
  return { ...answer, result: { ...rest, timestamp: `0x${(Number(timestamp) - 3600).toString(16)}` } }
})

/** Other faults of single replies and of HTTP are tested with the JSON-RPC client. */
const CASES: FaultCase[] = [
  { name: 'status 500', fault: ({ response }) => void response.writeHead(500).end('[]') },
  { name: 'null results', fault: each((answer) => ({ ...answer, result: null, error: undefined })) },
  { name: 'errors without data', fault: each(({ id, jsonrpc }) => ({ id, jsonrpc, error: { code: 3, message: '' } })) },
  { name: 'empty data', fault: result(() => '0x'), steps: ['calls'] },
  { name: 'a block that is an hour old', fault: hourOld, steps: ['block'] },
  {
    name: 'a block that does not exist',
    fault: each((answer) =>
      typeof answer.result === 'object'
        ? { ...answer, result: { ...answer.result, hash: `0x${'12'.repeat(32)}` } }
        : answer,
    ),
    steps: ['block'],
  },
]

const UNEXPECTED_REVERTS: Hex[] = [`0x7e273289${'f'.repeat(64)}`, '0x7e273289', '0x', '0x08c379a0']

interface CallResult {
  success: boolean
  returnData: Hex
}

/** Applies the fault to one kind of call. */
const only =
  (step: Step, fault: Fault): Fault =>
  (exchange) =>
    exchange.call.method === METHODS[step] ? fault(exchange) : passOn(exchange)

/** Changes results in the reply of the multicall contract. */
const inCalls = (change: (called: CallResult, position: number) => CallResult) =>
  only(
    'calls',
    result((data) => {
      const multicall = { abi: multicall3Abi, functionName: 'aggregate3' } as const
      const results = decodeFunctionResult({ ...multicall, data: data as Hex })
      return encodeFunctionResult({ ...multicall, result: results.map(change) })
    }),
  )

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
  async function open(options: { timer?: Timer; clock?: () => number } = {}): Promise<ServedRegistry> {
    const served = await serveRegistry({ url: proxy.url, agentId, payTo: client, ...options })
    opened.push(served)
    return served
  }

  for (const { name, fault, steps = BOTH } of CASES) {
    for (const step of steps) {
      it(`are unchecked after ${name} in the ${step} step`, async () => {
        const routes = await open()
        await routes.get('/agent.json')
        proxy.fail(only(step, fault))
        const faulty = await open()
        const [read, known] = [await routes.get(page), await faulty.get('/agent.json')]
        for (const reply of [read, known, await faulty.get(page), await faulty.get(REGISTRATION_FILE)])
          expectRefusal(reply, 'registry_unchecked')
      })
    }
  }

  it('are unchecked on another chain', async () => {
    proxy.fail(result((data) => (data === '0x14a34' ? '0x1' : data)))
    expectRefusal(await (await open()).get('/agent.json'), 'registry_unchecked')
  })

  it('return 503 after a reorganisation between block and calls', async () => {
    let clockMs = 1_000
    const routes = await open({ clock: () => clockMs })
    await routes.get('/agent.json')
    const url = await testChainUrl()
    await rpc(url, 'anvil_mine', '0x3')
    const pins: unknown[] = []
    proxy.fail(
      only('calls', async (exchange) => {
        pins.push((exchange.call.params[1] as { requireCanonical?: unknown }).requireCanonical)
        await rpc(url, 'anvil_reorg', 2, [])
        await passOn(exchange)
      }),
    )
    expectRefusal(await routes.get(page), 'registry_unchecked')
    // A node that still has the old block must reject the calls too.
    expect(pins).to.deep.equal([true])
    proxy.fail(undefined)
    // A failure is kept for five seconds.
    expectRefusal(await routes.get(page), 'registry_unchecked')
    clockMs += 5_001
    expect(withoutTimes(await routes.get(page))).to.deep.equal(truth.page)
  })

  it('return 503 if every call about the agent reverts with unexpected data', async () => {
    for (const data of UNEXPECTED_REVERTS) {
      proxy.fail(inCalls((called, position) => (position > 0 ? { success: false, returnData: data } : called)))
      expectRefusal(await (await open()).get('/agent.json'), 'registry_unchecked')
    }
  })

  it('return 503 if the reputation registry uses another identity registry', async () => {
    const other: Hex = `0x${newAddress().slice(2).padStart(64, '0')}`
    proxy.fail(inCalls((called, position) => (position === 0 ? { ...called, returnData: other } : called)))
    const served = await open()
    expectRefusal(await served.get('/agent.json'), 'registry_unchecked')
    expect(served.reports).to.deep.equal(['registry_unread REGISTRIES_NOT_LINKED'])
  })

  for (const step of BOTH) {
    it(`give up at the time limit without a retry if the node never replies in the ${step} step`, async () => {
      const { timer, times, pass } = manualTimer()
      const served = await open({ timer })
      await served.get('/agent.json')
      let reached: () => void
      const held = new Promise<void>((resolve) => void (reached = resolve))
      const gone = new Promise<void>((resolve) => {
        proxy.fail(
          only(step, (exchange) => {
            exchange.response.on('close', resolve)
            reached()
          }),
        )
      })
      const before = proxy.methods.length
      const answer = served.get(page)
      await held
      expect(times()).to.deep.equal([BOUND_MS])
      pass(BOUND_MS)
      expectRefusal(await answer, 'registry_unchecked')
      await gone
      expect(proxy.methods.slice(before)).to.deep.equal([METHODS.block, ...(step === 'block' ? [] : [METHODS.calls])])
    })
  }

  for (const [name, fault] of [
    ['is dead', ({ response }) => void response.destroy()],
    ['never replies', () => undefined],
    ['is an hour behind', hourOld],
    ['belongs to another chain', result((data) => (data === '0x14a34' ? '0x1' : data))],
    ['limits the rate', ({ response }) => void response.writeHead(429).end('[]')],
  ] as [string, Fault][])
    it(`read the next node if the first one ${name}`, async () => {
      proxy.fail(fault)
      const served = await serveRegistry({ url: [proxy.url, await testChainUrl()], agentId, payTo: client })
      opened.push(served)
      expect(withoutTimes(await served.get('/agent.json'))).to.deep.equal(truth.agent)
      expect(withoutTimes(await served.get(page))).to.deep.equal(truth.page)
    })
})
