/**
 * `bench soak [--log lmdb|postgres] [--minutes N] [--rows N]`: requests of every kind while registers are imported. In the
 * first half, nodes and PostgreSQL are killed in turn. In the second half nothing is killed, and the memory of each node is
 * checked. At the end every node replays every sale, and clients pipeline requests without reading the answers.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signPayment } from './load/sign.ts'
import type { Corpus } from './load/workloads.ts'
import { isLogKind, type LogKind } from './log-kind.ts'
import { openRemotes } from '../support/remotes/server.ts'
import { startSoakDatabase, type SoakDatabase } from './soak/database.ts'
import { importInTurn } from './soak/imports.ts'
import { killInTurn } from './soak/kills.ts'
import { Load } from './soak/load.ts'
import { heapFaults, sampleMemory } from './soak/memory.ts'
import type { SoakNode } from './soak/node.ts'
import { startNodes } from './soak/nodes.ts'
import { measureAllPipelining, pipeliningFaults } from './soak/pipelining.ts'
import { printReport, type SoakResult } from './soak/report.ts'
import { mixedRequests } from './soak/requests.ts'
import { Sales } from './soak/sales.ts'
import { makeRegister, SnapshotCheck, type Register } from './soak/snapshot-check.ts'

const MINUTES_DEFAULT = '10'
const ROWS_DEFAULT = '20000'
/** Some kills happen between a transfer and the reply of the facilitator. */
const SETTLE_MS_MAX = 10
/** Companies that the requests name. */
const COMPANIES_MAX = 300
const NODES: Record<LogKind, number> = { lmdb: 1, postgres: 2 }
/** Shares of the whole time. The heap check skips the first third of the second half, which has the last import. */
const IMPORTS = [1 / 12, 3 / 12, 5 / 12, 7 / 12]
/** In shorter runs, caches are still filling and one pause of the machine determines the p99 latency. */
const JUDGED_MINUTES_MIN = 3
/** This process requests the card at the start and the metadata during imports, and does not count these requests. */
const UNCOUNTED_PATHS = ['/.well-known/agent-card.json', '/api/v1/meta']

interface SoakOptions {
  log: LogKind
  minutes: number
  rows: number
}

export async function soak(options: Record<string, string>): Promise<boolean> {
  const { log = 'lmdb', minutes = MINUTES_DEFAULT, rows = ROWS_DEFAULT } = options
  if (!isLogKind(log)) {
    process.stdout.write('--log must be lmdb or postgres\n')
    return false
  }
  const directory = await mkdtemp(join(tmpdir(), 'soak-'))
  try {
    const result = await run(directory, { log, minutes: Number(minutes), rows: Number(rows) })
    printReport(result)
    return result.faults.size === 0
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function run(directory: string, options: SoakOptions): Promise<SoakResult> {
  const { log, minutes, rows } = options
  const faults = new Set<string>()
  const onFault = (fault: string) => void faults.add(fault)
  const registers = [
    await makeRegister(directory, { rows, seed: 1 }),
    await makeRegister(directory, { rows, seed: 2 }),
  ] as const
  const dataset = join(directory, 'register.zip')
  await copyFile(registers[0].archive, dataset)
  // In this process, so that the transfers survive every kill.
  await using remotes = await openRemotes({ unfinalBlocks: 0, settleMsMax: SETTLE_MS_MAX })
  await using database = log === 'postgres' ? await startSoakDatabase() : undefined
  const environment = { directory, dataset, responseLog: database?.url, remotes: remotes.url }
  await using nodes = await startNodes({ count: NODES[log], ...environment, onFault })

  const corpus = corpusOf(registers)
  const requests = mixedRequests(corpus, await extensionOf(nodes.all[0]))
  const sales = new Sales(onFault)
  const snapshots = new SnapshotCheck(registers, onFault)
  const load = new Load({ nodes: nodes.all, database, requests, sales, snapshots, onFault })
  const phases = await runPhases({ nodes: nodes.all, database, load, dataset, registers, options, onFault })

  for (const node of nodes.all) await node.scrape()
  const scrapes = nodes.all.flatMap((node) => node.scrapes)
  for (const fault of load.counts.compare(scrapes, UNCOUNTED_PATHS)) onFault(fault)
  for (const node of nodes.all) await sales.replay(node)
  sales.compare(remotes.ledger)
  const isJudged = minutes >= JUDGED_MINUTES_MIN
  const pipelining = await measureAllPipelining(nodes.all[0].server, {
    companyNumber: corpus.companyNumbers[0] ?? '',
    isShort: !isJudged,
  })
  for (const fault of pipeliningFaults(pipelining, isJudged)) onFault(fault)
  for (const fault of isJudged ? heapFaults(phases.memory) : []) onFault(fault)
  return { ...options, ...phases, ...countsOf(load, sales), processes: scrapes.length, pipelining, faults, isJudged }
}

interface PhasesOptions {
  nodes: readonly SoakNode[]
  database: SoakDatabase | undefined
  load: Load
  dataset: string
  registers: readonly [Register, Register]
  options: SoakOptions
  onFault: (fault: string) => void
}

/** The half with kills, then the half without. */
async function runPhases({ nodes, database, load, dataset, registers, options, onFault }: PhasesOptions) {
  const milliseconds = options.minutes * 60_000
  load.start()
  const importing = importInTurn({
    nodes,
    dataset,
    registers,
    times: IMPORTS.map((share) => share * milliseconds),
    onFault,
  })
  const kills = await killInTurn({ nodes, database, milliseconds: milliseconds / 2 })
  const memory = await sampleMemory(nodes, milliseconds / 2)
  const imports = await importing
  await load.stop()
  return { kills, imports, memory }
}

/** Companies of both registers, so that each can be bought at any time. */
function corpusOf([first, second]: readonly [Register, Register]): Corpus {
  const companyNumbers = [...first.names.keys()].filter((number) => second.names.has(number)).slice(0, COMPANIES_MAX)
  const names = companyNumbers.map((number) => first.names.get(number) ?? '').filter((name) => name.length > 4)
  return { companyNumbers, names, searchTexts: names, replayed: signPayment() }
}

async function extensionOf({ server }: SoakNode): Promise<string> {
  const card = (await (await fetch(`${server.url}/.well-known/agent-card.json`)).json()) as AgentCard
  return card.capabilities.extensions[0]?.uri ?? ''
}

interface AgentCard {
  capabilities: { extensions: { uri: string }[] }
}

function countsOf({ sent, repeats, counts }: Load, sales: Sales) {
  return { requests: sent, repeats, unknown: counts.unknownCount, sales: sales.count }
}
