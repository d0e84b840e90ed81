/** One server process of the simulation: the product's own executor and reconciler between simulated doors. */
import { CompanyAgentExecutor } from '../../../agent/executor/agent-executor.ts'
import { RateLimit } from '../../../agent/executor/rate-limit.ts'
import { Offers } from '../../../agent/executor/offers.ts'
import { Turns } from '../../../agent/executor/turns.ts'
import { describeCause } from '../../../agent/log.ts'
import type { Operation } from '../../../agent/operation/schema.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { resourceUrl } from '../../../agent/operation/resource.ts'
import type { Timer } from '../../../agent/payments/facilitator.ts'
import { openReconciler, type Reconciler } from '../../../agent/payments/reconciler.ts'
import { openRetention } from '../../../agent/payments/retention.ts'
import type { Window } from '../../../store/window.ts'
import type { SimulatedChain } from './chain.ts'
import type { SimulatedFacilitator } from './facilitator.ts'
import type { SimulatedLog } from './log.ts'
import { TERMS } from './payment.ts'
import type { SimulatedShelf } from './shelf.ts'
import type { Owner, World } from './world.ts'

const BASE_URL = 'http://127.0.0.1:4021'
export const RETENTION_DAYS = 30
/** How long requests may go on at the door before a stop goes on without them. */
const GRACE_MS_MAX = 10_000
/** What a stop may take: several limits of time on others, and slow disks. */
const STOP_MS_MAX = 5 * 60_000

export interface Surroundings {
  world: World
  chain: SimulatedChain
  facilitator: SimulatedFacilitator
  log: SimulatedLog
  shelf: SimulatedShelf
  /** Of the rate limit, which they share. */
  window: Window
  /** What the servers write to their logs. */
  onReport: (line: string) => void
  /** A process has ended itself in order; `unanswered` requests were left. */
  onStopped: (owner: Owner, unanswered: number) => void
  /** It was told to and has not. */
  onStuck: (owner: Owner) => void
}

type Answer = (outcome: Outcome | undefined) => void

export class SimulatedServer {
  readonly name: string
  readonly #around: Surroundings
  readonly #perMinute: number
  #owner: Owner
  #executor: CompanyAgentExecutor | undefined
  #reconciler: Reconciler | undefined
  #endRetention: () => Promise<void> = () => Promise.resolve()
  #isStopping = false
  readonly #waiting = new Set<Answer>()
  /** How far its clock is off, in milliseconds. */
  #skew = 0

  constructor(name: string, around: Surroundings) {
    this.name = name
    this.#around = around
    this.#perMinute = around.world.pick([120, 120, 3])
    this.#owner = { name, alive: false }
    this.start()
  }

  get isUp(): boolean {
    return this.#owner.alive
  }

  /** Whether it lets requests in. */
  get isOpen(): boolean {
    return this.isUp && !this.#isStopping
  }

  start(): void {
    if (this.isUp) return
    const { world, chain, facilitator, log, shelf, window, onReport } = this.#around
    world.trace(this.name, () => 'starts')
    const owner: Owner = { name: this.name, alive: true }
    this.#owner = owner
    this.#isStopping = false
    const now = () => new Date(world.now + this.#skew)
    const timer: Timer = (callback, milliseconds) => world.after(milliseconds, callback, owner)
    const turns = new Turns()
    const seller = {
      terms: TERMS,
      catalog: shelf.catalog(),
      desk: {
        log: log.door(owner),
        facilitator: facilitator.door(owner),
        chain: chain.reader(owner),
        now,
        timer,
        report: (event: string, cause: unknown) => onReport(`${event} ${describeCause(cause).error}`),
      },
      rateLimit: new RateLimit({ perMinute: this.#perMinute, now, window }),
      turns,
      offers: new Offers(),
    }
    this.#executor = new CompanyAgentExecutor({ seller, baseUrl: BASE_URL, help: '' })
    const { report } = seller.desk
    this.#endRetention = openRetention({ log: seller.desk.log, days: RETENTION_DAYS, now, timer, report })
    this.#reconciler = openReconciler({
      desk: seller.desk,
      timer,
      random: world.random,
      // As agent/service does.
      alone: async (identity, work) => {
        if (!turns.isTaken(identity)) await turns.run(identity, work, () => undefined)
      },
    })
  }

  /** As by SIGKILL: nothing of it goes on, and what it had under way on disk is there or not. */
  crash(): void {
    if (!this.isUp) return
    const { world, log } = this.#around
    world.trace(this.name, () => 'CRASHES')
    this.#owner.alive = false
    log.crash(this.#owner)
    for (const answer of this.#waiting) world.after(0, () => answer(undefined))
    this.#waiting.clear()
  }

  /** As by SIGTERM: lets nobody in any more and ends what has begun, in the order of agent/service. */
  async stop(): Promise<void> {
    if (!this.isOpen) return
    const { world, onStopped, onStuck } = this.#around
    const owner = this.#owner
    this.#isStopping = true
    world.trace(this.name, () => 'stops')
    world.after(STOP_MS_MAX, () => onStuck(owner), owner)
    await new Promise<void>((resolve) => void world.after(world.between(0, GRACE_MS_MAX), resolve, owner))
    await this.#reconciler?.stop()
    await this.#endRetention()
    await this.#executor?.drain()
    world.after(
      0,
      () => {
        world.trace(this.name, () => 'has stopped')
        owner.alive = false
        onStopped(owner, this.#waiting.size)
        world.after(world.between(0, 30_000), () => this.start())
      },
      owner,
    )
  }

  setClock(skew: number): void {
    this.#around.world.trace(this.name, () => `its clock is off by ${skew / 1000} s`)
    this.#skew = skew
  }

  /** Answers once the request is done, or with undefined once the server has died over it. */
  ask(operation: Operation, paymentHeaders: string[], answer: Answer): void {
    const owner = this.#owner
    if (!this.isOpen || !this.#executor) return answer(undefined)
    const order = { operation, paymentHeaders, resourceUrl: resourceUrl(BASE_URL, operation) }
    this.#waiting.add(answer)
    void this.#answerWith(answer, { owner, outcome: this.#executor.perform(order) })
  }

  async #answerWith(answer: Answer, { owner, outcome }: { owner: Owner; outcome: Promise<Outcome> }): Promise<void> {
    const done = await outcome
    if (owner.alive && this.#waiting.delete(answer)) answer(done)
  }
}
