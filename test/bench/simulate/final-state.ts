/**
 * Checks after the recovery: every record is final, every buyer that can pay has a response and paid once, and each
 * retry agrees with the chain.
 */
import { renderOutcome } from '../../../agent/transport/http/response.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { describe, PAYMENTS_MAX, type SimulatedBuyer } from './buyer.ts'
import { short } from './chain.ts'
import { numberIn } from './invariants.ts'
import { PRICE, type Purchase } from './payment.ts'
import type { Scenario } from './scenario.ts'

/** The last retry of one payment must have its outcome within this time. */
const LAST_REPEAT_MS_MAX = 15 * 60_000
const MISLED_MS_MAX = 6 * 60_000
/** The pause before a request is repeated after 429 or 503. */
const REPEAT_MS = 5_000

/** Whether no transaction, record, server or buyer waits for anything. */
export function isAtRest(scenario: Scenario): boolean {
  const { chain, servers, buyers } = scenario
  return (
    chain.mempool.length === 0 &&
    unfinished(scenario).length === 0 &&
    servers.every(({ isUp }) => isUp) &&
    buyers.every((buyer) => isDone(scenario, buyer))
  )
}

/** The open records that can end. */
function unfinished(scenario: Scenario): string[] {
  return scenario.log.unfinished().filter((identity) => !hasBegunOnFork(scenario, identity))
}

function hasBegunOnFork({ log, nodes }: Scenario, identity: string | undefined): boolean {
  return identity !== undefined && nodes.hasBegunOnFork(log.store.records.get(identity))
}

/** Whether the buyer has its response or cannot buy. */
function isDone(scenario: Scenario, buyer: SimulatedBuyer): boolean {
  return (
    buyer.body !== undefined ||
    (!buyer.isWaiting && cannotBuy(scenario, buyer)) ||
    hasBegunOnFork(scenario, buyer.current?.identity)
  )
}

function cannotBuy({ chain }: Scenario, buyer: SimulatedBuyer): boolean {
  const { payer } = buyer
  return (chain.balances.get(payer) ?? 0n) < PRICE || buyer.signed.length >= PAYMENTS_MAX
}

export function checkFinalState(scenario: Scenario): void {
  const { log, invariants, buyers, facilitator, nodes } = scenario
  for (const identity of unfinished(scenario))
    invariants.fail('L1 a record never ends', `${short(identity)} is ${log.store.records.get(identity)?.state}`)
  for (const buyer of buyers) {
    if (!isDone(scenario, buyer)) invariants.fail('L2 a buyer never gets a response', short(buyer.payer))
    const isMisreported = buyer.signed.some(({ key }) => facilitator.hasMisreported(key))
    const paid = buyer.signed.filter(({ key }) => invariants.isPaid(key))
    if (paid.length > 1 && !isMisreported && !nodes.haveMisled)
      invariants.fail('I7 charged twice for one purchase', paid.map(({ key }) => short(key)).join(', '))
  }
}

/** Retries all payments, the oldest first. Every outcome must now agree with the chain. */
export async function retryAll(scenario: Scenario): Promise<void> {
  // The fork ends first, and a retry of an ended payment observes the chain only once a minute.
  if (scenario.nodes.haveMisled) await scenario.sim.run(MISLED_MS_MAX)
  for (const { signed, number } of scenario.buyers)
    for (const payment of signed)
      if (!hasBegunOnFork(scenario, payment.identity)) await retry(scenario, { payment, number })
}

async function retry(scenario: Scenario, { payment, number }: Purchase): Promise<void> {
  if (scenario.invariants.broken) return
  const { sim, log, invariants } = scenario
  const record = log.store.records.get(payment.identity)
  const bought = record ? numberIn(record.body) : number
  const end = sim.now + LAST_REPEAT_MS_MAX
  let last: Outcome | undefined
  while (sim.now < end && (!last || mayRepeat(last))) {
    if (last) await sim.run(REPEAT_MS)
    last = undefined
    scenario.ask({ payment, number: bought }, (outcome) => void (last = outcome))
    await sim.run(LAST_REPEAT_MS_MAX, () => last !== undefined || scenario.invariants.broken !== undefined)
    if (scenario.invariants.broken) return
    if (last) invariants.answered({ payment, number: bought }, last)
  }
  if (!last) return invariants.fail('L3 a request is never answered', short(payment.key))
  const outcome: Outcome = last
  sim.trace('at the end', () => `${describe(outcome)} to ${short(payment.key)}`)
  invariants.ended(payment, outcome)
}

/** After 429 and 503 a buyer repeats the request with the same payment. */
function mayRepeat(outcome: Outcome): boolean {
  return [429, 503].includes(renderOutcome(outcome).status)
}
