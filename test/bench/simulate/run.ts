/** One run of the simulation: some minutes with faults, recovery without them, and a last retry of every payment. */
import type { LogKind } from '../log-kind.ts'
import { renderOutcome } from '../../../agent/http/render-outcome.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { seconds, short, SimulatedChain } from './chain.ts'
import { SimulatedBuyer, describe } from './buyer.ts'
import { SimulatedFacilitator, transferOf } from './facilitator.ts'
import { NUMBERS } from './catalog.ts'
import { SimulatedDeployment } from './deployment.ts'
import { companyIn, type BrokenInvariant } from './invariants.ts'
import { SimulatedNodes } from './node.ts'
import { newNonce, paymentOf, TERMS, type SimulatedPayment } from './payment.ts'
import type { SimulatedServer } from './server.ts'
import { Simulator } from './simulator.ts'

/** Long enough for every authorization to expire, for its block to be final, and for the reconciler's longest wait. */
const RECOVERY_MS_MAX = 45 * 60_000
/** How long the last retry may take, and the wait before it is repeated. */
const LAST_REPEAT_MS_MAX = 15 * 60_000
const REPEAT_MS = 5_000
const DAY_MS = 24 * 60 * 60_000
/** Longer than the wait after a wrong clock, and its random delays. */
const PRUNED_MS_MAX = 15 * 60_000
const BUYER_STARTS_MS_MAX = 60_000
/** After the longest wait of a server that starts with the right clock and a new block. */
const PRUNED_AT_ONCE_MS_MAX = 10_000
/** How long faults are injected. Most runs are short, because most kinds of faults occur within the first minute. */
const LENGTHS_MS = [
  { from: 10_000, to: 40_000 },
  { from: 10_000, to: 40_000 },
  { from: 10_000, to: 40_000 },
  { from: 10_000, to: 40_000 },
  { from: 40_000, to: 120_000 },
  { from: 120_000, to: 400_000 },
]
/** The longest time between two events that no server caused. */
const EVENT_EVERY_MS = 4_000
/** How long a clock is wrong by weeks. Its server sells nothing meanwhile. */
const WEEKS_OFF_MS_MAX = 60_000
/** The longest time between two requests with a payment whose record is lost. */
const REPEAT_LOST_MS_MAX = 30_000

export interface RunResult {
  seed: number
  /** The broken invariant, if any. */
  broken: { invariant: string; message: string } | undefined
  steps: number
  lines: string[]
}

interface RunOptions {
  seed: number
  seen: Map<string, number>
  isTraced?: boolean
  /** Depends on the seed unless given. */
  serverCount?: number | undefined
  logKind?: LogKind
}

export async function run({
  seed,
  seen,
  isTraced = false,
  serverCount,
  logKind = 'lmdb',
}: RunOptions): Promise<RunResult> {
  const sim = new Simulator({ seed, seen, isTraced })
  const simulation = new SimulationRun(sim, serverCount ?? sim.pick([1, 2, 2, 3]), logKind)
  try {
    await simulation.execute()
  } catch (cause) {
    simulation.fail('the simulation itself', cause instanceof Error ? (cause.stack ?? cause.message) : 'unknown')
  }
  const { broken } = simulation
  if (broken) sim.lines.push(`BROKEN ${broken.message}`)
  return { seed, broken, steps: sim.steps, lines: sim.lines }
}

interface Purchase {
  payment: SimulatedPayment
  companyNumber: string
}

class SimulationRun {
  readonly #sim: Simulator
  readonly #chain: SimulatedChain
  readonly #nodes: SimulatedNodes
  readonly #facilitator: SimulatedFacilitator
  /** The deployment that the buyers use. */
  readonly #main: SimulatedDeployment
  /** Another deployment with the same receiver and a log of its own, in some runs. */
  readonly #other: SimulatedDeployment | undefined
  readonly #deployments: readonly SimulatedDeployment[]
  readonly #servers: readonly SimulatedServer[]
  readonly #buyers: SimulatedBuyer[]
  readonly #refusedPayers: Set<string>
  /** Payments with the id of another payment. */
  readonly #reusedIds: { buyer: SimulatedBuyer; payment: SimulatedPayment }[] = []
  /** Payments that were sent to the other deployment, by key. */
  readonly #sentToOther = new Map<string, Purchase>()
  /**
   * Whether records are lost. Then no clock is behind, nodes follow no fork, and the facilitator reports a used nonce first,
   * because these are the assumptions for a payment without a record (docs/reliability.md).
   */
  readonly #losesRecords: boolean
  readonly #crashShare: number
  readonly #length: number

  constructor(sim: Simulator, serverCount: number, logKind: LogKind) {
    this.#sim = sim
    this.#chain = new SimulatedChain(sim)
    this.#nodes = new SimulatedNodes(sim, this.#chain)
    const { from, to } = sim.pick(LENGTHS_MS)
    this.#length = sim.between(from, to)
    this.#crashShare = sim.pick([0, 0.003, 0.02])
    const payers = Array.from({ length: sim.between(1, 4) }, (_, index) => `0x${String(index + 1).repeat(40)}`)
    this.#refusedPayers = new Set(payers.filter(() => sim.chance(0.04)))
    for (const payer of payers) this.#chain.balances.set(payer, sim.chance(0.1) ? 1_500n : 100_000n)
    this.#losesRecords = sim.chance(0.2)
    this.#facilitator = new SimulatedFacilitator(sim, this.#chain, {
      refusedPayers: this.#refusedPayers,
      mayCheckBalanceFirst: !this.#losesRecords,
    })
    const shared = { sim, logKind, chain: this.#chain, nodes: this.#nodes, facilitator: this.#facilitator }
    const options = { ...shared, isShared: (key: string) => this.#sentToOther.has(key) }
    const names = Array.from({ length: serverCount }, (_, index) => `server ${index + 1}`)
    this.#main = new SimulatedDeployment({ ...options, servers: names })
    this.#other = sim.chance(0.25) ? new SimulatedDeployment({ ...options, servers: ['other server'] }) : undefined
    this.#deployments = this.#other ? [this.#main, this.#other] : [this.#main]
    this.#servers = this.#deployments.flatMap(({ servers }) => servers)
    const { servers, invariants } = this.#main
    const startMsMax = Math.min(this.#length / 2, BUYER_STARTS_MS_MAX)
    this.#buyers = payers.map((payer) => new SimulatedBuyer(payer, { sim, servers, invariants, startMsMax }))
  }

  /** The first broken invariant. */
  get broken(): BrokenInvariant | undefined {
    return this.#deployments.map(({ invariants }) => invariants.broken).find(Boolean)
  }

  fail(invariant: string, detail: string): void {
    this.#main.invariants.fail(invariant, detail)
  }

  async execute(): Promise<void> {
    const sim = this.#sim
    const isBroken = () => this.broken !== undefined
    sim.check = () => this.#mayCrash()
    this.#scheduleEvent()
    await sim.run(this.#length, isBroken)
    if (isBroken()) return
    this.#stopFaults()
    await sim.run(RECOVERY_MS_MAX, () => isBroken() || (sim.steps % 8 === 0 && this.#isAtRest()))
    if (isBroken()) return
    this.#checkFinalState()
    if (isBroken()) return
    if (sim.chance(0.25)) await this.#passDays()
    if (isBroken()) return
    await this.#retryAll()
  }

  /** Crashes happen at steps and not at times, so that they interrupt work in progress. */
  #mayCrash(): void {
    const sim = this.#sim
    if (!sim.injectsFaults || !sim.last?.alive || this.#crashShare === 0) return
    if (!sim.chance(this.#crashShare)) return
    const isPower = sim.chance(0.1)
    sim.count(isPower ? 'fault crash: of the machine' : 'fault crash: of a process')
    for (const server of this.#servers) if (isPower || server.name === sim.last.name) this.#crash(server)
  }

  #crash(server: SimulatedServer): void {
    server.crash()
    this.#sim.after(this.#sim.between(0, 30_000), () => server.start())
  }

  #scheduleEvent(): void {
    const sim = this.#sim
    sim.after(sim.between(0, EVENT_EVERY_MS), () => {
      if (!sim.injectsFaults) return
      const event = sim.pick([
        () => sim.pick(this.#deployments).catalog.change(),
        () => this.#setClock(),
        () => this.#misuse(),
        () => this.#preempt(),
        () => this.#preempt(),
        () => this.#spendElsewhere(),
        () => this.#askUnpaid(),
        () => this.#reuseId(),
        () => this.#stopServer(),
        () => this.#changeChain(),
        () => this.#buyFromOther(),
        () => this.#loseRecord(),
      ])
      event()
      this.#scheduleEvent()
    })
  }

  #setClock(): void {
    const sim = this.#sim
    const server = sim.pick(this.#servers)
    const sign = this.#losesRecords ? 1 : sim.pick([1, -1])
    if (sim.fault('a clock jumps by weeks', 0.1)) {
      server.setClock(sim.pick([31, 40]) * DAY_MS * sign)
      sim.after(sim.between(0, WEEKS_OFF_MS_MAX), () => server.setClock(0))
    } else if (sim.fault('a clock jumps', 0.4)) {
      server.setClock(sim.pick([0, 5_000, 60_000, 600_000]) * sign)
    }
    this.#facilitator.wereRefusalsUncheckable ||= server.isClockBehind
  }

  /** A third party sends the authorization that it sees in the mempool. */
  #preempt(): void {
    const sim = this.#sim
    const seen = this.#chain.mempool.find(({ to }) => to === TERMS.payTo)
    if (!seen || !sim.fault('a third party is faster', 1)) return
    this.#chain.mempool.unshift({ ...seen, hash: this.#chain.hash() })
  }

  /** The payer uses the nonce for another transfer, for a smaller one, or cancels it. */
  #spendElsewhere(): void {
    const sim = this.#sim
    if (!sim.chance(0.2)) return
    const buyer = sim.pick(this.#buyers)
    const payment = buyer.current
    if (!payment) return
    const transfer = transferOf(payment.key, payment.authorization, this.#chain.hash())
    const kind = sim.pick(['burns', 'underpays', 'cancels'] as const)
    sim.count(`fault the payer ${kind} the nonce`)
    const changes = {
      burns: { to: buyer.payer },
      underpays: { value: 1n },
      cancels: { kind: 'cancel', to: buyer.payer } as const,
    }
    this.#chain.broadcast({ ...transfer, ...changes[kind] })
  }

  /** Sends a recorded payment again: forged, changed, or for another company. */
  #misuse(): void {
    const sim = this.#sim
    const buyer = sim.pick(this.#buyers)
    const payment = buyer.current
    if (!payment || !this.#main.log.records.has(payment.identity)) return
    const { authorization } = payment
    const fields = {
      from: authorization.from,
      nonce: authorization.nonce,
      validBefore: Number(authorization.validBefore),
    }
    const other = NUMBERS.find((number) => number !== buyer.companyNumber) as string
    const [header, companyNumber] = sim.pick([
      [paymentOf({ ...fields, isForged: true }).header, buyer.companyNumber],
      [paymentOf({ ...fields, remark: 'another' }).header, buyer.companyNumber],
      [payment.header, other],
    ] as const)
    sim.count('fault a payment is misused')
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    const { servers, invariants } = this.#main
    sim.pick(servers).ask({ operation, paymentHeaders: [header] }, (outcome) => {
      if (outcome) invariants.answered({ payment, isMisuse: true, companyNumber }, outcome)
    })
  }

  /** Another payment with the same payment id. It may buy only once the first payment is void. */
  #reuseId(): void {
    const sim = this.#sim
    const buyer = sim.pick(this.#buyers)
    const { current: first, companyNumber } = buyer
    const { log, servers, invariants } = this.#main
    if (first?.id === undefined || !log.records.has(first.identity) || this.#reusedIds.length > 2) return
    const validBefore = Number(first.authorization.validBefore)
    const payment = paymentOf({ from: buyer.payer, nonce: newNonce(sim.random), validBefore, id: first.id })
    this.#reusedIds.push({ buyer, payment })
    sim.count('fault a payment id is used for another payment')
    sim.trace(buyer.payer.slice(0, 4), () => `signs ${short(payment.key)} with the id of ${short(first.key)}`)
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    sim.pick(servers).ask({ operation, paymentHeaders: [payment.header] }, (outcome) => {
      const isMisuse = invariants.isHeldBy(first.identity)
      if (outcome) invariants.answered({ payment, isMisuse, companyNumber }, outcome)
    })
  }

  #stopServer(): void {
    if (!this.#sim.fault('a server stops gracefully', 0.3)) return
    void this.#sim.pick(this.#servers).stop()
  }

  #changeChain(): void {
    if (this.#sim.chance(0.3)) this.#nodes.change({ mayFork: !this.#losesRecords })
    this.#facilitator.wereRefusalsUncheckable ||= this.#nodes.isFork
  }

  /** The payer sends a payment to the other deployment as well, or buys there with another payment. */
  #buyFromOther(): void {
    const sim = this.#sim
    const other = this.#other
    if (!other || this.#sentToOther.size > 3) return
    const buyer = sim.pick(this.#buyers)
    const isShared = sim.chance(0.7)
    const validBefore = seconds(sim) + 300
    const payment = isShared
      ? buyer.current
      : paymentOf({ from: buyer.payer, nonce: newNonce(sim.random), validBefore, id: undefined })
    if (!payment) return
    const { companyNumber } = this.#sentToOther.get(payment.key) ?? { companyNumber: sim.pick(NUMBERS) }
    this.#sentToOther.set(payment.key, { payment, companyNumber })
    sim.count(isShared ? 'fault a payment is sent to two deployments' : 'state a payer buys from two deployments')
    sim.trace(buyer.payer.slice(0, 4), () => `sends ${short(payment.key)} to the other deployment`)
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    sim.pick(other.servers).ask({ operation, paymentHeaders: [payment.header] }, (outcome) => {
      if (outcome) other.invariants.answered({ payment, isMisuse: false, companyNumber }, outcome)
    })
  }

  /** Restores the log from a copy without a confirmed record. The buyer repeats its request, also after `validBefore`. */
  #loseRecord(): void {
    const sim = this.#sim
    const { log, servers, invariants } = this.#main
    if (!this.#losesRecords) return
    const buyer = sim.pick(this.#buyers)
    const payment = buyer.signed.find(({ identity }) => log.records.get(identity)?.state === 'confirmed')
    if (!payment || this.#sentToOther.has(payment.key)) return
    sim.count('fault a record is lost')
    for (const server of servers) if (server.isUp) this.#crash(server)
    log.lose(payment.identity)
    invariants.lost(payment.identity)
    this.#repeat({ payment, companyNumber: buyer.companyNumber })
  }

  #repeat({ payment, companyNumber }: Purchase): void {
    const sim = this.#sim
    const { servers, invariants } = this.#main
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    sim.after(sim.between(0, REPEAT_LOST_MS_MAX), () => {
      if (!sim.injectsFaults) return
      sim.pick(servers).ask({ operation, paymentHeaders: [payment.header] }, (outcome) => {
        if (!outcome) return
        sim.count(`answer without a record: ${describe(outcome)}`)
        invariants.answered({ payment, isMisuse: false, companyNumber }, outcome)
      })
      this.#repeat({ payment, companyNumber })
    })
  }

  #askUnpaid(): void {
    const companyNumber = this.#sim.pick(NUMBERS)
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    const { servers, invariants } = this.#main
    this.#sim.pick(servers).ask({ operation, paymentHeaders: [] }, (outcome) => {
      if (outcome) invariants.answered({ payment: undefined, isMisuse: false, companyNumber }, outcome)
    })
  }

  #stopFaults(): void {
    const sim = this.#sim
    sim.injectsFaults = false
    sim.trace('simulator', () => 'FAULTS END')
    this.#nodes.restore()
    for (const { catalog } of this.#deployments) catalog.change()
    for (const server of this.#servers) {
      server.setClock(0)
      server.start()
    }
    for (const buyer of this.#buyers) sim.after(sim.between(0, 10_000), () => buyer.go())
  }

  #isAtRest(): boolean {
    return (
      this.#chain.mempool.length === 0 &&
      this.#deployments.every(({ log }) => log.unfinished().length === 0) &&
      this.#servers.every(({ isOpen }) => isOpen) &&
      this.#buyers.every((buyer) => this.#isDone(buyer))
    )
  }

  /** Whether the buyer has its response or cannot buy. */
  #isDone(buyer: SimulatedBuyer): boolean {
    return buyer.body !== undefined || (!buyer.isWaiting && this.#cannotBuy(buyer))
  }

  #cannotBuy(buyer: SimulatedBuyer): boolean {
    const { payer } = buyer
    return (
      buyer.isSettledElsewhere ||
      this.#refusedPayers.has(payer) ||
      (this.#chain.balances.get(payer) ?? 0n) < 1_000n ||
      buyer.signed.length >= 4
    )
  }

  #checkFinalState(): void {
    for (const { log } of this.#deployments)
      for (const identity of log.unfinished())
        this.fail('L1 a record never ends', `${short(identity)} is ${log.records.get(identity)?.state}`)
    for (const buyer of this.#buyers) {
      if (!this.#isDone(buyer)) this.fail('L2 a buyer never gets a response', short(buyer.payer))
      const isMisreported = buyer.signed.some(({ key }) => this.#facilitator.hasMisreported(key))
      // A payment that was sent to the other deployment may have bought something there.
      const own = buyer.signed.filter(({ key }) => !this.#sentToOther.has(key))
      const paid = own.filter(({ key }) => this.#main.invariants.isPaid(key))
      if (paid.length > 1 && !isMisreported)
        this.fail('I7 charged twice for one purchase', paid.map(({ key }) => short(key)).join(', '))
    }
  }

  /** Restarts all servers days later. At a start, old final records are removed. */
  async #passDays(): Promise<void> {
    const sim = this.#sim
    const days = sim.pick([1, 20, 29, 31, 60])
    sim.count(`state ${days} days pass`)
    sim.trace('simulator', () => `${days} days pass`)
    for (const server of this.#servers) server.crash()
    sim.sleep(days * DAY_MS)
    // Without a new block, the first attempt to remove records is repeated later.
    const isBlockNew = sim.chance(0.8)
    if (isBlockNew) this.#chain.mine()
    for (const server of this.#servers) server.start()
    await sim.run(isBlockNew ? PRUNED_AT_ONCE_MS_MAX : PRUNED_MS_MAX)
    for (const { invariants } of this.#deployments) invariants.pruned()
  }

  /** Retries all payments, the oldest first. Every outcome must now agree with the chain. */
  async #retryAll(): Promise<void> {
    const main = this.#main
    for (const { signed, companyNumber } of this.#buyers)
      for (const payment of signed) await this.#retry(main, { payment, companyNumber })
    for (const { buyer, payment } of this.#reusedIds)
      await this.#retry(main, { payment, companyNumber: buyer.companyNumber })
    if (!this.#other) return
    for (const purchase of this.#sentToOther.values()) await this.#retry(this.#other, purchase)
  }

  async #retry({ log, servers, invariants }: SimulatedDeployment, purchase: Purchase): Promise<void> {
    if (this.broken) return
    const sim = this.#sim
    const { payment, companyNumber } = purchase
    const record = log.records.get(payment.identity)
    const bought = record ? companyIn(record.body) : companyNumber
    const operation = { operation: 'lookup', input: { company_number: bought } } as const
    const end = sim.now + LAST_REPEAT_MS_MAX
    let last: Outcome | undefined
    while (sim.now < end && (!last || mayRepeat(last))) {
      if (last) await sim.run(REPEAT_MS)
      last = undefined
      sim.pick(servers).ask({ operation, paymentHeaders: [payment.header] }, (outcome) => {
        last = outcome
      })
      await sim.run(LAST_REPEAT_MS_MAX, () => last !== undefined || this.broken !== undefined)
      if (this.broken) return
      if (last) invariants.answered({ payment, isMisuse: false, companyNumber: bought }, last)
    }
    if (!last) return invariants.fail('L3 a request is never answered', short(payment.key))
    const outcome: Outcome = last
    sim.trace('at the end', () => `${describe(outcome)} to ${short(payment.key)}`)
    invariants.ended(payment, outcome)
  }
}

/** After 429 and 503 a buyer repeats the request with the same payment. */
function mayRepeat(outcome: Outcome): boolean {
  return [429, 503].includes(renderOutcome(outcome).status)
}
