/**
 * `bench buyer-kill [--runs N]`: kills a real buyer with SIGKILL at random moments while it buys from the real service,
 * and restarts it at the request that it had not finished. Fails unless every request ends with one payment, one
 * transfer and the answer that the service has stored.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readPayment, type Purchase } from '../../agent/buyer/library/purchase-file.ts'
import { UNFINISHED_SUFFIX } from '../../store/files/atomic-file.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import type { TestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { checkKilledBuyer, readPurchases } from './killed-buyer.ts'
import { markdown } from './markdown.ts'
import { print } from './print.ts'

const RUNS_DEFAULT = '1000'
/** Kills fall into the first two purchases of a process, by the duration of the last one that was not killed. */
const KILL_WITHIN_PURCHASES = 2
/** The spending of a day is read again for each purchase, so a folder has few of them. */
const KILLS_PER_FOLDER = 50

export async function buyerKill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await makeTemporaryDirectory()
  const kills = Number(runs)
  return checkKilledBuyer(async (service, faults) => {
    const purchases = await killAll(service, { directory, kills, faults })
    return { purchases, kills, summary: `${kills} kills of the buyer` }
  })
}

async function killAll(
  service: TestService,
  { directory, kills, faults }: { directory: string; kills: number; faults: string[] },
): Promise<Purchase[]> {
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
  const lines = [...states].map(([name, count]) => [name, String(count)])
  print(`${markdown(['state of the folder at the kill', 'kills'], lines)}\n`)
  return purchases
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
  const reservations = new Map<string, Reservation>()
  const complete = names.filter((name) => !name.endsWith(UNFINISHED_SUFFIX))
  for (const name of complete.filter((each) => each.startsWith('spending-')))
    reservations.set(name, JSON.parse(await readFile(join(folder, name), 'utf8')) as Reservation)
  const purchases = await readPurchases(folder)
  const used = new Set([...purchases.values()].map(({ reservation }) => reservation))
  const unused = [...reservations.keys()].filter((name) => !used.has(name)).length
  return { purchases, reservations, unfinished: names.length - complete.length, unused }
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
