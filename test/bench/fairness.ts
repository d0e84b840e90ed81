/**
 * `bench fairness`: attackers that pay nothing, or for one answer, from 1, 50 and 2,300 addresses, beside clients with
 * other addresses, in one attack with the same. No request of these other clients may be refused or reset. The service
 * is the command `serve`, whose log nobody reads; facilitator and node are in another process, and the node answers
 * after 200 ms. The attackers are in a third, because they would delay the clock of the other clients. All traffic is
 * on loopback addresses, and bounded in number and time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { REGISTER } from '../support/fixtures.ts'
import { freePort } from '../support/listen.ts'
import { header, signedPayment } from '../support/payments.ts'
import type { AttackFacts } from '../programs/attackers.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { ATTACK_NAMES, type AttackName } from './fairness/attacks.ts'
import {
  AddressedClient,
  get,
  LOOKUP,
  lookupOverA2a,
  lookupOverMcp,
  type Reply,
  type Sent,
} from './fairness/clients.ts'
import {
  nextMessage,
  residentMemory,
  SERVICE_FLAGS,
  startProgram,
  startRemotes,
  startServer,
  testProgram,
  type ServerProcess,
} from './load/server-process.ts'
import { startDatabase } from './database.ts'
import { BUDGET_UNITS_MIN, REQUESTS_IN_PROGRESS_MAX } from '../../agent/sale/limits/address-budget.ts'
import { remotesEnvironment } from '../support/remotes/server.ts'
import { quantile } from './statistics.ts'
import { markdown, print } from './report.ts'

const NODE_MS = 200
const P99_MS_MAX = 2_000
/**
 * In a shorter run, one pause of the machine determines the latency. With fewer than 100 requests p99 is the slowest.
 */
const JUDGED_SECONDS_MIN = 6
/** Of one unpaid address, in a minute: an observation and its verdict for each payment of the budget. */
const NODE_CALLS_MAX = 2 * REQUESTS_IN_PROGRESS_MAX
const ATTACKER_COUNTS = [1, 50, 2_300]
/** Without the pages of files, which the kernel can drop. */
const ANONYMOUS_MIB_MAX = 512
const MEMORY_EVERY_MS = 50
/** The time in which nothing of an attack may be left in a queue. */
const DRAINED_MS_MAX = 3_000
/** Of the other clients. Those of one have at most a few connections at the same time. */
const OTHER_NETWORKS = 100
/** Requests of the other clients begin this long after each other. */
const OTHER_CLIENTS_EVERY_MS = 100
/** The settlement of the slowest purchase of the other clients. */
const SLOW_MS = 4_000
const POSTGRES_ATTACK = 'random payers and signatures'

export async function fairness({ seconds = '20', only }: Record<string, string>): Promise<boolean> {
  const lines: string[][] = []
  const faults: string[] = []
  const isLatencyJudged = Number(seconds) >= JUDGED_SECONDS_MIN
  const attacks = ATTACK_NAMES.filter((name) => only === undefined || name.includes(only))
  for (const name of attacks) for (const count of ATTACKER_COUNTS) await runAttack({ name, title: name, count })
  if (attacks.includes(POSTGRES_ATTACK))
    for (const count of ATTACKER_COUNTS) {
      // A later service with the same log would first announce its key.
      await using database = await startDatabase()
      const environment = { RESPONSE_LOG: database.url }
      await runAttack({ name: POSTGRES_ATTACK, title: `${POSTGRES_ATTACK}, PostgreSQL`, count, environment })
    }

  async function runAttack(row: {
    name: AttackName
    title: string
    count: number
    environment?: Record<string, string>
  }): Promise<void> {
    const { name, title, count, environment = {} } = row
    // A service of its own: the garbage of an earlier attack would count as memory.
    const { isVerified, sent, durations, refused, nodeCalls, memory, queued } = await withService(
      environment,
      (service) => measure(service, { name, count, seconds }),
    )
    const p99 = quantile(durations, 0.99)
    if (durations.length === 0) faults.push(`${title}: no request of another client was sent`)
    if (refused.length > 0) faults.push(`${title}: refused ${[...new Set(refused)].join(', ')}`)
    if (isLatencyJudged && p99 > P99_MS_MAX) faults.push(`${title}: p99 ${Math.round(p99)} ms`)
    if (nodeCalls > NODE_CALLS_MAX && isVerified !== true)
      faults.push(`${title}: ${nodeCalls} calls to the node for an address`)
    if (memory > ANONYMOUS_MIB_MAX) faults.push(`${title}: ${Math.round(memory)} MiB of anonymous memory`)
    if (queued > 0) faults.push(`${title}: ${queued} entries in queues after the clients are gone`)
    const times = [quantile(durations, 0.5), p99].map((value) => String(Math.round(value)))
    const counts = [count, sent, durations.length, refused.length].map(String)
    lines.push([title, ...counts, ...times, nodeCalls.toFixed(1), memory.toFixed(0)])
  }

  const headings = [
    'attack',
    'addresses',
    'requests',
    'from others',
    'refused',
    'p50 ms',
    'p99 ms',
    'node calls',
    'MiB',
  ]
  print(`${markdown(headings, lines)}\n`)
  for (const fault of faults) print(fault)
  const judged = isLatencyJudged ? '' : '; latency not judged in a short run'
  print(`${lines.length} attacks of ${seconds} s, ${faults.length} faults${judged}`)
  return faults.length === 0
}

interface OtherClient {
  kind: string
  /** By default that of the service. */
  url?: string
  send: () => Promise<Sent>
  isAnswered: (reply: Reply) => boolean
  /** The time of its settlement, which is not counted. */
  settleMs?: number
}

interface Service {
  url: string
  pid: number | undefined
  /** The address of the metrics. */
  adminUrl: string
  remotes: ServerProcess
  /** Payers that do not belong to the attack that runs. */
  otherPayers: Set<string>
}

async function withService<Result>(
  environment: Record<string, string>,
  work: (service: Service) => Promise<Result>,
): Promise<Result> {
  const directory = await makeTemporaryDirectory()
  await using remotes = await startRemotes(NODE_MS)
  const adminPort = String(await freePort())
  const files = { DATA_DIR: directory, DATASET: REGISTER, PORT: '0', ADMIN_PORT: adminPort }
  // The default limit of sales is too low for the other clients. The budget is the one of that default.
  const limits = { RATE_LIMIT_PER_MINUTE: '10000', TEST_ADDRESS_BUDGET: String(BUDGET_UNITS_MIN) }
  const all = { ...files, ...limits, ...remotesEnvironment(remotes.url), ...environment }
  const program = { name: 'service', program: testProgram('serve'), flags: SERVICE_FLAGS }
  await using served = await startServer({ ...program, environment: all, stderr: 'pipe' })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const result = await work({ url: served.url, pid: served.child.pid, adminUrl, remotes, otherPayers: new Set() })
  // A stop would wait for the payments of the attack.
  served.child.kill('SIGKILL')
  return result
}

async function measure(
  service: Service,
  { name, count, seconds }: { name: AttackName; count: number; seconds: string },
) {
  const { url, remotes } = service
  await using attackers = await startProgram<AttackFacts>({
    program: testProgram('attackers'),
    args: [name, url, String(count), seconds],
    core: 'client',
  })
  const { accounts = {}, isVerified, paidCalls = 0, sharedAddress } = attackers.first
  await postJson(remotes, '/accounts', accounts)
  const before = await nodeCallsOf(service)
  let memory = 0
  const readMemory = () => (memory = Math.max(memory, residentMemory(service.pid, 'RssAnon')))
  const sampling = setInterval(readMemory, MEMORY_EVERY_MS)
  attackers.child.send('begin')
  const attacking = nextMessage<number>(attackers.child)
  const end = performance.now() + Number(seconds) * 1000
  const { durations, refused } = await sendAsOtherClients(service, end, sharedAddress)
  const sent = await attacking
  await attackers[Symbol.asyncDispose]()
  clearInterval(sampling)
  const queued = await countQueued(service)
  const nodeCalls = ((await nodeCallsOf(service)) - before - paidCalls) / count
  return { isVerified, sent, durations, refused, nodeCalls, memory, queued }
}

/** Sends one request after the other, without waiting for the answers. */
async function sendAsOtherClients(
  service: Service,
  end: number,
  sharedAddress: string | undefined,
): Promise<{ durations: number[]; refused: string[] }> {
  const kinds = await otherClientKinds(service)
  const durations: number[] = []
  /** The kinds of requests of the other clients that were refused, with the status. */
  const refused: string[] = []
  const sending: Promise<void>[] = []
  for (let index = 0; performance.now() < end; index += 1) {
    const {
      kind,
      send,
      isAnswered,
      settleMs = 0,
      url = service.url,
    } = kinds[index % kinds.length] as (typeof kinds)[number]
    // A new connection for each request: under pressure, the newest one must not be closed.
    const client = new AddressedClient(url, sharedAddress ?? `127.1.${index % OTHER_NETWORKS}.2`)
    const sent = await send()
    const start = performance.now()
    sending.push(
      client.send(sent).then((reply) => {
        durations.push(performance.now() - start - settleMs)
        client.close()
        if (!isAnswered(reply)) refused.push(`${kind} ${reply.status === 0 ? reply.body : reply.status}`)
        return undefined
      }),
    )
    await sleep(OTHER_CLIENTS_EVERY_MS)
  }
  await Promise.all(sending)
  return { durations, refused }
}

/** What the other clients send, and what they must get. A probe of the operator is one of them. */
async function otherClientKinds({ url, adminUrl, remotes, otherPayers }: Service): Promise<OtherClient[]> {
  const known = generatePrivateKey()
  const owner = generatePrivateKey()
  const slow = generatePrivateKey()
  const wallet = privateKeyToAddress(generatePrivateKey())
  const accounts = { [wallet]: { codeBytes: 100 }, [privateKeyToAddress(slow)]: { settleMs: SLOW_MS } }
  await postJson(remotes, '/accounts', accounts)
  const pay = (key: Hex, from: string = privateKeyToAddress(key)) => {
    otherPayers.add(from.toLowerCase())
    return signedPayment({ key, authorization: { from } })
  }
  const buy = async (key: Hex, from?: string): Promise<Sent> =>
    get(LOOKUP, { 'PAYMENT-SIGNATURE': header(await pay(key, from)) })
  const isSold = ({ status }: Reply) => status === 200
  const isQuoted = ({ status }: Reply) => status === 402
  return [
    { kind: 'probe', url: adminUrl, send: async () => get('/readyz'), isAnswered: isSold },
    { kind: 'quote', send: async () => get(LOOKUP), isAnswered: isQuoted },
    { kind: 'first purchase', send: () => buy(generatePrivateKey()), isAnswered: isSold },
    { kind: 'quote over A2A', send: async () => lookupOverA2a(url), isAnswered: isQuoted },
    { kind: 'known buyer', send: () => buy(known), isAnswered: isSold },
    {
      kind: 'quote over MCP',
      send: async () => lookupOverMcp(),
      isAnswered: ({ status, body }: Reply) => status === 200 && body.includes('x402Version'),
    },
    { kind: 'slow purchase', send: () => buy(slow), isAnswered: isSold, settleMs: SLOW_MS },
    { kind: 'contract wallet', send: () => buy(owner, wallet), isAnswered: isSold },
    {
      kind: 'first purchase over A2A',
      send: async () => lookupOverA2a(url, { 'PAYMENT-SIGNATURE': header(await pay(generatePrivateKey())) }),
      isAnswered: isSold,
    },
    {
      kind: 'first purchase over MCP',
      send: async () => lookupOverMcp(await pay(generatePrivateKey())),
      isAnswered: ({ status, body }: Reply) => status === 200 && !body.includes('"isError":true'),
    },
  ]
}

async function readObserved({ remotes }: Service): Promise<Record<string, number>> {
  return (await (await fetch(`${remotes.url}/observed`)).json()) as Record<string, number>
}

/** The observations of the attack's payers. */
async function nodeCallsOf(service: Service): Promise<number> {
  const ofAttackers = Object.entries(await readObserved(service)).filter(([payer]) => !service.otherPayers.has(payer))
  return ofAttackers.reduce((sum, [, count]) => sum + count, 0)
}

async function postJson({ url }: ServerProcess, path: string, body: object): Promise<void> {
  await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })
}

/** The entries that wait in a queue of the service when the attackers have had some time to be forgotten. */
async function countQueued({ adminUrl }: Service): Promise<number> {
  const end = performance.now() + DRAINED_MS_MAX
  for (;;) {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    const entries = [...metrics.matchAll(/^company_agent_queue_entries\{.*\} (\d+)$/gm)].map(([, count]) =>
      Number(count),
    )
    const queued = entries.reduce((sum, each) => sum + each, 0)
    if (queued === 0 || performance.now() > end) return queued
    await sleep(100)
  }
}
