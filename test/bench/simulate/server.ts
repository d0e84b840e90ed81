/** One server process of the simulation: the product's executor and reconciler with simulated externals. */
import { noJournal } from '../../support/journal.ts'
import { CompanyAgentExecutor } from '../../../agent/sale/agent-executor.ts'
import { AddressBudgets, ALWAYS_OPEN } from '../../../agent/sale/limits/address-budget.ts'
import { WorkQueue } from '../../../agent/sale/limits/work-queue.ts'
import { KeyedMutex } from '../../../agent/sale/limits/keyed-mutex.ts'
import { PayerReservations } from '../../../agent/sale/limits/payer-reservations.ts'
import { SalesLimit } from '../../../agent/sale/limits/sales-limit.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { resourceUrl } from '../../../agent/operation/resource.ts'
import type { Timer } from '../../../base/runtime.ts'
import { FacilitatorDoubts } from '../../../agent/settlement/doubts.ts'
import { RecentAttempts } from '../../../agent/settlement/recent-attempts.ts'
import { startReconciler } from '../../../agent/settlement/reconciler.ts'
import type { ReceiptClaims } from '../../../agent/payment/receipt/claims.ts'
import { writeUnsigned } from '../../support/unsigned-receipt.ts'
import { LogOwnership } from '../../../store/log/owner.ts'
import { datasetAt } from './dataset.ts'
import type { SimulatedFacilitator } from './facilitator.ts'
import type { Invariants } from './invariants.ts'
import type { SimulatedLog } from './log.ts'
import type { SimulatedNodes } from './node.ts'
import { lookupOf, TERMS, type Purchase } from './payment.ts'
import type { Owner, Simulator } from './simulator.ts'

const BASE_URL = 'http://127.0.0.1:4021'
/** Few, so that verifications wait for each other. */
const VERIFICATIONS_MAX = 4

interface ServerOptions {
  sim: Simulator
  nodes: SimulatedNodes
  facilitator: SimulatedFacilitator
  log: SimulatedLog
  invariants: Invariants
}

type Answer = (outcome: Outcome | undefined) => void

export class SimulatedServer {
  readonly name: string
  readonly #options: ServerOptions
  readonly #budgets: AddressBudgets
  #owner: Owner
  #executor: CompanyAgentExecutor | undefined
  readonly #waiting = new Set<Answer>()
  #asked = 0
  /** The error of its clock in milliseconds. */
  #skew = 0

  constructor(name: string, options: ServerOptions) {
    this.name = name
    this.#options = options
    this.#budgets = new AddressBudgets({ perMinute: 300, clock: () => options.sim.now })
    this.#owner = { name, alive: false }
    this.start()
  }

  get isUp(): boolean {
    return this.#owner.alive
  }

  start(): void {
    if (this.isUp) return
    const { sim, nodes, facilitator, invariants, log } = this.#options
    sim.trace(this.name, () => 'starts')
    const owner: Owner = { name: this.name, alive: true }
    this.#owner = owner
    const now = () => new Date(sim.now + this.#skew)
    const timer: Timer = (callback, milliseconds) => sim.after(milliseconds, callback, owner)
    const turns = new KeyedMutex()
    const opened = log.open(owner)
    const seller = {
      terms: TERMS,
      catalog: { current: () => datasetAt(sim.now), retrieval: () => datasetAt(sim.now) },
      journal: noJournal,
      services: {
        log: opened,
        ownership: new LogOwnership(),
        facilitator: facilitator.client(owner, invariants),
        chain: nodes.open(owner, now),
        recentAttempts: new RecentAttempts({ log: opened, monotonic: () => sim.now, timer }),
        doubts: new FacilitatorDoubts({ log: opened, monotonic: () => sim.now }),
        signReceipt: (claims: Omit<ReceiptClaims, 'iss'>) => this.#signReceipt(claims, owner),
        now,
        monotonic: () => sim.now,
        timer,
        report: () => undefined,
      },
      verifications: new WorkQueue(VERIFICATIONS_MAX),
      computations: new WorkQueue(1),
      sales: new SalesLimit({ perMinute: Infinity, clock: () => sim.now }),
      payers: new PayerReservations(),
      paymentMutex: turns,
      stopSignal: new AbortController().signal,
    }
    this.#executor = new CompanyAgentExecutor({ context: seller, baseUrl: BASE_URL, help: () => '' })
    startReconciler({
      services: seller.services,
      timer,
      // The same condition as in agent/service.
      runExclusively: async (key, work) => {
        if (turns.isHeld(key)) return
        using turn = await turns.enter(key)
        if (turn) await work()
      },
    })
  }

  /** Takes time, so that a crash can come between a settlement and its receipt. */
  #signReceipt(claims: Omit<ReceiptClaims, 'iss'>, owner: Owner): Promise<string> {
    const { sim } = this.#options
    const receipt = writeUnsigned(claims, String(sim.random()).slice(2))
    return new Promise((resolve) => void sim.after(sim.between(0, 5), () => resolve(receipt), owner))
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

  get isClockBehind(): boolean {
    return this.#skew < 0
  }

  setClock(skew: number): void {
    this.#options.sim.trace(this.name, () => `sets its clock off by ${skew / 1000} s`)
    this.#skew = skew
  }

  /** Calls back with the outcome, or with undefined if the server crashes first. */
  ask({ payment, number }: Purchase, answer: Answer): void {
    const owner = this.#owner
    if (!this.isUp || !this.#executor) return answer(undefined)
    // Each request comes from another address, because buyers here repeat faster than a budget allows.
    this.#asked += 1
    const address = `client ${this.#asked}`
    const client = { prefixes: [address], budget: this.#budgets.enter(address), ...ALWAYS_OPEN }
    const operation = lookupOf(number)
    const sale = { operation, paymentHeaders: [payment.header], client, resourceUrl: resourceUrl(BASE_URL, operation) }
    this.#waiting.add(answer)
    void this.#answerWith(answer, { owner, outcome: this.#executor.perform(sale) })
  }

  async #answerWith(answer: Answer, { owner, outcome }: { owner: Owner; outcome: Promise<Outcome> }): Promise<void> {
    const done = await outcome
    if (owner.alive && this.#waiting.delete(answer)) answer(done)
  }
}
