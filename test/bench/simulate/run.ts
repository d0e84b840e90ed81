/** One run of the simulation: some minutes with faults, recovery without them, and a last retry of every payment. */
import { renderOutcome } from '../../../agent/http/render-outcome.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { MemoryWindow } from '../../../store/memory-window.ts'
import { short, SimulatedChain } from './chain.ts'
import { SimulatedBuyer, describe } from './buyer.ts'
import { SimulatedFacilitator, transferOf } from './facilitator.ts'
import { SimulatedLog } from './log.ts'
import { companyIn, Invariants } from './invariants.ts'
import { newNonce, paymentOf, TERMS, type SimulatedPayment } from './payment.ts'
import { SimulatedServer } from './server.ts'
import { NUMBERS, SimulatedCatalog } from './catalog.ts'
import { Simulator, type Owner } from './simulator.ts'

/** Long enough for every authorization to expire, for its block to be final, and for the reconciler's longest wait. */
const RECOVERY_MS_MAX = 45 * 60_000
/** How long the last retry may take, and the wait before it is repeated. */
const LAST_REPEAT_MS_MAX = 15 * 60_000
const REPEAT_MS = 5_000
const DAY_MS = 24 * 60 * 60_000
/** Longer than the wait after a wrong clock, and its random delays. */
const PRUNED_MS_MAX = 15 * 60_000
/** Shorter than the distance of the two readings that end a payment. */
const FORK_MS_MAX = 55_000
/** The longest time between two events that no server caused. */
const EVENT_EVERY_MS = 8_000

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
}

export async function run({ seed, seen, isTraced = false, serverCount }: RunOptions): Promise<RunResult> {
  const sim = new Simulator({ seed, seen, isTraced })
  const simulation = new SimulationRun(sim, serverCount ?? sim.pick([1, 2, 2, 3]))
  try {
    await simulation.execute()
  } catch (cause) {
    simulation.invariants.fail(
      'the simulation itself',
      cause instanceof Error ? (cause.stack ?? cause.message) : 'unknown',
    )
  }
  const { broken } = simulation.invariants
  if (broken) sim.lines.push(`BROKEN ${broken.message}`)
  return { seed, broken, steps: sim.steps, lines: sim.lines }
}

class SimulationRun {
  readonly invariants: Invariants
  readonly #sim: Simulator
  readonly #chain: SimulatedChain
  readonly #facilitator: SimulatedFacilitator
  readonly #log: SimulatedLog
  readonly #catalog: SimulatedCatalog
  readonly #servers: SimulatedServer[]
  readonly #buyers: SimulatedBuyer[]
  readonly #refusedPayers: Set<string>
  /** Payments with the id of another payment. */
  readonly #reusedIds: { buyer: SimulatedBuyer; payment: SimulatedPayment }[] = []
  readonly #crashShare: number
  #isForked = false

  constructor(sim: Simulator, serverCount: number) {
    this.#sim = sim
    this.#chain = new SimulatedChain(sim)
    this.#log = new SimulatedLog(sim)
    this.#catalog = new SimulatedCatalog(sim)
    this.#crashShare = sim.pick([0, 0.003, 0.02])
    const payers = Array.from({ length: sim.between(1, 4) }, (_, index) => `0x${String(index + 1).repeat(40)}`)
    this.#refusedPayers = new Set(payers.filter(() => sim.chance(0.04)))
    for (const payer of payers) this.#chain.balances.set(payer, sim.chance(0.05) ? 1_500n : 100_000n)
    this.#facilitator = new SimulatedFacilitator(sim, this.#chain, this.#refusedPayers)
    this.invariants = new Invariants({ sim, chain: this.#chain, facilitator: this.#facilitator, log: this.#log })
    const options = {
      sim,
      chain: this.#chain,
      facilitator: this.#facilitator,
      log: this.#log,
      catalog: this.#catalog,
      window: new MemoryWindow(),
      onReport: (line: string) => this.invariants.reported(line),
      onStopped: (owner: Owner, unanswered: number) => this.invariants.stopped(owner, unanswered),
      onStuck: ({ name }: Owner) => this.invariants.fail('L4 a stop never ends', name),
    }
    this.#servers = Array.from(
      { length: serverCount },
      (_, index) => new SimulatedServer(`server ${index + 1}`, options),
    )
    this.#buyers = payers.map(
      (payer) => new SimulatedBuyer(payer, { sim, servers: this.#servers, invariants: this.invariants }),
    )
  }

  async execute(): Promise<void> {
    const sim = this.#sim
    const isBroken = () => this.invariants.broken !== undefined
    sim.check = () => this.#mayCrash()
    this.#scheduleEvent()
    await sim.run(sim.between(60, 400) * 1_000, isBroken)
    if (isBroken()) return
    this.#stopFaults()
    await sim.run(RECOVERY_MS_MAX, () => isBroken() || (sim.steps % 64 === 0 && this.#isAtRest()))
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
        () => this.#catalog.change(),
        () => this.#setClock(),
        () => this.#misuse(),
        () => this.#preempt(),
        () => this.#preempt(),
        () => this.#spendElsewhere(),
        () => this.#askUnpaid(),
        () => this.#reuseId(),
        () => this.#stopServer(),
        () => this.#forkChain(),
      ])
      event()
      this.#scheduleEvent()
    })
  }

  #setClock(): void {
    const sim = this.#sim
    if (!sim.fault('a clock jumps', 0.4)) return
    sim.pick(this.#servers).setClock(sim.pick([0, 5_000, -5_000, 60_000, -60_000, 600_000, -600_000]))
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
    if (!payment || !this.#log.records.has(payment.identity)) return
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
    sim.pick(this.#servers).ask({ operation, paymentHeaders: [header] }, (outcome) => {
      if (outcome) this.invariants.answered({ payment, isMisuse: true, companyNumber }, outcome)
    })
  }

  /** Another payment with the same payment id. It may buy only once the first payment is void. */
  #reuseId(): void {
    const sim = this.#sim
    const buyer = sim.pick(this.#buyers)
    const { current: first, companyNumber } = buyer
    if (first?.id === undefined || !this.#log.records.has(first.identity) || this.#reusedIds.length > 2) return
    const validBefore = Number(first.authorization.validBefore)
    const payment = paymentOf({ from: buyer.payer, nonce: newNonce(sim.random), validBefore, id: first.id })
    this.#reusedIds.push({ buyer, payment })
    sim.count('fault a payment id is used for another payment')
    sim.trace(buyer.payer.slice(0, 4), () => `signs ${short(payment.key)} with the id of ${short(first.key)}`)
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    sim.pick(this.#servers).ask({ operation, paymentHeaders: [payment.header] }, (outcome) => {
      const isMisuse = this.invariants.isHeldBy(first.identity)
      if (outcome) this.invariants.answered({ payment, isMisuse, companyNumber }, outcome)
    })
  }

  #stopServer(): void {
    if (!this.#sim.fault('a server stops gracefully', 0.3)) return
    void this.#sim.pick(this.#servers).stop()
  }

  /** Once in a run: with two forks, the two readings that end a payment could come from one each. */
  #forkChain(): void {
    if (this.#isForked || !this.#sim.fault('the nodes change', 0.3)) return
    this.#isForked = true
    this.#chain.fork(this.#sim.between(5_000, FORK_MS_MAX))
  }

  #askUnpaid(): void {
    const companyNumber = this.#sim.pick(NUMBERS)
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    this.#sim.pick(this.#servers).ask({ operation, paymentHeaders: [] }, (outcome) => {
      if (outcome) this.invariants.answered({ payment: undefined, isMisuse: false, companyNumber }, outcome)
    })
  }

  #stopFaults(): void {
    const sim = this.#sim
    sim.injectsFaults = false
    sim.trace('simulator', () => 'FAULTS END')
    this.#catalog.change()
    for (const server of this.#servers) {
      server.setClock(0)
      server.start()
    }
    for (const buyer of this.#buyers) sim.after(sim.between(0, 10_000), () => buyer.go())
  }

  #isAtRest(): boolean {
    return (
      this.#chain.mempool.length === 0 &&
      this.#log.unfinished().length === 0 &&
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
      this.#refusedPayers.has(payer) || (this.#chain.balances.get(payer) ?? 0n) < 1_000n || buyer.signed.length >= 4
    )
  }

  #checkFinalState(): void {
    const { invariants } = this
    for (const identity of this.#log.unfinished()) {
      const state = this.#log.records.get(identity)?.state
      invariants.fail('L1 a record never ends', `${short(identity)} is ${state}`)
    }
    for (const buyer of this.#buyers) {
      if (!this.#isDone(buyer)) invariants.fail('L2 a buyer never gets a response', short(buyer.payer))
      const isMisreported = buyer.signed.some(({ key }) => this.#facilitator.misreported.has(key))
      const paid = buyer.signed.filter(({ key }) => invariants.isPaid(key))
      if (paid.length > 1 && !isMisreported)
        invariants.fail('I7 charged twice for one purchase', paid.map(({ key }) => short(key)).join(', '))
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
    for (const server of this.#servers) server.start()
    // The newest block is old after the sleep, so the first attempt to remove records is repeated.
    await sim.run(PRUNED_MS_MAX)
    this.invariants.pruned()
  }

  /** Retries all payments, the oldest first. Every outcome must now agree with the chain. */
  async #retryAll(): Promise<void> {
    for (const buyer of this.#buyers) for (const payment of buyer.signed) await this.#retry(buyer, payment)
    for (const { buyer, payment } of this.#reusedIds) await this.#retry(buyer, payment)
  }

  async #retry(buyer: SimulatedBuyer, payment: SimulatedPayment): Promise<void> {
    const sim = this.#sim
    const { companyNumber } = buyer
    const record = this.#log.records.get(payment.identity)
    const bought = record ? companyIn(record.body) : companyNumber
    const operation = { operation: 'lookup', input: { company_number: bought } } as const
    // After 503 a buyer repeats the request with the same payment.
    const end = sim.now + LAST_REPEAT_MS_MAX
    let last: Outcome | undefined
    while (sim.now < end && (!last || renderOutcome(last).status === 503)) {
      last = undefined
      sim.pick(this.#servers).ask({ operation, paymentHeaders: [payment.header] }, (outcome) => {
        last = outcome
      })
      await sim.run(LAST_REPEAT_MS_MAX, () => last !== undefined || this.invariants.broken !== undefined)
      if (this.invariants.broken) return
      if (last) this.invariants.answered({ payment, isMisuse: false, companyNumber: bought }, last)
      await sim.run(REPEAT_MS)
    }
    if (!last) return this.invariants.fail('L3 a request is never answered', short(payment.key))
    const outcome: Outcome = last
    sim.trace('at the end', () => `${describe(outcome)} to ${short(payment.key)}`)
    this.invariants.ended(payment, outcome)
  }
}
