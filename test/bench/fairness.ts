/**
 * `bench fairness`: attackers that pay nothing, from 1 and from 50 addresses, beside clients with other addresses. No
 * request of these other clients may be refused. The service is the command `serve`; facilitator and node are in
 * another process, and the node answers after 200 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { REGISTER } from '../support/fixtures.ts'
import { header, signedPayment } from '../support/payments.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { ATTACK_NAMES, ATTACKS, CONNECTIONS, type Attack, type AttackName } from './fairness/attacks.ts'
import { AddressedClient, LOOKUP, lookupOverA2a, lookupOverMcp, type Reply, type Sent } from './fairness/clients.ts'
import { startRemotes, startService, type ServerProcess } from './load/server-process.ts'
import { startDatabase } from './log-kind.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'
import { remotesEnvironment } from '../support/remotes/server.ts'
import { quantile } from './statistics.ts'

const NODE_MS = 200
const P99_MS_MAX = 2_000
/**
 * In a shorter run, one pause of the machine determines the latency. With fewer than 100 requests p99 is the slowest.
 */
const JUDGED_SECONDS_MIN = 6
/** Of one unpaid address, in a minute. */
const NODE_CALLS_MAX = 120
const ATTACKER_COUNTS = [1, 50]
/** Of all attackers together, so that this process can still measure. */
const ATTACKS_PER_SECOND = 1_000
/** Requests of the other clients begin this long after each other. */
const OTHER_CLIENTS_EVERY_MS = 100
const POSTGRES_ATTACK = 'random payers and signatures'

export async function fairness({ seconds = '20', only }: Record<string, string>): Promise<boolean> {
  const lines: string[][] = []
  const faults: string[] = []
  const isLatencyJudged = Number(seconds) >= JUDGED_SECONDS_MIN
  const attacks = ATTACK_NAMES.filter((name) => only === undefined || name.includes(only))
  await withService({}, async (service) => {
    for (const name of attacks) await runAttack(service, name, name)
  })
  if (attacks.includes(POSTGRES_ATTACK)) {
    await using database = await startDatabase()
    await withService({ RESPONSE_LOG: database.url }, (service) =>
      runAttack(service, POSTGRES_ATTACK, `${POSTGRES_ATTACK}, PostgreSQL`),
    )
  }

  async function runAttack(service: Service, name: AttackName, title: string): Promise<void> {
    // Requests of an earlier attack may still wait for each other.
    for (const payer of Object.keys(await readObserved(service))) service.otherPayers.add(payer)
    for (const count of ATTACKER_COUNTS) {
      const attack = await ATTACKS[name](service.url)
      const measured = await measure(service, { attack, count, seconds: Number(seconds) })
      const { sent, durations, refused, nodeCalls } = measured
      const p99 = quantile(durations, 0.99)
      if (refused.length > 0) faults.push(`${title}: refused ${[...new Set(refused)].join(', ')}`)
      if (isLatencyJudged && p99 > P99_MS_MAX) faults.push(`${title}: p99 ${Math.round(p99)} ms`)
      if (nodeCalls > NODE_CALLS_MAX && attack.isVerified !== true)
        faults.push(`${title}: ${nodeCalls} calls to the node for an address`)
      const times = [quantile(durations, 0.5), p99].map((value) => String(Math.round(value)))
      const counts = [count, sent, durations.length, refused.length].map(String)
      lines.push([title, ...counts, ...times, nodeCalls.toFixed(1)])
    }
  }

  const headings = ['attack', 'addresses', 'requests', 'from others', 'refused', 'p50 ms', 'p99 ms', 'node calls']
  print(`${markdown(headings, lines)}\n`)
  for (const fault of faults) print(fault)
  const judged = isLatencyJudged ? '' : '; latency not judged in a short run'
  print(`${lines.length} attacks of ${seconds} s, ${faults.length} faults${judged}`)
  return faults.length === 0
}

interface Service {
  url: string
  remotes: ServerProcess
  /** Numbers the runs, which use addresses of their own. */
  runs: number
  /** Payers that do not belong to the attack that runs. */
  otherPayers: Set<string>
}

async function withService(
  environment: Record<string, string>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const directory = await makeTemporaryDirectory()
  await using remotes = await startRemotes('client', NODE_MS)
  const files = { DATA_DIR: directory, DATASET: REGISTER, PORT: '0', ADMIN_PORT: 'off' }
  // The default limit of sales is too low for the other clients. The budget is the one of that default.
  const limits = { RATE_LIMIT_PER_MINUTE: '10000', TEST_ADDRESS_BUDGET: '300' }
  const all = { ...files, ...limits, ...remotesEnvironment(remotes.url), ...environment }
  await using served = await startService('service', all)
  await work({ url: served.url, remotes, runs: 0, otherPayers: new Set() })
}

async function measure(
  service: Service,
  { attack, count, seconds }: { attack: Attack; count: number; seconds: number },
) {
  const { url, remotes } = service
  service.runs += 1
  await post(remotes, '/accounts', attack.accounts ?? {})
  const before = await nodeCallsOf(service)
  const end = performance.now() + seconds * 1000
  // A connection of its own for each, because a shared agent would reuse the few that are free.
  const clients = Array.from(
    { length: attack.connections ?? CONNECTIONS },
    (_, index) => new AddressedClient(url, `127.0.${10 + service.runs}.${(index % count) + 1}`),
  )
  const pauseMs = (clients.length / ATTACKS_PER_SECOND) * 1000
  const attacking = Promise.all(
    clients.map((client, index) => repeatAttack(client, { requests: attack.requests, offset: index, end, pauseMs })),
  )
  const { durations, refused } = await sendAsOtherClients(service, end)
  const sent = (await attacking).reduce((sum, each) => sum + each, 0)
  for (const client of clients) client.close()
  const nodeCalls = ((await nodeCallsOf(service)) - before - (attack.paidCalls ?? 0)) / count
  return { sent, durations, refused, nodeCalls }
}

async function repeatAttack(
  client: AddressedClient,
  { requests, offset, end, pauseMs }: { requests: Sent[]; offset: number; end: number; pauseMs: number },
): Promise<number> {
  await sleep(Math.random() * pauseMs)
  let sent = 0
  for (; performance.now() < end; sent += 1) {
    await client.send(requests[(offset + sent) % requests.length] as Sent)
    await sleep(pauseMs)
  }
  return sent
}

/** Sends one request after the other, without waiting for the answers. */
async function sendAsOtherClients(service: Service, end: number): Promise<{ durations: number[]; refused: string[] }> {
  const kinds = await otherClientKinds(service)
  const clients: AddressedClient[] = []
  const durations: number[] = []
  /** The kinds of requests of the other clients that were refused, with the status. */
  const refused: string[] = []
  const sending: Promise<void>[] = []
  for (let index = 0; performance.now() < end; index += 1) {
    const { kind, send, isAnswered } = kinds[index % kinds.length] as (typeof kinds)[number]
    // A new connection for each request: under pressure, the newest one must not be closed.
    const client = new AddressedClient(service.url, `127.0.1.${(index % kinds.length) + 1}`)
    clients.push(client)
    const sent = await send()
    const start = performance.now()
    sending.push(
      client.send(sent).then((reply) => {
        durations.push(performance.now() - start)
        if (!isAnswered(reply)) refused.push(`${kind} ${reply.status}`)
        return undefined
      }),
    )
    await sleep(OTHER_CLIENTS_EVERY_MS)
  }
  await Promise.all(sending)
  for (const client of clients) client.close()
  return { durations, refused }
}

async function otherClientKinds({ url, remotes, otherPayers }: Service) {
  const known = generatePrivateKey()
  const owner = generatePrivateKey()
  const wallet = privateKeyToAddress(generatePrivateKey())
  await post(remotes, '/accounts', { [wallet]: { codeBytes: 100 } })
  const buy = async (key: Hex, from: string = privateKeyToAddress(key)): Promise<Sent> => {
    otherPayers.add(from.toLowerCase())
    return {
      path: LOOKUP,
      headers: { 'PAYMENT-SIGNATURE': header(await signedPayment({ key, authorization: { from } })) },
    }
  }
  const isSold = ({ status }: Reply) => status === 200
  const isQuoted = ({ status }: Reply) => status === 402
  return [
    { kind: 'quote', send: async () => ({ path: LOOKUP }), isAnswered: isQuoted },
    { kind: 'first purchase', send: () => buy(generatePrivateKey()), isAnswered: isSold },
    { kind: 'quote over A2A', send: async () => lookupOverA2a(url), isAnswered: isQuoted },
    { kind: 'known buyer', send: () => buy(known), isAnswered: isSold },
    {
      kind: 'quote over MCP',
      send: async () => lookupOverMcp(),
      isAnswered: ({ status, body }: Reply) => status === 200 && body.includes('x402Version'),
    },
    { kind: 'contract wallet', send: () => buy(owner, wallet), isAnswered: isSold },
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

async function post({ url }: ServerProcess, path: string, body: object): Promise<void> {
  await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })
}
