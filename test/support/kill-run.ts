/**
 * The kill programme: the service is killed in the middle of a sale, started again on the same data, and asked the same
 * with the same payment, as docs/payments.md tells a buyer to. The chain, which lives on, is the judge.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { paymentIdentity } from '../../agent/payments/binding.ts'
import { DEPLOYMENTS, termsOf, type Terms } from '../../agent/payments/terms.ts'
import { openAccounts, type Accounts } from '../../agent/sandbox/accounts.ts'
import { startChain } from '../../agent/sandbox/chain.ts'
import { prepareChain } from '../../agent/sandbox/deploy.ts'
import { rpc } from '../../agent/sandbox/rpc.ts'
import { openCatalog } from '../../store/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import type { ResponseRecord } from '../../store/record.ts'
import { openResponseLog } from '../../store/responses.ts'
import { SYNTHETIC } from '../../store/source.ts'
import { ready, startChild, type Child } from './child.ts'
import { PROCESSES, REGISTER } from './fixtures.ts'
import { ask, dataIn, operationAt, type Got, type KillDoor } from './kill-doors.ts'
import { openKillGate, type KillGate, type Trap } from './kill-gate.ts'
import type { Scenario } from './kill-plan.ts'
import { pointOf, type KillPoint } from './kill-points.ts'
import { header, signedPayment, type WirePayment } from './payments.ts'
import { tokenOn } from './token.ts'

/** Far above what any step of a sale takes on a loaded machine; a point that isn't reached by then never is. */
const REACHED_MS_MAX = 20_000
/** How often, and how long, a buyer repeats after 429, 502 and 503. The service asks for more patience than that. */
const REPEAT_EVERY_MS = 50
const REPEATS_MAX = 400
/** With the rules of the sandbox's chain the block of a transfer is final after two more. */
const BLOCKS_UNTIL_FINAL = '0x3'
/** After the service is up again. */
const MINED_LATE_MS = 100
const SALES_MEASURED = 3

export interface Kill {
  scenario: Scenario
  point: KillPoint
  /** Whether the process was killed at the point, by SIGKILL. */
  isReached: boolean
  /** What the response log held then; undefined for nothing. */
  onDisk: ResponseRecord['state'] | undefined
  /** What was not as it must be: then, and after the restart. */
  faults: string[]
}

export interface KillRun {
  kills: Kill[]
  sales: number
  /** Transfers from buyer to receiver, of all sales. */
  transfers: number
}

interface Sale {
  scenario: Scenario
  door: KillDoor
  payment: WirePayment
  fromBlock: bigint
  kills: Kill[]
  /** What the buyer got of an answer before the kill. */
  got: Got | undefined
}

/** Each process is the restart after the kill before it. The chain is the run's own, so that whatever happens there is too. */
export async function runKills(plan: readonly Scenario[]): Promise<KillRun> {
  const directory = await mkdtemp(join(tmpdir(), 'kill-'))
  const chain = await startChain({ directory: join(directory, 'chain'), chainId: DEPLOYMENTS.testnet.chainId })
  const rpcUrl = chain.url
  const gate = await openKillGate(rpcUrl)
  const run = new Run({ directory, rpcUrl, gate, accounts: await prepare(directory, rpcUrl) })
  try {
    return await run.all(plan)
  } finally {
    await run.close()
    await gate.close()
    await chain.stop()
    await rm(directory, { recursive: true })
  }
}

async function prepare(directory: string, rpcUrl: string): Promise<Accounts> {
  const accounts = await openAccounts({ directory: join(directory, 'sandbox') })
  await prepareChain({ url: rpcUrl, buyer: accounts.buyer.address, relayer: accounts.relayer.address })
  const catalog = openCatalog(directory)
  const dataset = { dataDirectory: directory, catalog, path: REGISTER, publication: SYNTHETIC }
  await importDataset({ ...dataset, processes: PROCESSES, now: () => new Date() })
  await catalog.close()
  return accounts
}

interface Place {
  directory: string
  rpcUrl: string
  gate: KillGate
  accounts: Accounts
}

class Run {
  readonly #place: Place
  readonly #terms: Terms
  readonly #token: ReturnType<typeof tokenOn>
  #sales = 0
  #child: Child | undefined

  constructor(place: Place) {
    this.#place = place
    this.#terms = termsOf('testnet', place.accounts.receiver)
    this.#token = tokenOn(place.rpcUrl)
  }

  async all(plan: readonly Scenario[]): Promise<KillRun> {
    const usualMs = await this.#measure()
    const kills: Kill[] = []
    let last: Sale | undefined
    for (const scenario of plan) {
      const sale = await this.#open(scenario)
      for (const [life, point] of scenario.points.entries()) {
        const kill =
          life === 0 ? await this.#firstLife(sale, { point, last, usualMs }) : await this.#laterLife(sale, point)
        kills.push(kill)
        sale.kills.push(kill)
      }
      last = sale
    }
    const child = this.#start(['never'])
    if (last) await this.#judge(await ready(child), last)
    await end(child)
    return { kills, sales: this.#sales, transfers: (await this.#transfers(0n)).length }
  }

  /** How long a sale takes in a process that has just started; the median. */
  async #measure(): Promise<number> {
    const lengths: number[] = []
    for (let sale = 0; sale < SALES_MEASURED; sale += 1) {
      const child = this.#start(['never'])
      const url = await ready(child)
      const payment = await this.#sign('REST GET')
      const begun = performance.now()
      await ask(url, 'REST GET', header(payment))
      lengths.push(performance.now() - begun)
      await end(child)
    }
    return lengths.toSorted((one, other) => one - other)[Math.floor(SALES_MEASURED / 2)] ?? 0
  }

  async #open(scenario: Scenario): Promise<Sale> {
    const { door } = scenario
    return { scenario, door, payment: await this.#sign(door), fromBlock: 0n, kills: [], got: undefined }
  }

  async #sign(door: KillDoor): Promise<WirePayment> {
    this.#sales += 1
    const { buyer } = this.#place.accounts
    return signedPayment({ key: buyer.privateKey, terms: this.#terms, operation: operationAt(door) })
  }

  /** Restarts after the kill before, judges that one, and kills in the middle of this sale. */
  async #firstLife(
    sale: Sale,
    { point, last, usualMs }: { point: KillPoint; last: Sale | undefined; usualMs: number },
  ): Promise<Kill> {
    const child = this.#start(killedAt(sale, point))
    const url = await ready(child)
    if (last) await this.#judge(url, last)
    sale.fromBlock = await this.#newBlock()
    this.#trap(sale, point, child)
    const asking = ask(url, sale.door, header(sale.payment))
    if (point === 'random') {
      await sleep(sale.scenario.share * usualMs)
      child.process.kill('SIGKILL')
    }
    const got = await asking
    sale.got = got
    const isReached = point === 'random' || got.isWhole === (point === 'whole')
    if (got.isWhole) child.process.kill('SIGKILL')
    await isDead(child)
    return this.#dead(sale, point, isReached)
  }

  /** Restarts after a kill of the same sale, and kills in the middle of what makes up for it. */
  async #laterLife(sale: Sale, point: KillPoint): Promise<Kill> {
    const { gate, rpcUrl } = this.#place
    await gate.release()
    if (point === 'confirming') await rpc(rpcUrl, 'anvil_mine', BLOCKS_UNTIL_FINAL)
    const child = this.#start(killedAt(sale, point))
    this.#trap(sale, point, child)
    if (point === 'retry' || point === 'retry settling') await this.#repeat(await ready(child), sale)
    const isReached = await isDead(child)
    return this.#dead(sale, point, isReached)
  }

  #trap({ scenario, payment }: Sale, point: KillPoint, child: Child): void {
    const at = point === 'settling again' || point === 'retry settling' ? scenario.again : point
    this.#place.gate.set(
      isTrap(at) ? { at, nonce: payment.payload.authorization.nonce, kill: () => end(child) } : undefined,
    )
  }

  async #dead(sale: Sale, point: KillPoint, isReached: boolean): Promise<Kill> {
    const { scenario } = sale
    const onDisk = (await this.#stored(sale))?.state
    const transfers = (await this.#transfers(sale.fromBlock)).length
    const wanted = pointOf(point)
    const faults = [
      ...(isReached ? [] : ['never reached']),
      ...(wanted.onDisk.includes(onDisk ?? 'nothing') ? [] : [`${onDisk ?? 'nothing'} on disk at the kill`]),
      ...(wanted.transfers.includes(transfers) ? [] : [`${transfers} transfers at the kill`]),
      ...(sale.got?.status && transfers !== 1 ? ['an answer that was not paid for'] : []),
    ]
    return { scenario, point, isReached, onDisk, faults }
  }

  /** What every kill of the sale has to end in. */
  async #judge(url: string, sale: Sale): Promise<void> {
    const { gate } = this.#place
    const isLate = sale.scenario.isMinedLate && gate.isHeld()
    const mining = isLate ? sleep(MINED_LATE_MS).then(() => gate.release()) : gate.release()
    if (!isLate) await mining
    const first = await this.#repeat(url, sale)
    await mining
    const stored = await this.#stored(sale)
    const second = await ask(url, sale.door, header(sale.payment))
    const transfers = await this.#transfers(sale.fromBlock)
    const faults = [
      ...(first.status === 200 ? [] : [`${first.status} for the retry`]),
      ...(transfers.length === 1 ? [] : [`${transfers.length} transfers`]),
      ...(isStored(sale.door, first, stored) ? [] : ['the answer is not the stored one']),
      ...(isDeepStrictEqual(first, second) ? [] : ['the second retry differs from the first']),
      ...(first.body.startsWith(sale.got?.body ?? '') ? [] : ['another answer than before the kill']),
      ...(transactionIn(first) === transfers[0] ? [] : ['the receipt names another transaction']),
    ]
    for (const kill of sale.kills) kill.faults.push(...faults)
  }

  /** Until it is an answer, or one that ends the matter; the same payment each time. */
  async #repeat(url: string, { door, payment }: Sale): Promise<Got> {
    let got = await ask(url, door, header(payment))
    for (let repeats = 0; [429, 502, 503].includes(got.status) && repeats < REPEATS_MAX; repeats += 1) {
      await sleep(REPEAT_EVERY_MS)
      got = await ask(url, door, header(payment))
    }
    return got
  }

  async #stored({ payment }: Sale): Promise<ResponseRecord | undefined> {
    const log = openResponseLog(this.#place.directory, { readOnly: true })
    try {
      return await log.read(paymentIdentity(payment as never))
    } finally {
      await log.close()
    }
  }

  /** Their transactions. */
  #transfers(fromBlock: bigint): Promise<string[]> {
    const { buyer, receiver } = this.#place.accounts
    return this.#token.transactions(buyer.address, receiver, fromBlock)
  }

  /** An empty one: what the sale before has moved is in an older one. */
  async #newBlock(): Promise<bigint> {
    const { rpcUrl } = this.#place
    await rpc(rpcUrl, 'anvil_mine', '0x1')
    return BigInt((await rpc(rpcUrl, 'eth_blockNumber')) as string)
  }

  #start(args: string[]): Child {
    const { directory, gate } = this.#place
    const environment = {
      DATA_DIR: directory,
      RPC_URL: gate.url,
      DATASET: REGISTER,
      PORT: '0',
      LOG_LEVEL: 'silent',
      RATE_LIMIT_PER_MINUTE: '10000',
    }
    this.#child = startChild('test/support/killable.js', args, environment)
    return this.#child
  }

  /** Leaves no process behind, whatever has failed. */
  async close(): Promise<void> {
    if (this.#child) await end(this.#child)
  }
}

function killedAt({ payment, scenario }: Sale, point: KillPoint): string[] {
  return [point, payment.payload.authorization.nonce, String(scenario.delayMs)]
}

function isTrap(point: string): point is Trap['at'] {
  return point === 'signed' || point === 'broadcast' || point === 'mined'
}

/** Whether it was killed in time; else it is now. */
async function isDead(child: Child): Promise<boolean> {
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

/** To the byte where the door sends the bytes themselves; A2A wraps them in a message. */
function isStored(door: KillDoor, { status, body, receipt }: Got, stored: ResponseRecord | undefined): boolean {
  if (status !== 200 || !stored || receipt !== stored.payment_response) return false
  return door.startsWith('REST') ? body === stored.body : isDeepStrictEqual(dataIn(door, body), JSON.parse(stored.body))
}

function transactionIn({ receipt }: Got): string | undefined {
  return receipt === undefined ? undefined : decodePaymentResponseHeader(receipt).transaction
}
