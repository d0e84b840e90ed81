/**
 * A sale by the real service on a real local chain, killed between its requests to the node, its writes and its answer.
 * The buyer then repeats the request with the same payment, as docs/payments.md says.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { FREE_PATHS } from '../../../agent/operation/endpoints.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { paymentIdentity } from '../../../agent/payment/binding.ts'
import { verifyReceipt } from '../../../agent/payment/receipt/verify.ts'
import { amountOf, buildRequirements, buildTerms, DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { openAccounts } from '../../../agent/sandbox/accounts.ts'
import { startChain } from '../../../agent/sandbox/chain.ts'
import { prepareChain } from '../../../agent/sandbox/prepare-chain.ts'
import { openConfiguredLog } from '../../../agent/service/response-log.ts'
import { rpc } from '../../support/chain.ts'
import { ready, startChild, type Child } from '../../support/child.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { operationOf } from '../../support/operations.ts'
import { header, signedPayment, withPaymentId, type WirePayment } from '../../support/payments.ts'
import type { RawReply } from '../../support/raw-http.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { tokenOn } from '../../support/token.ts'
import { messageOf, requestOverTransports } from '../../support/transports.ts'
import type { Scene } from '../crash.ts'
import { startDatabase } from '../database.ts'

const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }
const RESOLVE = { operation: 'resolve', input: { name: 'plain fixture' } }
/** Two companies and a missing one. */
const BATCH = {
  operation: 'batch',
  input: { operation: 'lookup', inputs: ['73848', '999', '00000000'].map((company_number) => ({ company_number })) },
}
/** Each sale is the next of these. */
const PURCHASES = [
  { operation: LOOKUP, transport: 'rest' },
  { operation: RESOLVE, transport: 'a2a' },
  { operation: BATCH, transport: 'rest' },
  { operation: LOOKUP, transport: 'mcp' },
  { operation: BATCH, transport: 'a2a' },
] as const

/** A buyer repeats after 429, 502 and 503. `Retry-After` would be longer. */
const REPEAT_EVERY_MS = 50
/** Longer than the reconciler needs to settle a payment again after a start. */
const ANSWER_MS_MAX = 90_000

interface Sale {
  purchase: (typeof PURCHASES)[number]
  payment: WirePayment
  fromBlock: bigint
}

type Answer = Pick<RawReply, 'status' | 'text'> & { receipt: string; record: unknown }

export async function openSaleScene({
  log,
  processes,
}: {
  log: 'lmdb' | 'postgres'
  processes: number
}): Promise<Scene> {
  const directory = await makeTemporaryDirectory()
  const chain = await startChain({ directory: join(directory, 'chain'), chainId: DEPLOYMENTS.testnet.chainId })
  const { buyer, relayer, receiver } = await openAccounts({ directory: join(directory, 'sandbox') })
  await prepareChain({ url: chain.url, buyer: buyer.address, relayer: relayer.address })
  const database = log === 'postgres' ? await startDatabase() : undefined
  const environment = {
    ...(database && { RESPONSE_LOG: database.url }),
    DATA_DIR: directory,
    RPC_URL: chain.url,
    DATASET: REGISTER,
    PORT: '0',
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_MINUTE: '10000',
  }
  const start = () => startChild('operator/main.js', ['serve'], environment)
  const terms = buildTerms('testnet', receiver, OPERATIONS)
  const token = tokenOn(chain.url)
  const transfers = (fromBlock: bigint) => token.transactions(buyer.address, receiver, fromBlock)
  /** The first is killed. The last one gets the repeated request. */
  const running: (Child | undefined)[] = []
  for (let index = 0; index < processes; index += 1) {
    const child = start()
    running.push(child)
    // Two sandboxes that register at the same time would use the same nonce on the chain.
    await ready(child)
  }
  const processAt = (at: number) => (running[at] ??= start())
  let sales = 0
  let sale: Sale

  async function sign(): Promise<Sale> {
    const purchase = PURCHASES[sales++ % PURCHASES.length] ?? PURCHASES[0]
    const requirements = buildRequirements(terms, amountOf(terms, operationOf(purchase.operation)))
    const payment = withPaymentId(await signedPayment({ key: buyer.privateKey, requirements }))
    // An empty block, so that the transfers of earlier sales are in older blocks.
    await rpc(chain.url, 'anvil_mine', '0x1')
    return { purchase, payment, fromBlock: BigInt((await rpc(chain.url, 'eth_blockNumber')) as string) }
  }

  return {
    async run(tracer) {
      const child = processAt(0)
      const url = await ready(child)
      sale = await sign()
      const [program = '', ...options] = tracer
      const tracing = spawn(program, [...options, '-p', String(child.process.pid)], { stdio: 'pipe' })
      const traced = once(tracing, 'close')
      await once(tracing.stderr, 'data')
      await ask(url, sale).catch(() => undefined)
      await kill(child)
      running[0] = undefined
      await traced
    },
    async recover() {
      const url = await ready(processAt(processes - 1))
      const first = await repeat(url, sale)
      if (first?.status !== 200) return [`${first?.status} ${first?.text} for the repeated request`]
      const again = await ask(await ready(processAt(0)), sale)
      const made = await transfers(sale.fromBlock)
      await using responses = await openConfiguredLog(
        { dataDirectory: directory, responseLog: database?.url },
        { readOnly: true },
      )
      const stored = await responses.read(paymentIdentity(sale.payment as never))
      const keySet: unknown = await (await fetch(`${url}${FREE_PATHS.jwks}`)).json()
      const { receipt = '', body = 'null' } = stored ?? {}
      const answer: unknown = JSON.parse(body)
      const told = decodePaymentResponseHeader(first.receipt)
      const { isValid } = await verifyReceipt({ receipt, answer, keySet })
      return [
        ...(made.length === 1 ? [] : [`${made.length} transfers`]),
        ...(told.transaction === made[0] ? [] : ['the answer names another transaction']),
        ...(JSON.stringify(first.record) === JSON.stringify(answer) ? [] : ['the answer is not the stored one']),
        ...(JSON.stringify(told).includes(receipt) && isValid
          ? []
          : ['the receipt is not the stored one, or not valid']),
        ...(JSON.stringify(again) === JSON.stringify(first) ? [] : ['the second answer differs from the first']),
      ]
    },
    async [Symbol.asyncDispose]() {
      for (const child of running) if (child) await kill(child)
      await database?.[Symbol.asyncDispose]()
      await chain.stop()
    },
  }
}

async function kill(child: Child): Promise<void> {
  child.process.kill('SIGKILL')
  await child.ended
}

/** Rejects if the connection breaks. */
async function ask(url: string, { purchase: { operation, transport }, payment }: Sale): Promise<Answer> {
  const { rest, a2a, mcp } = requestOverTransports(() => ({ url }))
  const reply =
    transport === 'mcp' ? await mcp(operation, payment) : await { rest, a2a }[transport](operation, header(payment))
  const { status, text, json, headers } = reply
  const record = transport === 'a2a' && status === 200 ? messageOf(reply).data : json
  // Each process has a port of its own, which the name of the A2A extension has too.
  return { status, text: text.replaceAll(url, 'BASE_URL'), receipt: String(headers['payment-response']), record }
}

/** Repeats the request with the same payment until the answer is final. */
async function repeat(url: string, sale: Sale): Promise<Answer | undefined> {
  for (const end = performance.now() + ANSWER_MS_MAX; ; await sleep(REPEAT_EVERY_MS)) {
    const answer = await ask(url, sale).catch(() => undefined)
    if ((answer && ![429, 502, 503].includes(answer.status)) || performance.now() > end) return answer
  }
}
