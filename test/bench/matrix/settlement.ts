/**
 * Cells in which settlements fail: at a remote facilitator, or at the nodes of the one in the service. Three buyers
 * pay one after another. The first settlement of `fresh` fails, and the second one of `retry`. The buyer
 * `other machine` repeats its payment at another machine with the same response log, while the first settlement fails.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { keccak256, numberToHex, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { ready } from '../../support/child.ts'
import { passOn, sendJson, startFaultProxy, type Fault } from '../../support/fault-proxy.ts'
import { toReceipt } from '../../support/remotes/wire.ts'
import { tokenOn } from '../../support/token.ts'
import { openFactory } from '../../support/wallets.ts'
import {
  ANSWER_MS_MAX,
  POLL_MS,
  settleNow,
  sign,
  startFacilitator,
  startMachine,
  type CellResult,
  type Chains,
  type SettleAnswer,
  type Signed,
} from './parts.ts'

const FACILITATORS = ['self', 'one facilitator'] as const
const FAULTS = ['429', 'reset', 'wrong reason', 'success without transfer', 'success late'] as const
type SettleFault = (typeof FAULTS)[number]

interface SettleCell {
  name: string
  facilitator: (typeof FACILITATORS)[number]
  fault: SettleFault
  /** Whether each buyer is a wallet contract that is not deployed yet. The service's own facilitator refuses those. */
  isUndeployed: boolean
}

export const SETTLE_CELLS = [...FACILITATORS, 'one facilitator, new wallet' as const].flatMap((kind) =>
  FAULTS.map((fault) => {
    const facilitator = kind === 'self' ? kind : 'one facilitator'
    const cell = {
      name: `${kind}, settle: ${fault}`,
      facilitator,
      fault,
      isUndeployed: kind.endsWith('wallet'),
    } as const
    return { name: cell.name, run: (chains: Chains) => runCell(cell, chains) }
  }),
)

const LATE_MS = 13_000
/** From the first 429 of a node to its next answer. The next settlement begins later. */
const LIMITED_MS = 4_000
/** While the first machine settles, the other one is asked. */
const OTHER_MACHINE_MS = 500
/** A missing transfer is noticed after a minute, and the payment is then settled again. */
const TRANSFERS_MS_MAX = 180_000

const { network } = DEPLOYMENTS.testnet

/** The payment that is on its way, and which of its settlements fails. Earlier ones are lost before they are sent. */
interface Plan {
  signed: Signed | undefined
  faultAt: number
}

async function runCell(cell: SettleCell, { accounts, url, openLog }: Chains): Promise<CellResult> {
  const { name: cellName, facilitator: kind, fault, isUndeployed } = cell
  const plan: Plan = { signed: undefined, faultAt: 1 }
  const facilitator = await startFacilitator(url, kind === 'self' ? settleNow : faultySettlement(fault, plan))
  const nodes = [await startFaultProxy(url), await startFaultProxy(url)]
  const payTo = privateKeyToAddress(generatePrivateKey())
  const { buyer, relayer } = accounts
  const factory = await openFactory({ url, relayer: relayer.address })
  const environment = {
    FACILITATOR: kind === 'self' ? kind : facilitator.url,
    RPC_URL: nodes.map((node) => node.url).join(),
    PAY_TO: payTo,
    RESPONSE_LOG: await openLog(),
  }
  const machines: Awaited<ReturnType<typeof startMachine>>[] = []
  try {
    const services: string[] = []
    for (let machine = 0; machine < 2; machine += 1) {
      const child = await startMachine(url, environment, machines[0]?.keys)
      machines.push(child)
      services.push(await ready(child))
    }
    const faults: string[] = []
    const seconds: CellResult['seconds'] = {}
    for (const name of ['fresh', 'retry', 'other machine'] as const) {
      const wallet = isUndeployed ? await factory.makeWallet(buyer.privateKey) : undefined
      plan.signed = await sign(payTo, buyer.privateKey, { seconds: 300, wallet })
      plan.faultAt = name === 'retry' ? 2 : 1
      const nodeFault = kind === 'self' ? faultyNode(fault, plan) : undefined
      for (const node of nodes) node.fail(nodeFault)
      seconds[name] = await buy(plan.signed, { name, services, faults })
    }
    const countTransfers = () => tokenOn(url).transfers(undefined, payTo)
    const end = performance.now() + TRANSFERS_MS_MAX
    while ((await countTransfers()) < 3 && performance.now() < end) await sleep(POLL_MS)
    const transfers = await countTransfers()
    if (transfers !== 3) faults.push(`${transfers} transfers for three answers`)
    if (machines.some((child) => child.stderr().includes('unhandled_rejection'))) faults.push('an unhandled rejection')
    return { name: cellName, seconds, faults }
  } finally {
    for (const child of machines) child.process.kill('SIGKILL')
    await Promise.all(machines.map((child) => child.ended))
    for (const server of [facilitator, ...nodes]) server.close()
  }
}

/** Repeats one payment until it is answered, and returns the seconds. */
async function buy(
  { send }: Signed,
  { name, services: [first = '', other = ''], faults }: { name: string; services: string[]; faults: string[] },
): Promise<number> {
  const isAtOther = name === 'other machine'
  const start = performance.now()
  const sent = send(first)
  if (isAtOther) await sleep(OTHER_MACHINE_MS)
  let status = await (isAtOther ? send(other) : sent)
  while (status === 503 && performance.now() - start < ANSWER_MS_MAX) {
    await sleep(POLL_MS)
    status = await send(isAtOther ? other : first)
  }
  const seconds = (performance.now() - start) / 1000
  const statuses = [status, await send(first), await send(other)]
  if ((await sent) === 402) faults.push(`${name}: refused at first`)
  if (statuses.some((each) => each !== 200)) faults.push(`${name}: ended with ${statuses.join(', ')}`)
  return seconds
}

function faultySettlement(fault: SettleFault, plan: Plan): SettleAnswer {
  const attempts = new Map<string, number>()
  const answers: Record<SettleFault, SettleAnswer> = {
    '429': ({ response }) => void response.writeHead(429, { 'Retry-After': '1' }).end(),
    reset: ({ response }) => void response.destroy(),
    'wrong reason': ({ response }) =>
      sendJson(response, { success: false, errorReason: 'invalid_exact_evm_signature', transaction: '', network }),
    'success without transfer': ({ response, payer }) =>
      sendJson(response, { success: true, transaction: numberToHex(randomNumber(), { size: 32 }), network, payer }),
    'success late': async (exchange) => {
      await sleep(LATE_MS)
      await settleNow(exchange)
    },
  }
  return (exchange) => {
    const attempt = (attempts.get(exchange.nonce) ?? 0) + 1
    attempts.set(exchange.nonce, attempt)
    if (attempt < plan.faultAt && exchange.nonce === plan.signed?.nonce) return void exchange.response.destroy()
    return attempt === plan.faultAt ? answers[fault](exchange) : settleNow(exchange)
  }
}

const randomNumber = () => BigInt(`0x${randomBytes(32).toString('hex')}`)

/** A node of the facilitator in the service. Its faults begin when `verify` has simulated the transfer. */
function faultyNode(fault: SettleFault, { signed, faultAt }: Plan): Fault {
  if (!signed) return passOn
  /** Of the transfer: one by `verify`, then one by each settlement. */
  let simulations = 0
  let limitedUntil: number | undefined
  let madeUp: Hex | undefined
  return async (exchange) => {
    const { call, response } = exchange
    const { id, method, params } = call
    const isOfPayment = JSON.stringify(params).includes(signed.nonce.slice(2))
    const reply = (body: object) => sendJson(response, { jsonrpc: '2.0', id, ...body })
    if (method === 'eth_getCode' && fault === '429' && simulations === faultAt) {
      limitedUntil ??= performance.now() + LIMITED_MS
      if (performance.now() < limitedUntil) return void response.writeHead(429).end()
    }
    // A call without an address is the view of the service.
    if (method === 'eth_call' && isOfPayment && Object(params[0]).to !== undefined) {
      simulations += 1
      if (fault === 'wrong reason' && simulations - 1 === faultAt)
        return reply({ error: { code: 3, message: 'execution reverted: FiatTokenV2: invalid signature' } })
    }
    if (method === 'eth_getTransactionReceipt' && params[0] === madeUp && madeUp !== undefined)
      return reply({ result: madeUpReceipt(signed, madeUp) })
    if (method !== 'eth_sendRawTransaction' || !isOfPayment) return passOn(exchange)
    if (simulations - 1 < faultAt) return void response.destroy()
    if (simulations - 1 > faultAt) return passOn(exchange)
    switch (fault) {
      case 'reset':
        await exchange.answer()
        return void response.destroy()
      case 'success without transfer':
        madeUp = keccak256(params[0] as Hex)
        return reply({ result: madeUp })
      case 'success late':
        await sleep(LATE_MS)
        return passOn(exchange)
      default:
        return passOn(exchange)
    }
  }
}

function madeUpReceipt({ payer: from, payTo: to, amount: value, nonce }: Signed, transaction: string) {
  const block = { number: 1, hash: numberToHex(1, { size: 32 }), time: 0 }
  return toReceipt({ from, to, value, nonce }, transaction, block)
}
