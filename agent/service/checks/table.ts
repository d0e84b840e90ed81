/**
 * The table of checks: what "works" means. From it come the lines of `check`, the refusal of a start, `/readyz` and the
 * gauges of the alerts. docs/operations.md has the same table, with what each check proves and what to do.
 */
import { checkDataset, checkJournal, checkNameIndex, checkRetrieval, checkSnapshot } from './dataset.ts'
import { checkFacilitators } from './facilitators.ts'
import { checkDataDirectory, checkDisk, checkProxies, checkReceiver } from './machine.ts'
import { checkChain, checkClock, checkNodes, checkRelayer, checkToken } from './nodes.ts'
import { checkBackup, checkKeys, checkResponseLog, checkSettlements, checkUnrecorded } from './storage.ts'
import { failed, passed, type Finding, type Running, type Subject } from './subject.ts'

export type Severity = 'critical' | 'warning'
/**
 * `start`: a failure refuses the start. `unready`: it makes `/readyz` false. `critical` and `warning`: it alerts.
 * `shown`: `check` has a line of it.
 */
export type Column = 'start' | 'unready' | Severity | 'shown'

export interface Check {
  columns: readonly Column[]
  /** A running service measures it at most so often. Absent if it does not. */
  everySeconds?: number
  /** Absent if only the command `check` can. */
  measure?: (subject: Subject) => Finding[] | Promise<Finding[]>
}

/** For what this process knows, or reads at once. */
const SOON = { everySeconds: 10 }
/** For what calls a remote service or reads several records. */
const LATER = { everySeconds: 60 }

/** In the order in which `check` prints them. */
export const CHECKS = {
  variables: { columns: ['start', 'shown'] },
  'data directory': { columns: ['start', 'shown'], measure: checkDataDirectory },
  'response log': { columns: ['start', 'unready', 'critical', 'shown'], ...SOON, measure: checkResponseLog },
  keys: { columns: ['start', 'unready', 'critical', 'shown'], ...SOON, measure: checkKeys },
  disk: { columns: ['unready', 'critical', 'warning', 'shown'], ...SOON, measure: checkDisk },
  receiver: { columns: ['shown'], measure: checkReceiver },
  proxies: { columns: ['shown'], measure: checkProxies },
  chain: { columns: ['unready', 'critical'], ...SOON, measure: checkChain },
  node: { columns: ['warning', 'shown'], ...LATER, measure: checkNodes },
  clock: { columns: ['unready', 'critical', 'shown'], ...SOON, measure: checkClock },
  token: { columns: ['critical', 'shown'], ...LATER, measure: checkToken },
  relayer: { columns: ['critical', 'warning', 'shown'], ...LATER, measure: checkRelayer },
  facilitator: { columns: ['critical', 'warning', 'shown'], ...LATER, measure: checkFacilitators },
  dataset: { columns: ['unready', 'critical', 'warning', 'shown'], ...SOON, measure: checkDataset },
  retrieval: { columns: ['warning', 'shown'], ...SOON, measure: checkRetrieval },
  snapshot: { columns: ['unready', 'critical', 'shown'], ...LATER, measure: checkSnapshot },
  'name index': { columns: ['unready', 'critical', 'shown'], ...LATER, measure: checkNameIndex },
  journal: { columns: ['unready', 'critical', 'shown'], ...LATER, measure: checkJournal },
  sales: { columns: ['critical'], ...SOON, measure: failsIf((running) => running.areSalesFailing()) },
  settlements: { columns: ['critical'], ...SOON, measure: checkSettlements },
  payments: { columns: ['critical'], ...SOON, measure: failsIf(({ reconciler }) => reconciler?.hasUnexplained()) },
  'open payments': { columns: ['warning'], ...SOON, measure: failsIf(({ reconciler }) => reconciler?.hasOld()) },
  records: { columns: ['critical'], ...SOON, measure: failsIf(({ reconciler }) => reconciler?.hasDamaged()) },
  unrecorded: { columns: ['warning', 'shown'], ...LATER, measure: checkUnrecorded },
  backup: { columns: ['warning', 'shown'], ...LATER, measure: checkBackup },
  'log lines': { columns: ['warning'], ...SOON, measure: failsIf((running) => running.areLogLinesLost()) },
  running: { columns: ['unready'], ...SOON, measure: failsIf((running) => !running.isOpen()) },
  'base URL': { columns: ['shown'] },
  documents: { columns: ['shown'] },
  'agent card': { columns: ['shown'] },
} as const satisfies Record<string, Check>

export type CheckName = keyof typeof CHECKS

export const checkOf = (name: CheckName): Check => CHECKS[name]

/** The checks with this column, in their order. */
export const checksWith = (column: Column): CheckName[] =>
  (Object.keys(CHECKS) as CheckName[]).filter((name) => checkOf(name).columns.includes(column))

/** What only the running service knows. The log has the details. */
function failsIf(fails: (running: Running) => boolean | undefined) {
  return ({ running }: Subject) => (running && fails(running) === true ? failed('see the log') : passed(''))
}
