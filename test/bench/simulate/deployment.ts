/** One deployment: servers that share a response log, a dataset and a limit of sales, and the invariants of their sales. */
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { SimulatedCatalog } from './catalog.ts'
import type { SimulatedChain } from './chain.ts'
import type { SimulatedFacilitator } from './facilitator.ts'
import { Invariants } from './invariants.ts'
import { SimulatedDatabase } from './database.ts'
import { SimulatedLog, type StoredRecords } from './log.ts'
import type { LogKind } from '../log-kind.ts'
import type { SimulatedNodes } from './node.ts'
import { operationFor } from './payment.ts'
import { SimulatedServer } from './server.ts'
import type { Owner, Simulator } from './simulator.ts'

interface DeploymentOptions {
  sim: Simulator
  logKind: LogKind
  chain: SimulatedChain
  nodes: SimulatedNodes
  facilitator: SimulatedFacilitator
  /** The names of its servers. */
  servers: readonly string[]
  /** Whether a payment was also sent to another deployment with the same receiver. */
  isShared: (key: string) => boolean
}

export class SimulatedDeployment {
  readonly #sim: Simulator
  readonly log: StoredRecords
  readonly catalog: SimulatedCatalog
  readonly servers: readonly SimulatedServer[]
  readonly invariants: Invariants

  constructor({ sim, logKind, chain, nodes, facilitator, servers, isShared }: DeploymentOptions) {
    this.#sim = sim
    this.log = logKind === 'postgres' ? new SimulatedDatabase(sim) : new SimulatedLog(sim)
    this.catalog = new SimulatedCatalog(sim)
    const { log, catalog } = this
    const invariants = new Invariants({ sim, chain, facilitator, log, isShared })
    this.invariants = invariants
    const options = {
      sim,
      nodes,
      facilitator,
      settlements: invariants,
      log,
      catalog,
      onReport: (line: string) => invariants.reported(line),
      onStopped: (owner: Owner, unanswered: number) => invariants.stopped(owner, unanswered),
      onStuck: ({ name }: Owner) => invariants.fail('L4 a stop never ends', name),
    }
    this.servers = servers.map((name) => new SimulatedServer(name, options))
  }

  /** Sends a lookup or a batch to one of the servers. `onAnswer` is not called if the server is down or crashes first. */
  ask(numbers: string, paymentHeaders: string[], onAnswer: (outcome: Outcome) => void): void {
    this.#sim.pick(this.servers).ask({ operation: operationFor(numbers), paymentHeaders }, (outcome) => {
      if (outcome) onAnswer(outcome)
    })
  }
}
