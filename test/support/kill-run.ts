/**
 * Kills the service during a sale, restarts it on the same data, and repeats the request with the same payment, as
 * docs/payments.md tells buyers to. The results are compared with the chain, which keeps running.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { paymentIdentity } from '../../agent/payment/binding.ts'
import { withReceipt } from '../../agent/settlement/receipts.ts'
import { DEPLOYMENTS, buildTerms, type Terms } from '../../agent/payment/terms.ts'
import { verifyReceipt } from '../../agent/payment/receipt/verify.ts'
import { openLogForReading } from '../../agent/service/response-log.ts'
import { openAccounts, type Accounts } from '../../agent/sandbox/accounts.ts'
import { startChain } from '../../agent/sandbox/chain.ts'
import { prepareChain } from '../../agent/sandbox/prepare-chain.ts'
import { rpc } from './chain.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { ready, startChild, type Child } from './child.ts'
import { REGISTER } from './fixtures.ts'
import { ask, isAnswer, readRecord, requirementsOf, type KillResponse, type KillTransport } from './kill-requests.ts'
import { openKillProxy, type KillProxy, type KillTrigger } from './kill-proxy.ts'
import type { Scenario } from './kill-plan.ts'
import { pointOf, type KillPoint } from './kill-points.ts'
import { header, signedPayment, withPaymentId, type WirePayment } from './payments.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { tokenOn } from './token.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'

/**
 * Later, the point counts as not reached. The reconciler may settle a payment again only at its third run, 24 seconds
 * after the start.
 */
const REACHED_MS_MAX = 60_000
/** A buyer repeats after 429, 502 and 503. `Retry-After` would be longer. */
const REPEAT_EVERY_MS = 50
const REPEATS_MAX = 400
/** A block of the sandbox is final after two more blocks. This is one more than that. */
const BLOCKS_UNTIL_FINAL = '0x3'
/** The timestamp of a block is in seconds. A record may be final only in a block that is not older. */
const BLOCK_AFTER_RECORD_MS = 1_000
/** The delay of late mining after the restart. */
const MINED_LATE_MS = 100

export interface Kill {
  scenario: Scenario
  point: KillPoint
  /** Whether SIGKILL ended the process at the point. */
  isReached: boolean
  /** The state of the record then; undefined without a record. */
  onDisk: ResponseRecord['state'] | undefined
  /** Violations at the kill and after the restart. */
  faults: string[]
}

export interface KillRun {
  kills: Kill[]
  sales: number
  /** Transfers from buyer to receiver in all sales. */
  transfers: number
}

interface Sale {
  scenario: Scenario
  transport: KillTransport
  payment: WirePayment
  fromBlock: bigint
  kills: Kill[]
  /** The part of a response that arrived before the kill. */
  got: KillResponse | undefined
}

/**
 * `responseLog` is the URL of a migrated PostgreSQL database; by default the log is in LMDB.
 *
 * Each process is the restart after the previous kill. The run has a chain of its own, so that all transfers are its
 * own.
 */
export async function runKills(plan: readonly Scenario[], responseLog?: string): Promise<KillRun> {
  const directory = await makeTemporaryDirectory()
  const chain = await startChain({ directory: join(directory, 'chain'), chainId: DEPLOYMENTS.testnet.chainId })
  const rpcUrl = chain.url
  const proxy = await openKillProxy(rpcUrl)
  const run = new Run({ directory, rpcUrl, proxy, responseLog, accounts: await prepareSandbox(directory, rpcUrl) })
  try {
    return await run.all(plan)
  } finally {
    await run.close()
    proxy.close()
    await chain.stop()
  }
}

/** Accounts, test token and dataset in a data directory. */
export async function prepareSandbox(directory: string, rpcUrl: string): Promise<Accounts> {
  const accounts = await openAccounts({ directory: join(directory, 'sandbox') })
  await prepareChain({ url: rpcUrl, buyer: accounts.buyer.address, relayer: accounts.relayer.address })
  const catalog = new Catalog(directory)
  const dataset = { dataDirectory: directory, catalog, path: REGISTER, publication: SYNTHETIC }
  await importDataset({ ...dataset, now: () => new Date() })
  await catalog.close()
  return accounts
}

interface RunOptions {
  directory: string
  rpcUrl: string
  proxy: KillProxy
  responseLog: string | undefined
  accounts: Accounts
}

class Run {
  readonly #options: RunOptions
  readonly #terms: Terms
  readonly #token: ReturnType<typeof tokenOn>
  #sales = 0
  #child: Child | undefined

  constructor(options: RunOptions) {
    this.#options = options
    this.#terms = buildTerms('testnet', options.accounts.receiver, OPERATIONS)
    this.#token = tokenOn(options.rpcUrl)
  }

  async all(plan: readonly Scenario[]): Promise<KillRun> {
    const kills: Kill[] = []
    const sales: Sale[] = []
    let last: Sale | undefined
    for (const scenario of plan) {
      const sale = await this.#open(scenario)
      for (const [life, point] of scenario.points.entries()) {
        const kill = life === 0 ? await this.#killSale(sale, point, last) : await this.#killRecovery(sale, point)
        kills.push(kill)
        sale.kills.push(kill)
      }
      sales.push(sale)
      last = sale
    }
    const child = this.#start(['never'])
    if (last) await this.#checkRecovery(await ready(child), last)
    await end(child)
    for (const sale of sales) if (!(await this.#stored(sale))) fail(sale, ['the record is gone at the end'])
    return { kills, sales: this.#sales, transfers: (await this.#transfers(0n)).length }
  }

  async #open(scenario: Scenario): Promise<Sale> {
    const { transport } = scenario
    return { scenario, transport, payment: await this.#sign(transport), fromBlock: 0n, kills: [], got: undefined }
  }

  async #sign(transport: KillTransport): Promise<WirePayment> {
    this.#sales += 1
    const { buyer } = this.#options.accounts
    const options = { key: buyer.privateKey, requirements: requirementsOf(transport, this.#terms) }
    return withPaymentId(await signedPayment(options))
  }

  /** Restarts, checks the sale before, and kills the service during this sale. */
  async #killSale(sale: Sale, point: KillPoint, last: Sale | undefined): Promise<Kill> {
    const child = this.#start(killedAt(sale, point))
    const url = await ready(child)
    if (last) await this.#checkRecovery(url, last)
    sale.fromBlock = await this.#newBlock()
    this.#trigger(sale, point, child)
    const asking = ask(url, sale.transport, header(sale.payment))
    if (point === 'random') {
      await sleep(sale.scenario.randomMs)
      child.process.kill('SIGKILL')
    }
    const got = await asking
    sale.got = got
    const isReached = point === 'random' || got.isWhole === (point === 'whole')
    if (got.isWhole) child.process.kill('SIGKILL')
    await wasKilled(child)
    return this.#inspectKill(sale, point, isReached)
  }

  /** Restarts after a kill of the same sale, and kills the service during the recovery. */
  async #killRecovery(sale: Sale, point: KillPoint): Promise<Kill> {
    const { proxy, rpcUrl } = this.#options
    await proxy.resumeMining()
    if (point === 'confirming') {
      await sleep(BLOCK_AFTER_RECORD_MS)
      await rpc(rpcUrl, 'anvil_mine', BLOCKS_UNTIL_FINAL)
    }
    const child = this.#start(killedAt(sale, point))
    this.#trigger(sale, point, child)
    if (point === 'retry' || point === 'retry settling') await this.#repeat(await ready(child), sale)
    const isReached = await wasKilled(child)
    return this.#inspectKill(sale, point, isReached)
  }

  #trigger({ scenario, payment }: Sale, point: KillPoint, child: Child): void {
    const at = point === 'settling again' || point === 'retry settling' ? scenario.again : point
    this.#options.proxy.set(
      isTriggerPoint(at) ? { at, nonce: payment.payload.authorization.nonce, kill: () => end(child) } : undefined,
    )
  }

  async #inspectKill(sale: Sale, point: KillPoint, isReached: boolean): Promise<Kill> {
    const { scenario } = sale
    const onDisk = (await this.#stored(sale))?.state
    const transfers = (await this.#transfers(sale.fromBlock)).length
    const wanted = pointOf(point)
    const faults = [
      ...(isReached ? [] : ['never reached']),
      ...(wanted.onDisk.includes(onDisk ?? 'nothing') ? [] : [`${onDisk ?? 'nothing'} on disk at the kill`]),
      ...(wanted.transfers.includes(transfers) ? [] : [`${transfers} transfers at the kill`]),
      ...(sale.got?.status && transfers !== 1 ? ['a response without a transfer'] : []),
    ]
    return { scenario, point, isReached, onDisk, faults }
  }

  /** Checks what every kill of the sale must end in. */
  async #checkRecovery(url: string, sale: Sale): Promise<void> {
    const { proxy } = this.#options
    const isLate = sale.scenario.isMinedLate && proxy.isMiningPaused()
    const mining = isLate ? sleep(MINED_LATE_MS).then(() => proxy.resumeMining()) : proxy.resumeMining()
    if (!isLate) await mining
    const first = await this.#repeat(url, sale)
    await mining
    const stored = await this.#stored(sale)
    const second = await ask(url, sale.transport, header(sale.payment))
    const transfers = await this.#transfers(sale.fromBlock)
    const faults = [
      ...(first.status === 200 ? [] : [`${first.status} for the retry`]),
      ...(transfers.length === 1 ? [] : [`${transfers.length} transfers`]),
      ...(isStored(sale.transport, first, stored) ? [] : ['the response is not the stored one']),
      ...(first.status !== 200 || isAnswer(sale.transport, first.body) ? [] : ['the response answers another request']),
      ...((await isReceiptValid(url, stored)) ? [] : ['the receipt is not valid']),
      ...(isDeepStrictEqual(first, second) ? [] : ['the second retry differs from the first']),
      ...(first.body.startsWith(sale.got?.body ?? '') ? [] : ['another response than before the kill']),
      ...(transactionIn(first) === transfers[0] ? [] : ['the receipt names another transaction']),
    ]
    fail(sale, faults)
  }

  /** Repeats the request with the same payment until the response is final. */
  async #repeat(url: string, { transport, payment }: Sale): Promise<KillResponse> {
    let got = await ask(url, transport, header(payment))
    for (let repeats = 0; [429, 502, 503].includes(got.status) && repeats < REPEATS_MAX; repeats += 1) {
      await sleep(REPEAT_EVERY_MS)
      got = await ask(url, transport, header(payment))
    }
    return got
  }

  async #stored({ payment }: Sale): Promise<ResponseRecord | undefined> {
    const { directory: dataDirectory, responseLog } = this.#options
    await using log = await openLogForReading({ dataDirectory, responseLog })
    return await log.read(paymentIdentity(payment as never))
  }

  /** The transactions of the transfers from buyer to receiver. */
  #transfers(fromBlock: bigint): Promise<string[]> {
    const { buyer, receiver } = this.#options.accounts
    return this.#token.transactions(buyer.address, receiver, fromBlock)
  }

  /** Mines an empty block, so that the transfers of earlier sales are in older blocks. */
  async #newBlock(): Promise<bigint> {
    const { rpcUrl } = this.#options
    await rpc(rpcUrl, 'anvil_mine', '0x1')
    return BigInt((await rpc(rpcUrl, 'eth_blockNumber')) as string)
  }

  #start(args: string[]): Child {
    const { directory, proxy, responseLog } = this.#options
    const environment = {
      ...(responseLog !== undefined && { RESPONSE_LOG: responseLog }),
      DATA_DIR: directory,
      RPC_URL: proxy.url,
      DATASET: REGISTER,
      PORT: '0',
      LOG_LEVEL: 'silent',
      RATE_LIMIT_PER_MINUTE: '10000',
    }
    this.#child = startChild('test/programs/killable-service.js', args, environment)
    return this.#child
  }

  /** Ends the service, also after a failure. */
  async close(): Promise<void> {
    if (this.#child) await end(this.#child)
  }
}

function fail({ kills }: Sale, faults: readonly string[]): void {
  for (const kill of kills) kill.faults.push(...faults)
}

function killedAt({ payment, scenario }: Sale, point: KillPoint): string[] {
  return [point, payment.payload.authorization.nonce, String(scenario.delayMs)]
}

function isTriggerPoint(point: string): point is KillTrigger['at'] {
  return point === 'signed' || point === 'broadcast' || point === 'mined'
}

/** Whether the process was killed in time. Kills it otherwise. */
async function wasKilled(child: Child): Promise<boolean> {
  const late = new AbortController()
  const signal = await Promise.race([child.ended, sleep(REACHED_MS_MAX, 'late', { signal: late.signal })])
  late.abort()
  await end(child)
  return signal === 'SIGKILL'
}

async function end(child: Child): Promise<void> {
  child.process.kill('SIGKILL')
  await child.ended
}

/** REST must send the stored bytes; A2A wraps the record in a message. */
export function isStored(
  transport: KillTransport,
  { status, body, receipt }: KillResponse,
  stored: ResponseRecord | undefined,
): boolean {
  if (status !== 200 || stored?.receipt === undefined) return false
  if (receipt !== withReceipt(stored.payment_response ?? '', stored.receipt)) return false
  return transport.startsWith('REST')
    ? body === stored.body
    : isDeepStrictEqual(readRecord(transport, body), JSON.parse(stored.body))
}

/** Verifies the stored receipt, which `isStored` compares with the received one, as a third party would. */
async function isReceiptValid(url: string, stored: ResponseRecord | undefined): Promise<boolean> {
  if (stored?.receipt === undefined) return false
  const keySet: unknown = await (await fetch(`${url}${FREE_PATHS.jwks}`)).json()
  return (await verifyReceipt({ receipt: stored.receipt, answer: JSON.parse(stored.body), keySet })).isValid
}

export function transactionIn({ receipt }: KillResponse): string | undefined {
  return receipt === undefined ? undefined : decodePaymentResponseHeader(receipt).transaction
}
