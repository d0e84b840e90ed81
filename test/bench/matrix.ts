/**
 * `bench matrix [--only TEXT] [--cells N] [--workers N]`: one service process for each combination of facilitators and
 * nodes with faults, or for a number of them that the commit chooses, on a real chain. Three buyers send a payment to
 * each: one that is sold at once, one whose first settlement fails, and one that is never settled and expires. Fails if
 * an honest payment gets 402 before its end, is charged twice or is lost, or if an expired one is not refused in time.
 */
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { buildTerms, DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { openAccounts } from '../../agent/sandbox/accounts.ts'
import { startAnvil } from '../../agent/sandbox/anvil.ts'
import { prepareChain } from '../../agent/sandbox/prepare-chain.ts'
import { openInProcessFacilitator } from '../../agent/settlement/facilitator/in-process-facilitator.ts'
import { rpc } from '../support/chain.ts'
import { ready, startChild } from '../support/child.ts'
import { passOn, sendJson, startFaultProxy, type Exchange, type Fault } from '../support/fault-proxy.ts'
import { REGISTER } from '../support/fixtures.ts'
import { listen } from '../support/listen.ts'
import { header, signedPayment, withPaymentId } from '../support/payments.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { tokenOn } from '../support/token.ts'
import { chosenByCommit } from './commit.ts'
import { markdown, print } from './report.ts'

const WORKERS_DEFAULT = '6'

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

interface CellResult extends Cell {
  /** Seconds until the answer of each buyer. */
  freshSeconds: number
  retrySeconds: number
  /** From the end of the authorization. */
  expiredSeconds: number
  faults: string[]
}

const CELLS = FACILITATORS.flatMap((facilitators) =>
  (Object.keys(NODES) as Cell['nodes'][]).map((nodes): Cell => ({ facilitators, nodes })),
)

export async function matrix({
  only = '',
  cells: count,
  workers = WORKERS_DEFAULT,
}: Record<string, string>): Promise<boolean> {
  const nameOf = ({ facilitators, nodes }: Cell) => `${facilitators}, ${nodes}`
  const named = CELLS.filter((cell) => nameOf(cell).includes(only))
  const cells = count === undefined ? named : chosenByCommit(named, { count: Number(count), nameOf })
  const results = await runMatrix(cells, Number(workers))
  const rows = results.map(({ facilitators, nodes, freshSeconds, retrySeconds, expiredSeconds, faults }) => [
    facilitators,
    nodes,
    ...[freshSeconds, retrySeconds, expiredSeconds].map((seconds) => seconds.toFixed(1)),
    faults.length === 0 ? 'yes' : 'no',
  ])
  const headings = ['facilitator', 'nodes', 'fresh, s', 'retry, s', 'expired after, s', 'correct']
  print(`${markdown(headings, rows)}\n`)
  const faults = results.flatMap((each) => each.faults)
  for (const fault of faults) print(`FAULT ${fault}`)
  print(`${results.filter((each) => each.faults.length === 0).length} of ${results.length} cells are correct`)
  return faults.length === 0
}

type NodeFault = (typeof NODES)[Cell['nodes']][number]

const { chainId } = DEPLOYMENTS.testnet
const BLOCK_SECONDS = 2
/** A chain with so many blocks can be shown as it was two minutes ago. */
const LAG_BLOCKS = 60
const FAILING_SHARE = 0.05
const POLL_MS = 1_000
const ANSWER_MS_MAX = 120_000
const EXPIRES_IN_SECONDS = 25
/** From the end of the authorization to the refusal. A block is final after two further ones. */
const EXPIRED_SECONDS_MAX = 180 + 3 * BLOCK_SECONDS
const HANG_MS = 60_000

async function runMatrix(cells: readonly Cell[], workers: number): Promise<CellResult[]> {
  const directory = await makeTemporaryDirectory()
  const accounts = await openAccounts({ directory })
  const [chain, other] = [await startOldChain(accounts), await startOldChain(accounts)]
  try {
    const queue = cells.entries()
    const results: CellResult[] = []
    const work = async () => {
      for (const [at, cell] of queue)
        results[at] = await runCell(cell, { accounts, url: chain.url, otherUrl: other.url })
    }
    await Promise.all(Array.from({ length: workers }, work))
    return results
  } finally {
    for (const { child } of [chain, other]) child.kill()
  }
}

/** A chain whose blocks of the last minutes exist, so that a node can lag. */
async function startOldChain({ buyer, relayer }: Chains['accounts']) {
  const ageSeconds = 2 * LAG_BLOCKS * BLOCK_SECONDS
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
  const options = ['--chain-id', String(chainId), '--timestamp', String(timestamp)]
  const { anvil: child, url } = await startAnvil(await makeTemporaryDirectory(), options)
  await prepareChain({ url, buyer: buyer.address, relayer: relayer.address })
  const block = (await rpc(url, 'eth_getBlockByNumber', 'latest', false)) as { timestamp: string }
  const missingBlocks = Math.floor((Date.now() / 1000 - Number(block.timestamp)) / BLOCK_SECONDS)
  await rpc(url, 'anvil_mine', `0x${missingBlocks.toString(16)}`, `0x${BLOCK_SECONDS}`)
  await rpc(url, 'evm_setIntervalMining', BLOCK_SECONDS)
  return { child, url }
}

interface Chains {
  accounts: Awaited<ReturnType<typeof openAccounts>>
  url: string
  otherUrl: string
}

async function runCell(cell: Cell, { accounts, url, otherUrl }: Chains): Promise<CellResult> {
  const folder = await makeTemporaryDirectory()
  /** The nonces of payments that nothing settles. */
  const blocked = new Set<string>()
  const [first, second] = await Promise.all(
    NODES[cell.nodes].map((fault) => startNode(fault, { url, otherUrl, blocked })),
  )
  const facilitator = await startFacilitator(url, blocked)
  const refusing = await startRefusingFacilitator()
  const payTo = privateKeyToAddress(generatePrivateKey())
  const relayerKey = generatePrivateKey()
  const keyFile = join(folder, 'relayer.key')
  await writeFile(keyFile, relayerKey, { mode: 0o600 })
  await rpc(url, 'anvil_setBalance', privateKeyToAddress(relayerKey), '0xde0b6b3a7640000')
  const urls = {
    self: 'self',
    'one facilitator': facilitator.url,
    'two facilitators': `${refusing.url},${facilitator.url}`,
  }
  const child = startChild('agent/main.js', ['serve'], {
    MODE: 'testnet',
    FACILITATOR: urls[cell.facilitators],
    ...(cell.facilitators === 'self' && { RELAYER_KEY_FILE: keyFile }),
    RPC_URL: `${first!.url},${second!.url}`,
    PAY_TO: payTo,
    DATA_DIR: join(folder, 'data'),
    DATASET: REGISTER,
    PORT: '0',
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
    const [freshSeconds, retrySeconds, expiredSeconds] = await Promise.all([
      buyOnce(buyer, { isRetry: false }),
      buyOnce(buyer, { isRetry: true }),
      expire(buyer),
    ])
    const transfers = await tokenOn(url).transfers(accounts.buyer.address, payTo)
    if (transfers !== 2) buyer.faults.push(`${transfers} transfers for two answers`)
    if (child.stderr().includes('unhandled_rejection')) buyer.faults.push('an unhandled rejection')
    const faults = buyer.faults.map((fault) => `${cell.facilitators}, ${cell.nodes}: ${fault}`)
    return { ...cell, freshSeconds, retrySeconds, expiredSeconds, faults }
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
  const { nonce, send } = await sign(buyer, 300)
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
  const { nonce, validBefore, send } = await sign(buyer, EXPIRES_IN_SECONDS)
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

async function sign({ service, key, payTo }: Buyer, seconds: number) {
  const validBefore = Math.floor(Date.now() / 1000) + seconds
  const authorization = { validBefore: String(validBefore) }
  const payment = withPaymentId(
    await signedPayment({ key, terms: buildTerms('testnet', payTo, OPERATIONS), authorization }),
  )
  const headers = { 'PAYMENT-SIGNATURE': header(payment) }
  const send = async () => {
    const response = await fetch(`${service}/api/v1/company/00000000`, { headers })
    await response.arrayBuffer()
    return response.status
  }
  return { nonce: payment.payload.authorization.nonce, validBefore, send }
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

/** The facilitator of x402 with a relayer of its own, over HTTP. */
async function startFacilitator(url: string, blocked: ReadonlySet<string>) {
  const relayerKey = generatePrivateKey()
  await rpc(url, 'anvil_setBalance', privateKeyToAddress(relayerKey), '0xde0b6b3a7640000')
  const deployment = DEPLOYMENTS.testnet
  const client = openInProcessFacilitator({
    deployment,
    rpcUrls: [url],
    relayerKey,
    pollingMs: 100,
    now: () => new Date(),
    report: () => undefined,
  })
  type Call = Parameters<typeof client.settle>
  const server = createServer((request, response) => {
    const answer = async () => {
      const { paymentPayload, paymentRequirements } = (await json(request)) as {
        paymentPayload: Call[0]
        paymentRequirements: Call[1]
      }
      const { nonce } = (paymentPayload.payload as { authorization: { nonce: string } }).authorization
      if (request.url === '/settle' && blocked.has(nonce)) return void response.destroy()
      const verb = request.url === '/settle' ? 'settle' : 'verify'
      sendJson(response, await client[verb](paymentPayload, paymentRequirements))
    }
    answer().catch(() => response.destroy())
  })
  return listen(server)
}

/** A facilitator that cannot reach its own node. */
function startRefusingFacilitator() {
  const body = { isValid: false, invalidReason: 'unexpected_verify_error' }
  return listen(createServer((request, response) => void request.resume().on('end', () => sendJson(response, body))))
}
