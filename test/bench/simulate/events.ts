/** Random events during the period with faults: clocks, the chain, payers, third parties and the operator. */
import { describe } from './buyer.ts'
import { NUMBERS } from './catalog.ts'
import { short } from './chain.ts'
import { transferOf } from './facilitator.ts'
import { newNonce, paymentOf, TERMS } from './payment.ts'
import type { Purchase, Scenario } from './scenario.ts'
import { DAY_MS } from './simulator.ts'

/** The longest time between two events. */
const INTERVAL_MS_MAX = 4_000
/** A clock that is wrong by weeks is right again after at most this time. Its server sells nothing meanwhile. */
const WEEKS_OFF_MS_MAX = 60_000
/** If a record is lost, its buyer waits at most this long before it repeats the request. */
const REPEAT_LOST_MS_MAX = 30_000
/** For one run. Each of these payments is retried at the end, which takes time. */
const REUSED_IDS_MAX = 3

type RandomEvent = (scenario: Scenario) => void

const EVENTS: readonly RandomEvent[] = [
  ({ catalog }) => catalog.change(),
  setClock,
  misuse,
  preempt,
  preempt,
  spendElsewhere,
  askUnpaid,
  reuseId,
  stopServer,
  changeChain,
  loseRecord,
]

/** Schedules events until the faults end. */
export function scheduleEvents(scenario: Scenario): void {
  const { sim } = scenario
  sim.after(sim.between(0, INTERVAL_MS_MAX), () => {
    if (!sim.injectsFaults) return
    sim.pick(EVENTS)(scenario)
    scheduleEvents(scenario)
  })
}

function setClock({ sim, servers, facilitator, losesRecords }: Scenario): void {
  const server = sim.pick(servers)
  const sign = losesRecords ? 1 : sim.pick([1, -1])
  if (sim.fault('a clock jumps by weeks', 0.1)) {
    server.setClock(sim.pick([31, 40]) * DAY_MS * sign)
    sim.after(sim.between(0, WEEKS_OFF_MS_MAX), () => server.setClock(0))
  } else if (sim.fault('a clock jumps', 0.4)) {
    server.setClock(sim.pick([0, 5_000, 60_000, 600_000]) * sign)
  }
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

/** Sends a recorded payment again: forged, changed, or for another company. */
function misuse(scenario: Scenario): void {
  const { sim, buyers, log, invariants } = scenario
  const buyer = sim.pick(buyers)
  const payment = buyer.current
  if (!payment || !log.records.has(payment.identity)) return
  const { authorization } = payment
  const fields = {
    from: authorization.from,
    nonce: authorization.nonce,
    validBefore: Number(authorization.validBefore),
    numbers: buyer.numbers,
  }
  const reversed = buyer.numbers.split(' ').toReversed().join(' ')
  const other = [reversed, ...NUMBERS].find((numbers) => numbers !== buyer.numbers) as string
  const [header, numbers] = sim.pick([
    [paymentOf({ ...fields, isForged: true }).header, buyer.numbers],
    [paymentOf({ ...fields, remark: 'another' }).header, buyer.numbers],
    [payment.header, other],
  ] as const)
  sim.count('fault a payment is misused')
  scenario.ask(numbers, [header], (outcome) => invariants.answered({ payment, isMisuse: true, numbers }, outcome))
}

/** Another payment with the same payment id. It may buy only once the first payment is void. */
function reuseId(scenario: Scenario): void {
  const { sim, buyers, log, invariants, reusedIds } = scenario
  const buyer = sim.pick(buyers)
  const { current: first, numbers } = buyer
  if (first?.id === undefined || !log.records.has(first.identity) || reusedIds.length >= REUSED_IDS_MAX) return
  const validBefore = Number(first.authorization.validBefore)
  const payment = paymentOf({ from: buyer.payer, nonce: newNonce(sim.random), validBefore, id: first.id, numbers })
  reusedIds.push({ buyer, payment })
  sim.count('fault a payment id is used for another payment')
  sim.trace(buyer.payer.slice(0, 4), () => `signs ${short(payment.key)} with the id of ${short(first.key)}`)
  scenario.ask(numbers, [payment.header], (outcome) =>
    invariants.answered({ payment, isMisuse: invariants.isHeldBy(first.identity), numbers }, outcome),
  )
}

function askUnpaid(scenario: Scenario): void {
  const numbers = scenario.sim.pick(NUMBERS)
  scenario.ask(numbers, [], (outcome) =>
    scenario.invariants.answered({ payment: undefined, isMisuse: false, numbers }, outcome),
  )
}

function stopServer({ sim, servers }: Scenario): void {
  if (!sim.fault('a server stops gracefully', 0.3)) return
  void sim.pick(servers).stop()
}

function changeChain({ sim, nodes, facilitator, losesRecords }: Scenario): void {
  if (sim.chance(0.3)) nodes.change({ mayFork: !losesRecords })
  facilitator.wereRefusalsUncheckable ||= nodes.isFork
}

/** Restores the log from a copy without a confirmed record. The buyer repeats its request, also after `validBefore`. */
function loseRecord(scenario: Scenario): void {
  const { sim, buyers, log, servers, invariants, losesRecords } = scenario
  if (!losesRecords) return
  const buyer = sim.pick(buyers)
  const payment = buyer.signed.find(({ identity }) => log.records.get(identity)?.state === 'confirmed')
  if (!payment) return
  sim.count('fault a record is lost')
  for (const server of servers) if (server.isUp) scenario.crash(server)
  log.lose(payment.identity)
  invariants.lost(payment.identity)
  repeat(scenario, { payment, numbers: buyer.numbers })
}

function repeat(scenario: Scenario, purchase: Purchase): void {
  const { sim, invariants } = scenario
  const { payment, numbers } = purchase
  sim.after(sim.between(0, REPEAT_LOST_MS_MAX), () => {
    if (!sim.injectsFaults) return
    scenario.ask(numbers, [payment.header], (outcome) => {
      sim.count(`answer without a record: ${describe(outcome)}`)
      invariants.answered({ payment, isMisuse: false, numbers }, outcome)
    })
    repeat(scenario, purchase)
  })
}
