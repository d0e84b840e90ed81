/**
 * What one run simulates: the chain and its nodes, the facilitator, servers that share a log and a dataset, and the
 * buyers.
 */
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { SimulatedBuyer } from './buyer.ts'
import { SimulatedChain } from './chain.ts'
import { SimulatedFacilitator } from './facilitator.ts'
import { Invariants } from './invariants.ts'
import { SimulatedLog } from './log.ts'
import { SimulatedNodes } from './node.ts'
import type { Purchase } from './payment.ts'
import { SimulatedServer } from './server.ts'
import type { Simulator } from './simulator.ts'

/** How long faults are injected. Most runs are short, because most kinds of faults occur within the first minute. */
const FAULT_PERIODS_MS = [
  { from: 10_000, to: 40_000 },
  { from: 10_000, to: 40_000 },
  { from: 10_000, to: 40_000 },
  { from: 10_000, to: 40_000 },
  { from: 40_000, to: 120_000 },
  { from: 120_000, to: 400_000 },
]
/** The share of the steps that end a process or the machine. Each run has one of them. */
const CRASH_SHARES = [0, 0.003, 0.02]
const BUYER_STARTS_MS_MAX = 60_000
/** A process starts again at most this long after a crash. */
const RESTART_MS_MAX = 30_000

export class Scenario {
  readonly sim: Simulator
  readonly chain: SimulatedChain
  readonly nodes: SimulatedNodes
  readonly facilitator: SimulatedFacilitator
  readonly log: SimulatedLog
  readonly invariants: Invariants
  readonly servers: readonly SimulatedServer[]
  readonly buyers: readonly SimulatedBuyer[]
  readonly faultPeriodMs: number
  readonly crashShare: number

  constructor(sim: Simulator) {
    this.sim = sim
    const serverCount = sim.pick([1, 2, 2, 3])
    this.chain = new SimulatedChain(sim)
    this.nodes = new SimulatedNodes(sim, this.chain)
    const { from, to } = sim.pick(FAULT_PERIODS_MS)
    this.faultPeriodMs = sim.between(from, to)
    this.crashShare = sim.pick(CRASH_SHARES)
    const payers = Array.from({ length: sim.between(1, 4) }, (_, index) => `0x${String(index + 1).repeat(40)}`)
    for (const payer of payers) this.chain.balances.set(payer, sim.chance(0.1) ? 1_500n : 100_000n)
    this.facilitator = new SimulatedFacilitator(sim, this.chain)
    this.log = new SimulatedLog(sim)
    this.invariants = new Invariants(this)
    const { invariants } = this
    const servers = Array.from({ length: serverCount }, (_, index) => new SimulatedServer(`server ${index + 1}`, this))
    this.servers = servers
    const startMsMax = Math.min(this.faultPeriodMs / 2, BUYER_STARTS_MS_MAX)
    this.buyers = payers.map((payer) => new SimulatedBuyer(payer, { sim, servers, invariants, startMsMax }))
  }

  /** Sends a lookup to one of the servers. `onAnswer` is not called if the server is down or crashes first. */
  ask(purchase: Purchase, onAnswer: (outcome: Outcome) => void): void {
    this.sim.pick(this.servers).ask(purchase, (outcome) => {
      if (outcome) onAnswer(outcome)
    })
  }

  /** Ends the process of a server at once and starts it again later. */
  crash(server: SimulatedServer): void {
    server.crash()
    this.sim.after(this.sim.between(0, RESTART_MS_MAX), () => server.start())
  }
}
