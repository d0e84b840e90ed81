/** Random events during the period with faults: clocks, the chain, payers and third parties. */
import { transferOf } from './facilitator.ts'
import { TERMS } from './payment.ts'
import type { Scenario } from './scenario.ts'

/** The longest time between two events. */
const INTERVAL_MS_MAX = 4_000
type RandomEvent = (scenario: Scenario) => void

const EVENTS: readonly RandomEvent[] = [setClock, preempt, preempt, spendElsewhere, fork]

/** Schedules events until the faults end. */
export function scheduleEvents(scenario: Scenario): void {
  const { sim } = scenario
  sim.after(sim.between(0, INTERVAL_MS_MAX), () => {
    if (!sim.injectsFaults) return
    sim.pick(EVENTS)(scenario)
    scheduleEvents(scenario)
  })
}

function setClock({ sim, servers, facilitator }: Scenario): void {
  const server = sim.pick(servers)
  if (sim.fault('a clock jumps', 0.4)) server.setClock(sim.pick([0, 5_000, 60_000, 600_000]) * sim.pick([1, -1]))
  facilitator.wereRefusalsUncheckable ||= server.isClockBehind
}

/** A third party sends the authorization that it sees in the mempool. */
function preempt({ sim, chain }: Scenario): void {
  const seen = chain.mempool.find(({ to }) => to === TERMS.payTo)
  if (!seen || !sim.fault('a third party is faster', 1)) return
  chain.mempool.unshift({ ...seen, hash: chain.hash() })
}

/** The payer uses the nonce for another transfer, for a smaller one, or cancels it. */
function spendElsewhere({ sim, buyers, chain }: Scenario): void {
  if (!sim.chance(0.2)) return
  const buyer = sim.pick(buyers)
  const payment = buyer.current
  if (!payment) return
  const transfer = transferOf(payment.key, payment.authorization, chain.hash())
  const kind = sim.pick(['burns', 'underpays', 'cancels'] as const)
  sim.count(`fault the payer ${kind} the nonce`)
  const changes = {
    burns: { to: buyer.payer },
    underpays: { value: 1n },
    cancels: { kind: 'cancel', to: buyer.payer } as const,
  }
  chain.broadcast({ ...transfer, ...changes[kind] })
}

function fork({ sim, nodes, facilitator }: Scenario): void {
  if (!sim.chance(0.3)) return
  nodes.fork()
  facilitator.wereRefusalsUncheckable = true
}
