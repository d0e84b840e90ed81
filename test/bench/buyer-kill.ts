/**
 * `bench buyer-kill [--runs N]`: kills a real buyer with SIGKILL at random moments while it buys from the real service, and
 * restarts it at the request that it had not finished. Fails unless every request ends with one payment, one transfer and the
 * answer that the service has stored.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import { toSaved } from '../../agent/client/buy.ts'
import { fileEntry } from '../../agent/client/folder-storage.ts'
import { readPayment, readPurchase, type Purchase } from '../../agent/client/purchase-file.ts'
import { isDeepStrictEqual } from 'node:util'
import { UNFINISHED_SUFFIX } from '../../store/files/atomic-file.ts'
import { stopTestChain } from '../support/chain.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { markdown } from './markdown.ts'

const RUNS_DEFAULT = '1000'
/** Kills fall into the first two purchases of a process, by the duration of the last one that was not killed. */
const KILL_WITHIN_PURCHASES = 2
/** The spending of a day is read again for each purchase, so a folder has few of them. */
const KILLS_PER_FOLDER = 50
/** Without a failure in n runs, 3/n bounds the failure rate at 95 % confidence. */
const RULE_OF_THREE = 3

const print = (line: string) => void process.stdout.write(`${line}\n`)

export async function buyerKill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'buyer-kill-'))
  const service = await startTestService({ environment: { RATE_LIMIT_PER_MINUTE: '100000' } })
  const nonces = recordNonces()
  try {
    return await killAll(service, { directory, kills: Number(runs), nonces })
  } finally {
    await service.stop()
    await stopTestChain()
    await rm(directory, { recursive: true })
  }
}

/** The nonces of all payments that reach the service of this process. */
export function recordNonces(): ReadonlySet<string> {
  const nonces = new Set<string>()
  subscribe('http.server.request.start', (message) => {
    const payment = (message as { request: IncomingMessage }).request.headers['payment-signature']
    if (typeof payment !== 'string') return
    const { payload } = decodePaymentSignatureHeader(payment)
    nonces.add((payload['authorization'] as { nonce: string }).nonce)
  })
  return nonces
}

async function killAll(
  service: TestService,
  { directory, kills, nonces }: { directory: string; kills: number; nonces: ReadonlySet<string> },
): Promise<boolean> {
  const begun = performance.now()
  const before = (await service.paid()).transfers
  const faults: string[] = []
  const states = new Map<string, number>()
  const purchases: Purchase[] = []
  async function collect(path: string): Promise<void> {
    const folder = await readFolder(path)
    purchases.push(...folder.purchases.values())
    faults.push(...findReservationFaults(folder))
  }

  let { next, milliseconds } = await finishOne(service, join(directory, 'first'), 0)
  await collect(join(directory, 'first'))
  for (let done = 0; done < kills;) {
    const folder = join(directory, String(done))
    let last = await readFolder(folder)
    for (const end = Math.min(kills, done + KILLS_PER_FOLDER); done < end; done += 1) {
      next = await killOnce(service, { folder, next, milliseconds })
      const after = await readFolder(folder)
      const state = stateOf(last, after)
      states.set(state, (states.get(state) ?? 0) + 1)
      last = after
    }
    // The request of the last kill is finished before the folder is left.
    ;({ next, milliseconds } = await finishOne(service, folder, next))
    await collect(folder)
    if (purchases.length !== next) faults.push(`${next} requests have ${purchases.length} purchases`)
  }
  for (const purchase of purchases) faults.push(...(await findFaults(purchase)))
  const transfers = (await service.paid()).transfers - before
  const transactions = new Set(purchases.map(({ answer }) => readTransaction(answer)))
  const saved = new Set(purchases.map((purchase) => readPayment(purchase).nonce))
  const second = [...nonces].filter((nonce) => !saved.has(nonce)).length
  if (second > 0) faults.push(`${second} payments were sent that are in no purchase file`)
  for (const [name, count] of Object.entries({ transfers, transactions: transactions.size, payments: saved.size }))
    if (count !== purchases.length) faults.push(`${purchases.length} purchases have ${count} ${name}`)

  print(
    `${markdown(
      ['state of the folder at the kill', 'kills'],
      [...states].map(([name, count]) => [name, String(count)]),
    )}\n`,
  )
  for (const fault of faults) print(fault)
  const lost = purchases.filter(({ answer }) => answer?.status !== 200).length
  print(
    `${kills} kills of the buyer in ${Math.round((performance.now() - begun) / 1000)} s, ${purchases.length} requests, ` +
      `${transfers} transfers: ${second} second signatures, ${lost} lost answers, ${faults.length} faults. Without a ` +
      `failure, the failure rate is below ${((RULE_OF_THREE / kills) * 100).toFixed(2)} % at 95 % confidence.`,
  )
  return faults.length === 0
}

/** Starts the buyer and kills it. Returns the request after the last one that it has reported as bought. */
async function killOnce(
  service: TestService,
  { folder, next, milliseconds }: { folder: string; next: number; milliseconds: number },
): Promise<number> {
  const child = startBuyer(service, folder, [next])
  await ready(child)
  await sleep(Math.random() * milliseconds * KILL_WITHIN_PURCHASES)
  child.process.kill('SIGKILL')
  const end = await child.ended
  if (end !== 'SIGKILL') throw new Error(`The buyer ended with ${end}: ${child.stderr()}`)
  const bought = child.said.get('bought')
  return bought === undefined ? next : Number(bought) + 1
}

/** Buys one request without a kill, and measures it. */
async function finishOne(service: TestService, folder: string, next: number) {
  const child = startBuyer(service, folder, [next, next])
  await ready(child)
  const begun = performance.now()
  const end = await child.ended
  if (end !== 0) throw new Error(`The buyer ended with ${end}: ${child.stderr()}`)
  return { next: next + 1, milliseconds: performance.now() - begun }
}

function startBuyer({ url, buyerKey, payTo }: TestService, folder: string, requests: number[]): Child {
  return startChild('test/programs/killable-buyer.js', [url, buyerKey, payTo, folder, ...requests.map(String)], {})
}

interface Reservation {
  purchase: string
  authorization: { nonce: string }
}

interface Folder {
  purchases: Map<string, Purchase>
  reservations: Map<string, Reservation>
  /** The number of temporary files. */
  unfinished: number
  /** The number of reservations that no purchase names. Their payments were never saved, so they must never be sent. */
  unused: number
}

async function readFolder(folder: string): Promise<Folder> {
  const names = await readdir(folder).catch(() => [])
  const purchases = new Map<string, Purchase>()
  const reservations = new Map<string, Reservation>()
  let unfinished = 0
  for (const name of names) {
    if (name.endsWith(UNFINISHED_SUFFIX)) unfinished += 1
    else if (name.startsWith('spending-'))
      reservations.set(name, JSON.parse(await readFile(join(folder, name), 'utf8')) as Reservation)
    else purchases.set(name, await readPurchase(fileEntry(join(folder, name))))
  }
  const used = new Set([...purchases.values()].map(({ reservation }) => reservation))
  const unused = [...reservations.keys()].filter((name) => !used.has(name)).length
  return { purchases, reservations, unfinished, unused }
}

/** What the last kill has left. */
function stateOf(before: Folder, { purchases, unfinished, unused }: Folder): string {
  if (unfinished > before.unfinished) return 'a file that is being written'
  if ([...purchases.values()].some(({ answer }) => answer === null)) return 'a payment without an answer'
  if (unused > before.unused) return 'a reservation without a payment'
  return 'only finished purchases'
}

/** Each purchase must name its own reservation, for the nonce of its payment. */
function findReservationFaults({ purchases, reservations }: Folder): string[] {
  return [...purchases].flatMap(([name, purchase]) => {
    const reserved = reservations.get(purchase.reservation ?? '')
    const isOwn = reserved?.purchase === name && reserved.authorization.nonce === readPayment(purchase).nonce
    return isOwn ? [] : `${name} does not name its own reservation`
  })
}

/** Whether the saved answer is the one that the service has stored for the payment. */
export async function findFaults({ request, payment, answer }: Purchase): Promise<string[]> {
  const headers = { ...request.headers, 'PAYMENT-SIGNATURE': payment }
  const response = await fetch(request.url, { method: request.method, headers, body: request.body })
  const stored = toSaved({
    status: response.status,
    body: await response.text(),
    paymentRequired: null,
    paymentResponse: response.headers.get('PAYMENT-RESPONSE'),
  })
  if (stored.status === 200 && isDeepStrictEqual(stored, answer)) return []
  return [`${request.url}: saved status ${answer?.status}, stored status ${stored.status}, and the answers differ`]
}

function readTransaction(answer: Purchase['answer']): string {
  return decodePaymentResponseHeader(answer?.payment_response ?? '').transaction
}
