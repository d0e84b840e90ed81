/**
 * `bench race [--seconds N] [--log lmdb|postgres]`: processes claim and advance the same records of one real response
 * log, and contend for payment ids. Each is killed (SIGKILL) at random times and restarted, as is the server of
 * PostgreSQL. At the end the log must hold every acknowledged change once. The simulation replaces this log by a model.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openConfiguredLog } from '../../agent/service/response-log.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { startDatabase, type LogKind, type Options } from './log-kind.ts'
import { print } from './print.ts'
import { checkLog, type Acknowledged } from './race/check-log.ts'

const SECONDS_DEFAULT = '10'
const WORKERS = 3
/** From the start of the race, or for a restarted process from the time at which it has opened the log. */
const LIFETIME_MS = { min: 500, max: 3_000 }
/** The server of PostgreSQL runs for this long between two kills. Its recovery takes about a second. */
const SERVER_LIFETIME_MS = { min: 2_000, max: 6_000 }
/** Longer than the last batch of calls can take. A process that runs longer is stuck. */
const GRACE_MS = 20_000
const FAULTS_SHOWN = 20

/** Milliseconds since the epoch. */
export interface RaceTimes {
  began: number
  ends: number
}

export async function race(options: Options): Promise<boolean> {
  const { seconds = SECONDS_DEFAULT, log = 'lmdb' } = options
  const { kills, acknowledged, faults } = await runRace(log, Number(seconds))
  const countOf = (kind: Acknowledged['kind']) => acknowledged.filter((each) => each.kind === kind).length
  print(`${countOf('claimed')} claims granted, ${countOf('held')} refused, ${countOf('advanced')} changes made`)
  for (const fault of faults.slice(0, FAULTS_SHOWN)) print(`  ${fault}`)
  print(`${WORKERS} processes on one response log for ${seconds} s, ${kills} kills, ${faults.length} faults`)
  return faults.length === 0 && kills > 0 && countOf('advanced') > 0
}

async function runRace(kind: LogKind, seconds: number) {
  const directory = await makeTemporaryDirectory()
  await using database = kind === 'postgres' ? await startDatabase() : undefined
  const start = startBarrier(seconds)
  const killing = database && start.times.then(({ ends }) => killServer(database.server, ends))
  const environment = { directory, responseLog: database?.url, start }
  const runs = await Promise.all(Array.from({ length: WORKERS }, (_, worker) => run({ ...environment, worker })))
  const serverKills = (await killing) ?? 0
  const acknowledged = await readAll(directory)
  const log = await openConfiguredLog({ config: { dataDirectory: directory, responseLog: database?.url } })
  try {
    const faults = [...runs.flatMap((each) => each.faults), ...(await checkLog(log, acknowledged))]
    return { kills: runs.reduce((sum, each) => sum + each.kills, serverKills), acknowledged, faults }
  } finally {
    await log.close()
  }
}

async function killServer(server: PostgresServer, ends: number): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    const lifetime = within(SERVER_LIFETIME_MS)
    if (Date.now() + lifetime > ends) return kills
    await sleep(lifetime)
    await server.kill()
    await server.start()
  }
}

const within = ({ min, max }: { min: number; max: number }) => min + Math.random() * (max - min)

/** Starts the race when all processes have opened the log, so a slow start does not shorten it. */
function startBarrier(seconds: number) {
  let missing = WORKERS
  let start: (times: RaceTimes) => void = () => undefined
  const times = new Promise<RaceTimes>((resolve) => (start = resolve))
  const arrive = () => {
    missing -= 1
    if (missing === 0) start({ began: Date.now(), ends: Date.now() + seconds * 1000 })
    return times
  }
  return { times, arrive }
}

interface Run {
  directory: string
  responseLog: string | undefined
  worker: number
  start: ReturnType<typeof startBarrier>
}

/** Restarts the process after each kill, until the race is over or a process fails. */
async function run({ directory, responseLog, worker, start }: Run): Promise<{ kills: number; faults: string[] }> {
  const program = fileURLToPath(import.meta.resolve('#root/dist/test/programs/race-writer.js'))
  for (let kills = 0; ; kills += 1) {
    const path = join(directory, `${worker}-${kills}.jsonl`)
    const args = [directory, path, ...(responseLog === undefined ? [] : [responseLog])]
    const child = fork(program, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    let said = ''
    child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const isOver = () => ended.then(() => true)
    await Promise.race([once(child, 'message'), isOver()])
    const times = await start.arrive()
    const { ends } = times
    if (child.connected) child.send(times)
    const lifetime = within(LIFETIME_MS)
    const mustKill = !(await Promise.race([isOver(), sleep(lifetime, false, { ref: false })])) && Date.now() < ends
    const isStuck =
      !mustKill && !(await Promise.race([isOver(), sleep(ends + GRACE_MS - Date.now(), false, { ref: false })]))
    if (mustKill || isStuck) child.kill('SIGKILL')
    const [code, signal] = await ended
    if (isStuck) return { kills, faults: ['a process does not exit'] }
    const isInOrder = code === 0 || (mustKill && signal === 'SIGKILL')
    if (!isInOrder) return { kills, faults: [`a process exited with ${signal ?? code}: ${errorIn(said)}`] }
    if (!mustKill) return { kills, faults: [] }
  }
}

const errorIn = (text: string) => text.split('\n').find((line) => line.includes('Error')) ?? ''

async function readAll(directory: string): Promise<Acknowledged[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.jsonl'))
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')))
  return texts.flatMap((text) => {
    // A kill may cut the last line short.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
    return lines.filter(Boolean).map((line) => JSON.parse(line) as Acknowledged)
  })
}
