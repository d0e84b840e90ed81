/**
 * Kills the PostgreSQL primary under two services that sell, promotes its synchronous standby, and compares answers,
 * records and transfers. The services keep running: a buyer repeats a request with the same payment until it is
 * answered.
 */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { generatePrivateKey } from 'viem/accounts'
import { paymentIdentity } from '../../agent/payment/binding.ts'
import { buildTerms, DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { startChain } from '../../agent/sandbox/chain.ts'
import { openAccounts, type Accounts } from '../../agent/sandbox/accounts.ts'
import { prepareChain } from '../../agent/sandbox/prepare-chain.ts'
import { pick, randomFor, type Random } from './random.ts'
import { openPostgresResponseLog } from '../../store/log/postgres/responses.ts'
import { migrateDatabase } from '../../store/log/postgres/schema.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { rpc } from './chain.ts'
import { ready, startChild, type Child } from './child.ts'
import { generateKey } from '../../keys/generate.ts'
import { REGISTER } from './fixtures.ts'
import { ask, KILL_TRANSPORTS, requirementsOf, type KillResponse, type KillTransport } from './kill-requests.ts'
import { isStored, prepareSandbox, transactionIn } from './kill-run.ts'
import { header, signedPayment, withPaymentId, type WirePayment } from './payments.ts'
import { PostgresCluster } from './postgres-cluster.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { tokenOn } from './token.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'

const DATABASE = 'companies'
const NODES = 2
const BUYERS = 8
const REPEAT_EVERY_MS = 100
/** Much longer than a failover. A payment is valid for 300 s. */
const ANSWER_MS_MAX = 60_000
const POLL_MS = 10
/** The number of sales before replication is cut is drawn from this range. */
const SALES_BEFORE_CUT = { min: 8, max: 24 }
/** The time from the cut to the kill is drawn up to this limit. */
const CUT_MS_MAX = 300
/** The time from the kill to the promotion is drawn up to this limit. */
const LOST_MS_MAX = 1_500
/** A block of the sandbox is final after two more blocks. This is one more than that. */
const BLOCKS_UNTIL_FINAL = '0x3'
const FINAL_MS_MAX = 60_000

/** How the address of the database fails until the standby accepts writes. */
export const LOSSES = ['closed', 'silent', 'read-only'] as const

export interface Failover {
  loss: (typeof LOSSES)[number]
  /** Sales that began before the promotion, and those answered before the kill. */
  sales: number
  answeredBefore: number
  /** Answers other than 200, after each of which the buyer repeated the request. */
  repeats: number
  /** From the kill to the first answer after it. */
  recoveredMs: number
  faults: string[]
}

export interface FailoverRun {
  failovers: Failover[]
  sales: number
  transfers: number
  /** Payments that were open after the last failover, and those still open after their blocks were final. */
  open: number
  openAtEnd: number
}

interface Sale {
  transport: KillTransport
  payment: WirePayment
  response: KillResponse
  answeredAt: number
  repeats: number
}

export async function runFailovers({ runs, seed }: { runs: number; seed: number }): Promise<FailoverRun> {
  const directory = await makeTemporaryDirectory()
  const chain = await startChain({ directory: join(directory, 'chain'), chainId: DEPLOYMENTS.testnet.chainId })
  const rpcUrl = chain.url
  try {
    await using cluster = await PostgresCluster.start()
    await cluster.query(`create database ${DATABASE}`)
    await migrateDatabase(cluster.url(DATABASE))
    const { accounts, directories } = await prepareNodes(directory, rpcUrl)
    await using drill = new Drill({ cluster, rpcUrl, accounts, directories })
    return await drill.all(runs, seed)
  } finally {
    await chain.stop()
  }
}

/**
 * The nodes sell to one buyer for one receiver. Each has its own relayer, because relayers count their transactions.
 */
async function prepareNodes(directory: string, rpcUrl: string): Promise<{ accounts: Accounts; directories: string[] }> {
  const directories = Array.from({ length: NODES }, (_, index) => join(directory, String(index)))
  const [first = '', ...others] = directories
  await mkdir(first)
  const accounts = await prepareSandbox(first, rpcUrl)
  // All nodes get the same key, so none waits until the others publish its own.
  await generateKey({ directory: join(first, 'keys'), now: Date.now })
  for (const other of others) {
    await cp(first, other, { recursive: true })
    const keys = { buyer: accounts.buyer.privateKey, relayer: generatePrivateKey(), receiver: accounts.receiver }
    await writeFile(join(other, 'sandbox/accounts.json'), JSON.stringify(keys))
    const { buyer, relayer } = await openAccounts({ directory: join(other, 'sandbox') })
    await prepareChain({ url: rpcUrl, buyer: buyer.address, relayer: relayer.address })
  }
  return { accounts, directories }
}

interface DrillOptions {
  cluster: PostgresCluster
  rpcUrl: string
  accounts: Accounts
  directories: readonly string[]
}

class Drill implements AsyncDisposable {
  readonly #options: DrillOptions
  readonly #terms
  readonly #token
  #children: Child[] = []
  #urls: string[] = []

  constructor(options: DrillOptions) {
    this.#options = options
    this.#terms = buildTerms('testnet', options.accounts.receiver, OPERATIONS)
    this.#token = tokenOn(options.rpcUrl)
  }

  async all(runs: number, seed: number): Promise<FailoverRun> {
    await this.#startNodes()
    const failovers: Failover[] = []
    for (let index = 0; index < runs; index += 1) failovers.push(await this.#failOver(index, randomFor(seed, index, 0)))
    const { open, openAtEnd } = await this.#endOpenPayments()
    const sales = failovers.reduce((sum, each) => sum + each.sales, 0)
    return { failovers, sales, transfers: (await this.#transfers(0n)).length, open, openAtEnd }
  }

  async #failOver(index: number, random: Random): Promise<Failover> {
    const { cluster, rpcUrl } = this.#options
    const loss = LOSSES[index % LOSSES.length] ?? 'closed'
    await cluster.addStandby()
    await rpc(rpcUrl, 'anvil_mine', '0x1')
    const fromBlock = BigInt((await rpc(rpcUrl, 'eth_blockNumber')) as string)

    const load = new AbortController()
    const sales: Sale[] = []
    const buyers = Promise.all(
      Array.from({ length: BUYERS }, (_, buyer) => this.#buy(sales, randomFor(index, buyer, 1), load.signal)),
    )
    const { min, max } = SALES_BEFORE_CUT
    const salesBeforeCut = min + random() * (max - min)
    while (sales.length < salesBeforeCut) await sleep(POLL_MS)
    cluster.cutReplication()
    await sleep(random() * CUT_MS_MAX)
    const killedAt = performance.now()
    await cluster.killPrimary(loss === 'silent' ? 'silent' : 'closed')
    await sleep(random() * LOST_MS_MAX)
    await cluster.promote({ isEarly: loss === 'read-only' })
    load.abort()
    await buyers

    const after = sales.filter(({ answeredAt }) => answeredAt > killedAt).map(({ answeredAt }) => answeredAt)
    return {
      loss,
      sales: sales.length,
      answeredBefore: sales.length - after.length,
      repeats: sales.reduce((sum, { repeats }) => sum + repeats, 0),
      recoveredMs: Math.min(...after) - killedAt,
      faults: await this.#check(sales, fromBlock),
    }
  }

  /** Buys one answer after the other. Repeats each request until its answer is 200. */
  async #buy(sales: Sale[], random: Random, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const transport = pick(random, KILL_TRANSPORTS)
      const key = this.#options.accounts.buyer.privateKey
      const signed = await signedPayment({ key, requirements: requirementsOf(transport, this.#terms) })
      const payment = withPaymentId(signed)
      const begun = performance.now()
      let response = await ask(pick(random, this.#urls), transport, header(payment))
      let repeats = 0
      while (response.status !== 200 && performance.now() - begun < ANSWER_MS_MAX) {
        await sleep(REPEAT_EVERY_MS)
        response = await ask(pick(random, this.#urls), transport, header(payment))
        repeats += 1
      }
      sales.push({ transport, payment, response, answeredAt: performance.now(), repeats })
    }
  }

  /** Each sale has one transfer and one record, and every node returns its stored answer. */
  async #check(sales: readonly Sale[], fromBlock: bigint): Promise<string[]> {
    const faults: string[] = []
    const log = await this.#openLog()
    for (const sale of sales) {
      const { transport, payment, response } = sale
      const identity = paymentIdentity(payment as never)
      if (response.status !== 200) faults.push(`${identity} ended with ${response.status}`)
      const record = await log.read(identity)
      if (!record) faults.push(`the record of ${identity} is lost`)
      else if (!isStored(transport, response, record)) faults.push(`${identity} is ${record.state} with another answer`)
      for (const url of this.#urls) {
        const again = await ask(url, transport, header(payment))
        if (!isDeepStrictEqual(again, response)) faults.push(`${identity} got ${again.status} or another answer again`)
      }
    }
    await log.close()
    const transfers = await this.#transfers(fromBlock)
    const receipts = new Set(sales.map(({ response }) => transactionIn(response)))
    const areMatched = transfers.length === sales.length && transfers.every((transaction) => receipts.has(transaction))
    if (!areMatched)
      faults.push(`${sales.length} sales, ${transfers.length} transfers, or receipts that name other transactions`)
    return faults
  }

  /**
   * Makes the blocks of all payments final and restarts the services, which then read the chain for every open payment.
   */
  async #endOpenPayments(): Promise<{ open: number; openAtEnd: number }> {
    const log = await this.#openLog()
    const open = (await log.unfinished()).length
    await rpc(this.#options.rpcUrl, 'anvil_mine', BLOCKS_UNTIL_FINAL)
    await this.#stopNodes()
    await this.#startNodes()
    let openAtEnd = open
    for (const end = performance.now() + FINAL_MS_MAX; openAtEnd > 0 && performance.now() < end;) {
      await sleep(REPEAT_EVERY_MS)
      openAtEnd = (await log.unfinished()).length
    }
    await log.close()
    return { open, openAtEnd }
  }

  #openLog(): Promise<ResponseLog> {
    return openPostgresResponseLog({ url: this.#options.cluster.url(DATABASE), report: () => undefined })
  }

  #transfers(fromBlock: bigint): Promise<string[]> {
    const { buyer, receiver } = this.#options.accounts
    return this.#token.transactions(buyer.address, receiver, fromBlock)
  }

  async #startNodes(): Promise<void> {
    const { cluster, rpcUrl, directories } = this.#options
    this.#children = directories.map((directory) =>
      startChild('test/programs/killable-service.js', ['never'], {
        RESPONSE_LOG: cluster.url(DATABASE),
        DATA_DIR: directory,
        RPC_URL: rpcUrl,
        DATASET: REGISTER,
        PORT: '0',
        RATE_LIMIT_PER_MINUTE: '100000',
      }),
    )
    this.#urls = await Promise.all(this.#children.map((child) => ready(child)))
  }

  async #stopNodes(): Promise<void> {
    for (const child of this.#children) {
      child.process.kill('SIGKILL')
      await child.ended
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopNodes()
  }
}
