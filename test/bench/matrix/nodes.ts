/**
 * Cells with faulty nodes. Three buyers send a payment at once: one that is sold, one whose first settlement fails,
 * and one that is never settled and expires.
 */
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { rpc } from '../../support/chain.ts'
import { ready } from '../../support/child.ts'
import { passOn, sendJson, startFaultProxy, type Exchange, type Fault } from '../../support/fault-proxy.ts'
import { listen } from '../../support/listen.ts'
import { tokenOn } from '../../support/token.ts'
import {
  ANSWER_MS_MAX,
  BLOCK_SECONDS,
  LAG_BLOCKS,
  POLL_MS,
  settleNow,
  sign,
  startFacilitator,
  startMachine,
  type CellResult,
  type Chains,
} from './parts.ts'

const FACILITATORS = ['self', 'one facilitator', 'two facilitators'] as const
const NODES = {
  healthy: ['works', 'works'],
  '5 % failing': ['fails now and then', 'fails now and then'],
  'first dead': ['is dead', 'works'],
  'first 429': ['limits the rate', 'works'],
  'second dead': ['works', 'is dead'],
  'second hanging': ['works', 'hangs'],
  'second of another chain': ['works', 'is of another chain'],
  'second lagging': ['works', 'lags'],
} as const

interface Cell {
  facilitators: (typeof FACILITATORS)[number]
  nodes: keyof typeof NODES
}

export const NODE_CELLS = FACILITATORS.flatMap((facilitators) =>
  (Object.keys(NODES) as Cell['nodes'][]).map((nodes) => {
    const name = `${facilitators}, ${nodes}`
    return { name, run: async (chains: Chains) => ({ name, ...(await runCell({ facilitators, nodes }, chains)) }) }
  }),
)

type NodeFault = (typeof NODES)[Cell['nodes']][number]

const FAILING_SHARE = 0.05
const EXPIRES_IN_SECONDS = 25
/** From the end of the authorization to the refusal. A block is final after two further ones. */
const EXPIRED_SECONDS_MAX = 180 + 3 * BLOCK_SECONDS
const HANG_MS = 60_000

async function runCell(cell: Cell, { accounts, url, otherUrl }: Chains): Promise<Omit<CellResult, 'name'>> {
  /** The nonces of payments that nothing settles. */
  const blocked = new Set<string>()
  const [first, second] = await Promise.all(
    NODES[cell.nodes].map((fault) => startNode(fault, { url, otherUrl, blocked })),
  )
  const facilitator = await startFacilitator(url, async (exchange) =>
    blocked.has(exchange.nonce) ? void exchange.response.destroy() : settleNow(exchange),
  )
  const refusing = await startRefusingFacilitator()
  const payTo = privateKeyToAddress(generatePrivateKey())
  const urls = {
    self: 'self',
    'one facilitator': facilitator.url,
    'two facilitators': `${refusing.url},${facilitator.url}`,
  }
  const child = await startMachine(url, {
    FACILITATOR: urls[cell.facilitators],
    RPC_URL: `${first!.url},${second!.url}`,
    PAY_TO: payTo,
  })
  try {
    const buyer = {
      service: await ready(child),
      key: accounts.buyer.privateKey,
      payTo,
      blocked,
      faults: [] as string[],
    }
    for (const node of [first, second]) node?.start()
    const [fresh, retry, expired] = await Promise.all([
      buyOnce(buyer, { isRetry: false }),
      buyOnce(buyer, { isRetry: true }),
      expire(buyer),
    ])
    const transfers = await tokenOn(url).transfers(accounts.buyer.address, payTo)
    if (transfers !== 2) buyer.faults.push(`${transfers} transfers for two answers`)
    if (child.stderr().includes('unhandled_rejection')) buyer.faults.push('an unhandled rejection')
    return { seconds: { fresh, retry, expired }, faults: buyer.faults }
  } finally {
    child.process.kill('SIGKILL')
    await child.ended
    for (const server of [first, second, facilitator, refusing]) server?.close()
  }
}

interface Buyer {
  service: string
  key: `0x${string}`
  payTo: string
  blocked: Set<string>
  faults: string[]
}

/** Repeats one payment until it is answered. Its first settlement fails if `isRetry`. */
async function buyOnce(buyer: Buyer, { isRetry }: { isRetry: boolean }): Promise<number> {
  const name = isRetry ? 'retry' : 'fresh'
  const { service, payTo, key } = buyer
  const signed = await sign(payTo, key, { seconds: 300 })
  const { nonce } = signed
  const send = () => signed.send(service)
  if (isRetry) buyer.blocked.add(nonce)
  const start = performance.now()
  let status = await send()
  if (isRetry && status === 200) buyer.faults.push(`${name}: 200 without a settlement`)
  buyer.blocked.delete(nonce)
  while (status === 503 && performance.now() - start < ANSWER_MS_MAX) {
    await sleep(POLL_MS)
    status = await send()
  }
  if (status !== 200) buyer.faults.push(`${name}: ended with ${status}`)
  else if ((await send()) !== 200) buyer.faults.push(`${name}: was not answered again`)
  return (performance.now() - start) / 1000
}

/** Repeats a payment that nothing settles until it is refused, which must be after its end. */
async function expire(buyer: Buyer): Promise<number> {
  const { service, payTo, key } = buyer
  const signed = await sign(payTo, key, { seconds: EXPIRES_IN_SECONDS })
  const { nonce, validBefore } = signed
  const send = () => signed.send(service)
  buyer.blocked.add(nonce)
  const secondsAfter = () => Date.now() / 1000 - validBefore
  let status = await send()
  while (status === 503 && secondsAfter() < EXPIRED_SECONDS_MAX) {
    await sleep(POLL_MS)
    status = await send()
  }
  const seconds = secondsAfter()
  if (status !== 402) buyer.faults.push(`expired: ${status} after ${Math.round(seconds)} s`)
  else if (seconds < 0) buyer.faults.push('expired: 402 before its end')
  return seconds
}

interface NodeOptions {
  url: string
  otherUrl: string
  blocked: ReadonlySet<string>
}

/** A node in front of the chain. The faults of one that contradicts the other begin once the service has started. */
async function startNode(fault: NodeFault, { url, otherUrl, blocked }: NodeOptions) {
  const isOther = fault === 'is of another chain'
  const proxy = await startFaultProxy(isOther ? otherUrl : url)
  const answerWith: Record<NodeFault, Fault> = {
    works: passOn,
    'fails now and then': (exchange) =>
      Math.random() < FAILING_SHARE ? void exchange.response.destroy() : passOn(exchange),
    'is dead': ({ response }) => void response.destroy(),
    'limits the rate': ({ response }) => void response.writeHead(429).end(),
    hangs: ({ response }) => void setTimeout(() => response.destroy(), HANG_MS).unref(),
    'is of another chain': passOn,
    lags: (exchange) => answerLate(url, exchange),
  }
  const respond: Fault = (exchange) => {
    const { method, params } = exchange.call
    const isBlocked =
      method === 'eth_sendRawTransaction' && [...blocked].some((nonce) => String(params[0]).includes(nonce.slice(2)))
    return isBlocked ? void exchange.response.destroy() : answerWith[fault](exchange)
  }
  proxy.fail(isOther ? answerWith['is dead'] : respond)
  return { url: proxy.url, close: () => proxy.close(), start: () => proxy.fail(respond) }
}

/** Shows the newest block, and the newest final one, of two minutes ago. */
async function answerLate(url: string, { call, response }: Exchange): Promise<void> {
  const newest = Number(await rpc(url, 'eth_blockNumber'))
  const at = `0x${(newest - LAG_BLOCKS).toString(16)}`
  const params = call.params.map((each) => (each === 'latest' || each === 'finalized' ? at : each))
  const result = await rpc(url, call.method, ...params)
  sendJson(response, { jsonrpc: '2.0', id: call.id, result })
}

/** A facilitator that cannot reach its own node. */
function startRefusingFacilitator() {
  const body = { isValid: false, invalidReason: 'unexpected_verify_error' }
  return listen(createServer((request, response) => void request.resume().on('end', () => sendJson(response, body))))
}
