/** One server process of the simulation: the product's executor and reconciler with simulated externals. */
import { noJournal } from '../../support/journal.ts'
import { CompanyAgentExecutor } from '../../../agent/sale/agent-executor.ts'
import type { SaleRequest } from '../../../agent/sale/sale-context.ts'
import { AddressBudgets, ALWAYS_OPEN } from '../../../agent/sale/limits/address-budget.ts'
import { WorkQueue } from '../../../agent/sale/limits/work-queue.ts'
import { KeyedMutex } from '../../../agent/sale/limits/keyed-mutex.ts'
import { PayerReservations } from '../../../agent/sale/limits/payer-reservations.ts'
import { describeCause } from '../../../agent/service/log.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { resourceUrl } from '../../../agent/operation/resource.ts'
import type { Timer } from '../../../store/base/runtime.ts'
import { RecentAttempts } from '../../../agent/settlement/recent-attempts.ts'
import { startReconciler } from '../../../agent/settlement/reconciler.ts'
import type { ReceiptClaims } from '../../../agent/payment/receipt/claims.ts'
import { writeUnsigned } from '../../support/unsigned-receipt.ts'
import type { SettlementObserver, SimulatedFacilitator } from './facilitator.ts'
import type { SimulatedLog } from './log.ts'
import type { SimulatedNodes } from './node.ts'
import { TERMS } from './payment.ts'
import type { SimulatedCatalog } from './catalog.ts'
import type { Owner, Simulator } from './simulator.ts'

const BASE_URL = 'http://127.0.0.1:4021'
/** How long a stop waits for open requests. */
const GRACE_MS_MAX = 10_000
/** The longest graceful stop: several deadlines of externals, and slow disks. */
const STOP_MS_MAX = 5 * 60_000

/** Few, so that verifications wait for each other. */
const VERIFICATIONS_MAX = 4
/** Entries of each cache. Caches of the usual size would take most of the time, because they reserve their memory. */
const CACHED_MAX = 20

export interface ServerOptions {
  sim: Simulator
  nodes: SimulatedNodes
  facilitator: SimulatedFacilitator
  log: SimulatedLog
  catalog: SimulatedCatalog
  settlements: SettlementObserver
  /** Called with each line of a server's log. */
  onReport: (line: string) => void
  /** Called when a server has stopped gracefully, with the number of unanswered requests. */
  onStopped: (owner: Owner, unanswered: number) => void
  /** Called when a graceful stop takes too long. */
  onStuck: (owner: Owner) => void
}

type Asked = Pick<SaleRequest, 'operation' | 'paymentHeaders'>
type Answer = (outcome: Outcome | undefined) => void

export class SimulatedServer {
  readonly name: string
  readonly #options: ServerOptions
  readonly #budgets: AddressBudgets
  #owner: Owner
  #executor: CompanyAgentExecutor | undefined
  #reconciler: ReturnType<typeof startReconciler> | undefined
  #isStopping = false
  #stopping = new AbortController()
  readonly #waiting = new Set<Answer>()
  #asked = 0
  /** The error of its clock in milliseconds. */
  #skew = 0

  constructor(name: string, options: ServerOptions) {
    this.name = name
    this.#options = options
    this.#budgets = new AddressBudgets({ perMinute: 300, clock: () => options.sim.now, addressesMax: CACHED_MAX })
    this.#owner = { name, alive: false }
    this.start()
  }

  get isUp(): boolean {
    return this.#owner.alive
  }

  /** Whether it accepts requests. */
  get isOpen(): boolean {
    return this.isUp && !this.#isStopping
  }

  start(): void {
    if (this.isUp) return
    const { sim, nodes, facilitator, settlements, log, catalog, onReport } = this.#options
    sim.trace(this.name, () => 'starts')
    const owner: Owner = { name: this.name, alive: true }
    this.#owner = owner
    this.#isStopping = false
    this.#stopping = new AbortController()
    const now = () => new Date(sim.now + this.#skew)
    const timer: Timer = (callback, milliseconds) => sim.after(milliseconds, callback, owner)
    const turns = new KeyedMutex()
    const seller = {
      terms: TERMS,
      catalog: catalog.open(),
      journal: noJournal,
      payments: {
        log: log.open(owner),
        facilitator: facilitator.client(owner, settlements),
        chain: nodes.open(owner, now),
        recentAttempts: new RecentAttempts(now),
        signReceipt: (claims: Omit<ReceiptClaims, 'iss'>) => this.#signReceipt(claims, owner),
        now,
        monotonic: () => sim.now,
        timer,
        report: (event: string, cause: unknown) => onReport(`${event} ${describeCause(cause).error}`),
      },
      verifications: new WorkQueue(VERIFICATIONS_MAX),
      computations: new WorkQueue(1),
      payers: new PayerReservations(),
      paymentMutex: turns,
      stopSignal: this.#stopping.signal,
    }
    this.#executor = new CompanyAgentExecutor({ context: seller, baseUrl: BASE_URL, help: () => '' })
    this.#reconciler = startReconciler({
      payments: seller.payments,
      timer,
      // The same condition as in agent/service.
      runExclusively: async (key, work) => {
        if (!turns.isHeld(key)) await turns.run(key, work, () => undefined)
      },
    })
  }

  /** Takes time, so that a crash can come between a settlement and its receipt. */
  #signReceipt(claims: Omit<ReceiptClaims, 'iss'>, owner: Owner): Promise<string> {
    const { sim } = this.#options
    return new Promise((resolve, reject) => {
      const isFailed = sim.fault('receipt: no signature', 0.02)
      const receipt = writeUnsigned(claims, String(sim.random()))
      sim.after(sim.between(0, 5), () => (isFailed ? reject(new Error('no key')) : resolve(receipt)), owner)
    })
  }

  /** As by SIGKILL: all its work ends, and its writes in progress take effect or are lost. */
  crash(): void {
    if (!this.isUp) return
    const { sim, log } = this.#options
    sim.trace(this.name, () => 'CRASHES')
    this.#owner.alive = false
    log.crash(this.#owner)
    for (const answer of this.#waiting) sim.after(0, () => answer(undefined))
    this.#waiting.clear()
  }

  /** As by SIGTERM: refuses new requests and finishes open work, in the order of agent/service. */
  async stop(): Promise<void> {
    if (!this.isOpen) return
    const { sim, onStopped, onStuck } = this.#options
    const owner = this.#owner
    this.#isStopping = true
    this.#stopping.abort()
    sim.trace(this.name, () => 'stops')
    sim.after(STOP_MS_MAX, () => onStuck(owner), owner)
    await new Promise<void>((resolve) => void sim.after(sim.between(0, GRACE_MS_MAX), resolve, owner))
    await this.#reconciler?.stop()
    await this.#executor?.drain()
    sim.after(
      0,
      () => {
        sim.trace(this.name, () => 'has stopped')
        owner.alive = false
        onStopped(owner, this.#waiting.size)
        sim.after(sim.between(0, 30_000), () => this.start())
      },
      owner,
    )
  }

  get isClockBehind(): boolean {
    return this.#skew < 0
  }

  setClock(skew: number): void {
    this.#options.sim.trace(this.name, () => `sets its clock off by ${skew / 1000} s`)
    this.#skew = skew
  }

  /** Calls back with the outcome, or with undefined if the server crashes first. */
  ask({ operation, paymentHeaders }: Asked, answer: Answer): void {
    const owner = this.#owner
    if (!this.isOpen || !this.#executor) return answer(undefined)
    // Each request comes from another address, because buyers here repeat faster than a budget allows.
    this.#asked += 1
    const address = `client ${this.#asked}`
    const client = { prefixes: [address], budget: this.#budgets.enter(address), ...ALWAYS_OPEN }
    const order = { operation, paymentHeaders, client, resourceUrl: resourceUrl(BASE_URL, operation) }
    this.#waiting.add(answer)
    void this.#answerWith(answer, { owner, outcome: this.#executor.perform(order) })
  }

  async #answerWith(answer: Answer, { owner, outcome }: { owner: Owner; outcome: Promise<Outcome> }): Promise<void> {
    const done = await outcome
    if (owner.alive && this.#waiting.delete(answer)) answer(done)
  }
}
