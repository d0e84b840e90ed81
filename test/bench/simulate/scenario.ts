/** What one run simulates: the chain and its nodes, the facilitator, one or two deployments, and the buyers. */
import type { LogKind } from '../log-kind.ts'
import { SimulatedBuyer } from './buyer.ts'
import { SimulatedChain } from './chain.ts'
import { SimulatedDeployment } from './deployment.ts'
import { SimulatedFacilitator } from './facilitator.ts'
import type { BrokenInvariant } from './invariants.ts'
import { SimulatedNodes } from './node.ts'
import type { SimulatedPayment } from './payment.ts'
import type { SimulatedServer } from './server.ts'
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

export interface Purchase {
  payment: SimulatedPayment
  numbers: string
}

export class Scenario {
  readonly sim: Simulator
  readonly chain: SimulatedChain
  readonly nodes: SimulatedNodes
  readonly facilitator: SimulatedFacilitator
  /** The deployment that the buyers use. */
  readonly main: SimulatedDeployment
  /** Another deployment with the same receiver and a log of its own, in some runs. */
  readonly other: SimulatedDeployment | undefined
  readonly deployments: readonly SimulatedDeployment[]
  readonly servers: readonly SimulatedServer[]
  readonly buyers: readonly SimulatedBuyer[]
  /** Payers whose payments the facilitator refuses. */
  readonly refusedPayers: ReadonlySet<string>
  /** Payments with the id of another payment. */
  readonly reusedIds: { buyer: SimulatedBuyer; payment: SimulatedPayment }[] = []
  /** Payments that were sent to the other deployment, by key. */
  readonly sentToOther = new Map<string, Purchase>()
  /**
   * Whether records are lost. Then no clock is behind, nodes follow no fork, no reply is of another chain, and the facilitator reports a used nonce first,
   * because these are the assumptions for a payment without a record (docs/reliability.md).
   */
  readonly losesRecords: boolean
  readonly faultPeriodMs: number
  readonly crashShare: number

  constructor(sim: Simulator, logKind: LogKind) {
    this.sim = sim
    const serverCount = sim.pick([1, 2, 2, 3])
    this.chain = new SimulatedChain(sim)
    this.nodes = new SimulatedNodes(sim, this.chain)
    const { from, to } = sim.pick(FAULT_PERIODS_MS)
    this.faultPeriodMs = sim.between(from, to)
    this.crashShare = sim.pick(CRASH_SHARES)
    const payers = Array.from({ length: sim.between(1, 4) }, (_, index) => `0x${String(index + 1).repeat(40)}`)
    this.refusedPayers = new Set(payers.filter(() => sim.chance(0.04)))
    for (const payer of payers) this.chain.balances.set(payer, sim.chance(0.1) ? 1_500n : 100_000n)
    this.losesRecords = sim.chance(0.2)
    this.nodes.mayMixChains = !this.losesRecords
    this.facilitator = new SimulatedFacilitator(sim, this.chain, {
      refusedPayers: this.refusedPayers,
      mayCheckBalanceFirst: !this.losesRecords,
    })
    const { chain, nodes, facilitator } = this
    const isShared = (key: string) => this.sentToOther.has(key)
    const options = { sim, logKind, chain, nodes, facilitator, isShared }
    const names = Array.from({ length: serverCount }, (_, index) => `server ${index + 1}`)
    this.main = new SimulatedDeployment({ ...options, servers: names })
    this.other = sim.chance(0.25) ? new SimulatedDeployment({ ...options, servers: ['other server'] }) : undefined
    this.deployments = this.other ? [this.main, this.other] : [this.main]
    this.servers = this.deployments.flatMap(({ servers }) => servers)
    const { servers, invariants } = this.main
    const startMsMax = Math.min(this.faultPeriodMs / 2, BUYER_STARTS_MS_MAX)
    this.buyers = payers.map((payer) => new SimulatedBuyer(payer, { sim, servers, invariants, startMsMax }))
  }

  /** The first broken invariant. */
  get broken(): BrokenInvariant | undefined {
    return this.deployments.map(({ invariants }) => invariants.broken).find(Boolean)
  }

  fail(invariant: string, detail: string): void {
    this.main.invariants.fail(invariant, detail)
  }

  /** Ends the process of a server at once and starts it again later. */
  crash(server: SimulatedServer): void {
    server.crash()
    this.sim.after(this.sim.between(0, RESTART_MS_MAX), () => server.start())
  }
}
