/** One run of the simulation: a storm of so many minutes, then calm, and then every payment is asked for once more. */
import { replyTo } from '../../../agent/executor/reply.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { MemoryWindow } from '../../../store/memory-window.ts'
import { short, SimulatedChain } from './chain.ts'
import { SimulatedBuyer, describe } from './buyer.ts'
import { SimulatedFacilitator, transferOf } from './facilitator.ts'
import { SimulatedLog } from './log.ts'
import { companyIn, Oracles } from './oracles.ts'
import { newNonce, paymentOf, TERMS, type SimulatedPayment } from './payment.ts'
import { SimulatedServer } from './server.ts'
import { NUMBERS, SimulatedShelf } from './shelf.ts'
import { World, type Owner } from './world.ts'

/** Long enough for every authorization to run out, for its block to be final, and for the reconciler's longest wait. */
const CALM_MS_MAX = 45 * 60_000
/** How long the last question may stay open, and how long he waits before he asks it again. */
const ASKING_MS_MAX = 15 * 60_000
const RETRY_MS = 5_000
const DAY_MS = 24 * 60 * 60_000
/** How often something happens in a storm that no server asked for. */
const EVENT_EVERY_MS = 8_000

export interface RunResult {
  seed: number
  /** What was broken, if anything. */
  broken: { invariant: string; message: string } | undefined
  steps: number
  lines: string[]
}

interface RunOptions {
  seed: number
  seen: Map<string, number>
  isTraced?: boolean
  /** Decided by the seed unless given. */
  serverCount?: number | undefined
}

export async function run({ seed, seen, isTraced = false, serverCount }: RunOptions): Promise<RunResult> {
  const world = new World({ seed, seen, isTraced })
  const stage = new Stage(world, serverCount ?? world.pick([1, 2, 2, 3]))
  try {
    await stage.play()
  } catch (cause) {
    stage.oracles.fail('the simulation itself', cause instanceof Error ? (cause.stack ?? cause.message) : 'unknown')
  }
  const { broken } = stage.oracles
  if (broken) world.lines.push(`BROKEN ${broken.message}`)
  return { seed, broken, steps: world.steps, lines: world.lines }
}

class Stage {
  readonly oracles: Oracles
  readonly #world: World
  readonly #chain: SimulatedChain
  readonly #facilitator: SimulatedFacilitator
  readonly #log: SimulatedLog
  readonly #shelf: SimulatedShelf
  readonly #servers: SimulatedServer[]
  readonly #buyers: SimulatedBuyer[]
  readonly #barred: Set<string>
  /** Payments that somebody made under an id that was in use. */
  readonly #renamed: { buyer: SimulatedBuyer; payment: SimulatedPayment }[] = []
  readonly #crashShare: number

  constructor(world: World, serverCount: number) {
    this.#world = world
    this.#chain = new SimulatedChain(world)
    this.#log = new SimulatedLog(world)
    this.#shelf = new SimulatedShelf(world)
    this.#crashShare = world.pick([0, 0.003, 0.02])
    const payers = Array.from({ length: world.between(1, 4) }, (_, index) => `0x${String(index + 1).repeat(40)}`)
    this.#barred = new Set(payers.filter(() => world.chance(0.04)))
    for (const payer of payers) this.#chain.balances.set(payer, world.chance(0.05) ? 1_500n : 100_000n)
    this.#facilitator = new SimulatedFacilitator(world, this.#chain, this.#barred)
    this.oracles = new Oracles({ world, chain: this.#chain, facilitator: this.#facilitator, log: this.#log })
    const around = {
      world,
      chain: this.#chain,
      facilitator: this.#facilitator,
      log: this.#log,
      shelf: this.#shelf,
      window: new MemoryWindow(),
      onReport: (line: string) => this.oracles.reported(line),
      onStopped: (owner: Owner, unanswered: number) => this.oracles.stopped(owner, unanswered),
      onStuck: ({ name }: Owner) => this.oracles.fail('L4 a stop never ends', name),
    }
    this.#servers = Array.from(
      { length: serverCount },
      (_, index) => new SimulatedServer(`server ${index + 1}`, around),
    )
    this.#buyers = payers.map(
      (payer) => new SimulatedBuyer(payer, { world, servers: this.#servers, oracles: this.oracles }),
    )
  }

  async play(): Promise<void> {
    const world = this.#world
    const isBroken = () => this.oracles.broken !== undefined
    world.check = () => this.#mayCrash()
    this.#brew()
    await world.run(world.between(60, 400) * 1_000, isBroken)
    if (isBroken()) return
    this.#calm()
    await world.run(CALM_MS_MAX, () => isBroken() || (world.steps % 64 === 0 && this.#isAtRest()))
    if (isBroken()) return
    this.#judge()
    if (isBroken()) return
    if (world.chance(0.25)) await this.#passDays()
    if (isBroken()) return
    await this.#askAgain()
  }

  /** Crashes fall on steps and not on times, so that they hit what is under way. */
  #mayCrash(): void {
    const world = this.#world
    if (!world.isStormy || !world.last?.alive || this.#crashShare === 0) return
    if (!world.chance(this.#crashShare)) return
    const isPower = world.chance(0.1)
    world.count(isPower ? 'fault crash: of the machine' : 'fault crash: of a process')
    for (const server of this.#servers) if (isPower || server.name === world.last.name) this.#crash(server)
  }

  #crash(server: SimulatedServer): void {
    server.crash()
    this.#world.after(this.#world.between(0, 30_000), () => server.start())
  }

  #brew(): void {
    const world = this.#world
    world.after(world.between(0, EVENT_EVERY_MS), () => {
      if (!world.isStormy) return
      const event = world.pick([
        () => this.#shelf.change(),
        () => this.#setClock(),
        () => this.#misuse(),
        () => this.#preempt(),
        () => this.#preempt(),
        () => this.#spendElsewhere(),
        () => this.#askUnpaid(),
        () => this.#reuseId(),
        () => this.#stopServer(),
      ])
      event()
      this.#brew()
    })
  }

  #setClock(): void {
    const world = this.#world
    if (!world.fault('a clock jumps', 0.4)) return
    world.pick(this.#servers).setClock(world.pick([0, 5_000, -5_000, 60_000, -60_000, 600_000, -600_000]))
  }

  /** Somebody sends again what he sees on its way to the chain. */
  #preempt(): void {
    const world = this.#world
    const seen = this.#chain.mempool.find(({ to }) => to === TERMS.payTo)
    if (!seen || !world.fault('a third party is faster', 1)) return
    this.#chain.mempool.unshift({ ...seen, hash: this.#chain.hash() })
  }

  /** The payer uses the nonce for himself, pays less with it, or cancels it. */
  #spendElsewhere(): void {
    const world = this.#world
    if (!world.chance(0.2)) return
    const buyer = world.pick(this.#buyers)
    const payment = buyer.current
    if (!payment) return
    const transfer = transferOf(payment.key, payment.authorization, this.#chain.hash())
    const kind = world.pick(['burns', 'underpays', 'cancels'] as const)
    world.count(`fault the payer ${kind} the nonce`)
    const changes = {
      burns: { to: buyer.payer },
      underpays: { value: 1n },
      cancels: { kind: 'cancel', to: buyer.payer } as const,
    }
    this.#chain.broadcast({ ...transfer, ...changes[kind] })
  }

  /** A payment that is on record, forged, changed, or for something else. */
  #misuse(): void {
    const world = this.#world
    const buyer = world.pick(this.#buyers)
    const payment = buyer.current
    if (!payment || !this.#log.records.has(payment.identity)) return
    const { authorization } = payment
    const wish = {
      from: authorization.from,
      nonce: authorization.nonce,
      validBefore: Number(authorization.validBefore),
    }
    const other = NUMBERS.find((number) => number !== buyer.companyNumber) as string
    const [header, companyNumber] = world.pick([
      [paymentOf({ ...wish, isForged: true }).header, buyer.companyNumber],
      [paymentOf({ ...wish, remark: 'another' }).header, buyer.companyNumber],
      [payment.header, other],
    ] as const)
    world.count('fault a payment is misused')
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    world.pick(this.#servers).ask(operation, [header], (outcome) => {
      if (outcome) this.oracles.answered({ payment, isWrong: true, companyNumber }, outcome)
    })
  }

  /** Another payment under an id that may still be another's: sold only once that one has come to nothing. */
  #reuseId(): void {
    const world = this.#world
    const buyer = world.pick(this.#buyers)
    const { current: first, companyNumber } = buyer
    if (first?.id === undefined || !this.#log.records.has(first.identity) || this.#renamed.length > 2) return
    const validBefore = Number(first.authorization.validBefore)
    const payment = paymentOf({ from: buyer.payer, nonce: newNonce(world.random), validBefore, id: first.id })
    this.#renamed.push({ buyer, payment })
    world.count('fault a payment id is used for another payment')
    world.trace(buyer.payer.slice(0, 4), () => `signs ${short(payment.key)} under the id of ${short(first.key)}`)
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    world.pick(this.#servers).ask(operation, [payment.header], (outcome) => {
      const isWrong = this.oracles.isHeldBy(first.identity)
      if (outcome) this.oracles.answered({ payment, isWrong, companyNumber }, outcome)
    })
  }

  #stopServer(): void {
    if (!this.#world.fault('a server is told to stop', 0.3)) return
    void this.#world.pick(this.#servers).stop()
  }

  #askUnpaid(): void {
    const companyNumber = this.#world.pick(NUMBERS)
    const operation = { operation: 'lookup', input: { company_number: companyNumber } } as const
    this.#world.pick(this.#servers).ask(operation, [], (outcome) => {
      if (outcome) this.oracles.answered({ payment: undefined, isWrong: false, companyNumber }, outcome)
    })
  }

  #calm(): void {
    const world = this.#world
    world.isStormy = false
    world.trace('world', () => 'CALM')
    this.#shelf.change()
    for (const server of this.#servers) {
      server.setClock(0)
      server.start()
    }
    for (const buyer of this.#buyers) world.after(world.between(0, 10_000), () => buyer.go())
  }

  #isAtRest(): boolean {
    return (
      this.#chain.mempool.length === 0 &&
      this.#log.unfinished().length === 0 &&
      this.#servers.every(({ isOpen }) => isOpen) &&
      this.#buyers.every((buyer) => this.#isDone(buyer))
    )
  }

  /** He has his answer, or can't pay. */
  #isDone(buyer: SimulatedBuyer): boolean {
    return buyer.body !== undefined || (!buyer.isWaiting && this.#isHopeless(buyer))
  }

  #isHopeless(buyer: SimulatedBuyer): boolean {
    const { payer } = buyer
    return this.#barred.has(payer) || (this.#chain.balances.get(payer) ?? 0n) < 1_000n || buyer.signed.length >= 4
  }

  #judge(): void {
    const { oracles } = this
    for (const identity of this.#log.unfinished()) {
      const state = this.#log.records.get(identity)?.state
      oracles.fail('L1 a record never ends', `${short(identity)} is ${state}`)
    }
    for (const buyer of this.#buyers) {
      if (!this.#isDone(buyer)) oracles.fail('L2 a buyer never gets his answer', short(buyer.payer))
      const isLied = buyer.signed.some(({ key }) => this.#facilitator.lied.has(key))
      const paid = buyer.signed.filter(({ key }) => oracles.isPaid(key))
      if (paid.length > 1 && !isLied)
        oracles.fail('I7 charged twice for one purchase', paid.map(({ key }) => short(key)).join(', '))
    }
  }

  /** Days later, at a start, what ended long enough ago is removed. */
  async #passDays(): Promise<void> {
    const world = this.#world
    const days = world.pick([1, 20, 29, 31, 60])
    world.count(`state ${days} days pass`)
    world.trace('world', () => `${days} days pass`)
    for (const server of this.#servers) server.crash()
    world.sleep(days * DAY_MS)
    for (const server of this.#servers) server.start()
    await world.run(60_000)
    this.oracles.pruned()
  }

  /** By the oldest payment first: also what was refused must then be what the chain says. */
  async #askAgain(): Promise<void> {
    for (const buyer of this.#buyers) for (const payment of buyer.signed) await this.#askOnce(buyer, payment)
    for (const { buyer, payment } of this.#renamed) await this.#askOnce(buyer, payment)
  }

  async #askOnce(buyer: SimulatedBuyer, payment: SimulatedPayment): Promise<void> {
    const world = this.#world
    const { companyNumber } = buyer
    const record = this.#log.records.get(payment.identity)
    const bought = record ? companyIn(record.body) : companyNumber
    const operation = { operation: 'lookup', input: { company_number: bought } } as const
    // As the documents say: while it is 503, he keeps the payment and asks again.
    const end = world.now + ASKING_MS_MAX
    let last: Outcome | undefined
    while (world.now < end && (!last || replyTo(last).status === 503)) {
      last = undefined
      world.pick(this.#servers).ask(operation, [payment.header], (outcome) => {
        last = outcome
      })
      await world.run(ASKING_MS_MAX, () => last !== undefined || this.oracles.broken !== undefined)
      if (this.oracles.broken) return
      if (last) this.oracles.answered({ payment, isWrong: false, companyNumber: bought }, last)
      await world.run(RETRY_MS)
    }
    if (!last) return this.oracles.fail('L3 a request is never answered', short(payment.key))
    const outcome: Outcome = last
    world.trace('at the end', () => `${describe(outcome)} to ${short(payment.key)}`)
    this.oracles.ended(payment, outcome)
  }
}
