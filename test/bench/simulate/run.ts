/** One run of the simulation: a period with faults, recovery without them, and a last retry of every payment. */
import { scheduleEvents } from './events.ts'
import { checkFinalState, isAtRest, retryAll } from './final-state.ts'
import { Simulator } from './simulator.ts'
import { Scenario } from './scenario.ts'

/** Long enough for every authorization to expire, for its block to be final, and for the reconciler's longest wait. */
const RECOVERY_MS_MAX = 45 * 60_000

/** `isTraced`: whether the lines of the result say what happens. */
export async function run(seed: number, seen: Map<string, number>, isTraced = false) {
  const sim = new Simulator({ seed, seen, isTraced })
  const scenario = new Scenario(sim)
  try {
    await execute(scenario)
  } catch (cause) {
    scenario.invariants.fail('the simulation itself', String((cause as Error).stack))
  }
  const { broken } = scenario.invariants
  if (broken) sim.lines.push(`BROKEN ${broken.invariant}: ${broken.detail}`)
  return { broken, steps: sim.steps, lines: sim.lines }
}

async function execute(scenario: Scenario): Promise<void> {
  const { sim } = scenario
  const isBroken = () => scenario.invariants.broken !== undefined
  sim.check = () => crashAtRandom(scenario)
  scheduleEvents(scenario)
  await sim.run(scenario.faultPeriodMs, isBroken)
  if (isBroken()) return
  stopFaults(scenario)
  await sim.run(RECOVERY_MS_MAX, () => isBroken() || (sim.steps % 8 === 0 && isAtRest(scenario)))
  if (isBroken()) return
  checkFinalState(scenario)
  if (isBroken()) return
  await retryAll(scenario)
}

/** Crashes happen at steps and not at times, so that they interrupt work in progress. */
function crashAtRandom(scenario: Scenario): void {
  const { sim, servers, crashShare } = scenario
  if (!sim.injectsFaults || !sim.last?.alive || crashShare === 0) return
  if (!sim.chance(crashShare)) return
  const isMachine = sim.chance(0.1)
  sim.count(isMachine ? 'fault crash: of the machine' : 'fault crash: of a process')
  for (const server of servers) if (isMachine || server.name === sim.last.name) scenario.crash(server)
}

function stopFaults({ sim, nodes, servers, buyers }: Scenario): void {
  sim.injectsFaults = false
  sim.trace('simulator', () => 'FAULTS END')
  if (!nodes.haveMisled) nodes.restore()
  for (const server of servers) {
    server.setClock(0)
    server.start()
  }
  for (const buyer of buyers) sim.after(sim.between(0, 10_000), () => buyer.go())
}
