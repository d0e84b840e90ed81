/**
 * `bench soak [--log lmdb|postgres] [--minutes N] [--rows N]`: requests of every kind while registers are imported. In
 * the first half, nodes and PostgreSQL are killed in turn. In the second half nothing is killed, and the memory of each
 * node is checked. At the end every node replays every sale, and clients pipeline requests without reading the answers.
 */
import { copyFile, cp } from 'node:fs/promises'
import { join } from 'node:path'
import { generateKey } from '../../keys/generate.ts'
import { openRemotes } from '../support/remotes/server.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { signPayment } from './load/sign.ts'
import type { Corpus } from './load/workloads.ts'
import type { LogKind, Options } from './log-kind.ts'
import { describeMachine } from './machine.ts'
import { serviceEnvironment } from './perf/http-rounds.ts'
import { print } from './print.ts'
import { importInTurn, killInTurn, startSoakDatabase } from './soak/disturb.ts'
import { Load } from './soak/load.ts'
import {
  heapFaults,
  measureAllPipelining,
  memoryTable,
  pipeliningFaults,
  pipeliningTable,
  sampleMemory,
} from './soak/measure.ts'
import { SoakNode } from './soak/node.ts'
import { mixedRequests } from './soak/requests.ts'
import { Sales } from './soak/sales.ts'
import { readRegister, SnapshotCheck, type Register } from './soak/snapshot-check.ts'

/** Some kills happen between a transfer and the reply of the facilitator. */
const SETTLE_MS_MAX = 10
/** Companies that the requests name. */
const COMPANIES_MAX = 300
/** One node with a log in LMDB, or two that share a log in PostgreSQL. */
const NODES: Record<LogKind, number> = { lmdb: 1, postgres: 2 }
/** One base URL for all nodes and processes, because it is part of the answers. The port changes at each restart. */
const BASE_URL = 'http://127.0.0.1:4021'
/** Shares of the whole time. The heap check skips the first third of the second half, which has the last import. */
const IMPORTS = [1 / 12, 3 / 12, 5 / 12, 7 / 12]
/** In shorter runs, caches are still filling and one pause of the machine determines the p99 latency. */
const JUDGED_MINUTES_MIN = 3
const PIPELINING_SECONDS = 10
const PIPELINING_SECONDS_SHORT = 1
/** This process requests the card at the start and the metadata during imports, and does not count these requests. */
const UNCOUNTED_PATHS = ['/.well-known/agent-card.json', '/api/v1/meta']
const FAULTS_SHOWN = 30

export async function soak({ log = 'lmdb', minutes = '10', rows = '20000' }: Options): Promise<boolean> {
  const milliseconds = Number(minutes) * 60_000
  const isJudged = Number(minutes) >= JUDGED_MINUTES_MIN
  const faults = new Set<string>()
  const onFault = (fault: string) => void faults.add(fault)
  const directory = await makeTemporaryDirectory()
  const registers = [
    await readRegister(directory, Number(rows), 1),
    await readRegister(directory, Number(rows), 2),
  ] as const
  const dataset = join(directory, 'register.zip')
  await copyFile(registers[0].archive, dataset)
  // In this process, so that the transfers survive every kill.
  await using remotes = await openRemotes({ unfinalBlocks: 0, settleMsMax: SETTLE_MS_MAX })
  await using database = log === 'postgres' ? await startSoakDatabase() : undefined
  const environment = { dataset, remotes: remotes.url, responseLog: database?.url }
  const nodes = Array.from({ length: NODES[log] }, (_, index) =>
    makeNode(directory, { name: `node ${index + 1}`, environment, onFault }),
  )
  const [first] = nodes as [SoakNode]
  try {
    // All nodes get the same key, so none waits until the others publish its own.
    await generateKey({ directory: join(directory, 'keys'), now: Date.now })
    for (const { name } of nodes) await cp(join(directory, 'keys'), join(directory, name, 'keys'), { recursive: true })
    for (const node of nodes) await node.start()
    const corpus = corpusOf(registers)
    const sales = new Sales(onFault)
    const snapshots = new SnapshotCheck(registers, onFault)
    const requests = mixedRequests(corpus, await extensionOf(first))
    const load = new Load({ nodes, database, requests, sales, snapshots, onFault })

    load.start()
    const times = IMPORTS.map((share) => share * milliseconds)
    const importing = importInTurn(nodes, { dataset, registers, times, onFault })
    const kills = await killInTurn(nodes, database, milliseconds / 2)
    const memory = await sampleMemory(nodes, milliseconds / 2)
    await importing
    await load.stop()

    for (const node of nodes) await node.scrape()
    const scrapes = nodes.flatMap((node) => node.scrapes)
    for (const fault of load.counts.compare(scrapes, UNCOUNTED_PATHS)) onFault(fault)
    for (const node of nodes) await sales.replay(node)
    sales.compare(remotes.ledger)
    const seconds = isJudged ? PIPELINING_SECONDS : PIPELINING_SECONDS_SHORT
    const pipelining = await measureAllPipelining(first.server, corpus.companyNumbers[0] ?? '', seconds)
    for (const fault of pipeliningFaults(pipelining, isJudged)) onFault(fault)
    for (const fault of isJudged ? heapFaults(memory) : []) onFault(fault)

    print(`${describeMachine()}\n\n${memoryTable(memory)}\n\n${pipeliningTable(pipelining)}\n`)
    for (const fault of [...faults].slice(0, FAULTS_SHOWN)) print(`FAULT ${fault}`)
    const killed = [...kills].map(([name, count]) => `${name} ${count} times`).join(', ')
    print(
      `log ${log}: ${load.sent} requests, ${load.repeats} of them repeated, ${load.counts.unknownCount} with unknown outcome; ` +
        `${sales.count} sales; ${IMPORTS.length} imports; killed: ${killed}; metrics of ${scrapes.length} processes; ` +
        `${faults.size} faults${isJudged ? '' : '; heap and latency not judged in a short run'}`,
    )
    return faults.size === 0
  } finally {
    for (const node of nodes) await node[Symbol.asyncDispose]()
  }
}

interface NodeOptions {
  name: string
  environment: { dataset: string; remotes: string; responseLog: string | undefined }
  onFault: (fault: string) => void
}

function makeNode(directory: string, { name, environment, onFault }: NodeOptions): SoakNode {
  const { dataset, remotes, responseLog } = environment
  return new SoakNode({
    name,
    environment: {
      ...serviceEnvironment(join(directory, name), { dataset, remotes }),
      ...(responseLog !== undefined && { RESPONSE_LOG: responseLog }),
      BASE_URL,
    },
    onExit: (stderr) => onFault(`${name} exited without a kill: ${stderr}`),
  })
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
