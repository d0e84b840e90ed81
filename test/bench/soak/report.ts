/** Prints the result of a soak. */
import type { PipeliningResult } from '../load/pipelining.ts'
import type { LogKind } from '../log-kind.ts'
import { describeMachine } from '../machine.ts'
import { markdown } from '../markdown.ts'
import type { NodeMemory } from './memory.ts'

export interface SoakResult {
  log: LogKind
  requests: number
  /** Repetitions of sales among the requests. */
  repeats: number
  /** Requests that ended between a scrape and the kill after it, or were lost by the kill. */
  unknown: number
  sales: number
  imports: number
  /** Processes whose metrics were added. */
  processes: number
  kills: ReadonlyMap<string, number>
  memory: readonly NodeMemory[]
  pipelining: readonly PipeliningResult[]
  faults: ReadonlySet<string>
  /** Whether memory and latency were judged. */
  isJudged: boolean
}

const FAULTS_SHOWN = 30

const print = (line: string) => void process.stdout.write(`${line}\n`)

export function printReport(result: SoakResult): void {
  const { memory, pipelining, faults, isJudged } = result
  print(`${describeMachine()}\n`)
  const rows = memory.flatMap(({ node, heap, anonymous }) => [
    [`${node}, heap`, ...heap.map((value) => value.toFixed(1))],
    [`${node}, anonymous`, ...anonymous.map((value) => value.toFixed(1))],
  ])
  print(`${markdown(['without kills, MiB', 'first third', 'middle third', 'last third'], rows)}\n`)
  const headings = ['pipelining clients', 'p99 of another client, ms', 'anonymous memory, MiB']
  const lines = pipelining.map(({ connections, p99, anonymousMiB }) => {
    return [String(connections), p99.toFixed(1), anonymousMiB.toFixed(0)]
  })
  print(`${markdown(headings, lines)}\n`)
  for (const fault of [...faults].slice(0, FAULTS_SHOWN)) print(`FAULT ${fault}`)
  print(`${summary(result)}${isJudged ? '' : '; heap and latency not judged in a short run'}`)
}

function summary(result: SoakResult): string {
  const { log, requests, repeats, unknown, sales, imports, processes, kills, faults } = result
  const killed = [...kills].map(([name, count]) => `${name} ${count} times`).join(', ')
  return (
    `log ${log}: ${requests} requests, ${repeats} of them repeated, ${unknown} with unknown outcome; ${sales} sales; ` +
    `${imports} imports; killed: ${killed}; metrics of ${processes} processes; ` +
    `${faults.size} faults`
  )
}
