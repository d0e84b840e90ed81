/**
 * `bench reconcile-kill [--runs N]`: ends `client reconcile` at random moments, with SIGKILL and every fourth time with
 * SIGINT, and runs the same command until its list is complete. Every second list is bought in batches. Fails unless
 * each different row is in one purchase, each purchase has one transfer and the answer that the service has stored, and
 * the output is that of a run without an interruption.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import { fileEntry } from '../../agent/buyer/library/folder-storage.ts'
import { readPurchase, type Purchase } from '../../agent/buyer/library/purchase-file.ts'
import { requestedOperation } from '../../agent/buyer/library/purchase-request.ts'
import { itemsOf } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { startChild, type Child } from '../support/child.ts'
import type { TestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { checkKilledBuyer, readPurchases } from './killed-buyer.ts'

const RUNS_DEFAULT = '500'
/** Several groups of rows. Every fifth row repeats the row before it. */
const ROWS = 50
const REPEATED = 5
const SIGINT_EVERY = 4
/** Row by row, and in batches. */
const MODES = [[], ['--batch']] as const
type Mode = (typeof MODES)[number]

export async function reconcileKill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await makeTemporaryDirectory()
  return checkKilledBuyer(async (service, faults) => {
    await writeFile(join(directory, 'buyer.key'), service.buyerKey, { mode: 0o600 })
    return killAll(service, { directory, kills: Number(runs), faults })
  })
}

async function killAll(
  service: TestService,
  { directory, kills, faults }: { directory: string; kills: number; faults: string[] },
) {
  const purchases: Purchase[] = []
  const ends = new Map<string, number>()
  let lists = 0
  let done = 0
  /** The time of a run without an interruption. */
  const milliseconds = new Map<Mode, number>()
  for (; done < kills || lists < 2 * MODES.length; lists += 1) {
    const names = namesOf(lists)
    const file = join(directory, `${lists}.csv`)
    await writeFile(file, `name\n${names.join('\n')}\n`)
    // The first list of each mode is not interrupted: its time spreads the moments of the kills over a whole run.
    const interruptions = lists < MODES.length ? 0 : kills
    const mode = MODES[lists % MODES.length] as Mode
    const start = () => startReconcile(service, directory, file, mode)
    while (done < interruptions) {
      const signal = done % SIGINT_EVERY === 0 ? 'SIGINT' : 'SIGKILL'
      const end = await endAt(start(), signal, Math.random() * (milliseconds.get(mode) ?? 0))
      if (end === 'finished') break
      done += 1
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
    const started = performance.now()
    const child = start()
    const code = await child.ended
    if (lists < MODES.length) milliseconds.set(mode, performance.now() - started)
    if (code !== 0) faults.push(`list ${lists} ends with ${code}: ${child.stderr()}`)
    const bought = await readPurchases(`${file.replace('.csv', '')}.reconciled.csv.purchases`)
    purchases.push(...bought.values())
    faults.push(...(await findListFaults(file, names, [...bought.values()])).map((fault) => `list ${lists}: ${fault}`))
  }
  const ways = [...ends].map(([end, count]) => `${count} ${end}`).join(', ')
  const summary = `${done} interruptions of client reconcile (${ways}), ${lists} lists, ${lists * ROWS} rows`
  return { purchases, kills: done, summary }
}

/** Names that no other list has. */
function namesOf(list: number): string[] {
  return Array.from({ length: ROWS }, (_, index) => {
    const number = index % REPEATED === REPEATED - 1 ? index - 1 : index
    return `Alpha Sample ${list * ROWS + number} Limited`
  })
}

function startReconcile(service: TestService, directory: string, file: string, mode: Mode): Child {
  const client = ['client', '--url', service.url, '--key-file', join(directory, 'buyer.key')]
  return startChild('agent/main.js', [...client, 'reconcile', file, '--column', 'name', '--yes', ...mode], {
    DATA_DIR: directory,
  })
}

/** Sends the signal after a time. Returns how the command ended. */
async function endAt(child: Child, signal: 'SIGINT' | 'SIGKILL', milliseconds: number): Promise<string> {
  await Promise.race([sleep(milliseconds), child.ended])
  child.process.kill(signal)
  const end = await child.ended
  if (end === 0) return 'finished'
  // Until the command listens for SIGINT, the signal ends the process. Later the command ends with status 1.
  if (end === signal) return signal
  if (signal === 'SIGINT' && end === 1 && child.stderr().startsWith('Interrupted')) return 'SIGINT, caught'
  throw new Error(`The command ended with ${end}: ${child.stderr()}`)
}

/**
 * Whether each different row is in one purchase, and each row of the output has the answer and the receipt of its own
 * one.
 */
async function findListFaults(file: string, names: string[], bought: Purchase[]): Promise<string[]> {
  const asked = bought.flatMap((purchase) => [...answersByName(purchase).keys()])
  const distinct = new Set(names).size
  const faults = asked.length === distinct ? [] : [`${distinct} different rows are bought ${asked.length} times`]
  const out = `${file.replace('.csv', '')}.reconciled.csv`
  const rows = parse(await readFile(out), { columns: true }) as Record<string, string>[]
  if (rows.map(({ name }) => name).join() !== names.join()) faults.push('the output has other rows')
  for (const { name = '', decision, receipt = '' } of rows) {
    const answers = answersByName(await readPurchase(fileEntry(join(file, '..', receipt))))
    if (answers.get(name) !== decision) faults.push(`${name} has the answer of another row`)
  }
  return faults
}

/** The decisions of a purchase by the names that it asks for. */
function answersByName({ request, answer }: Purchase): Map<string, string | undefined> {
  const operation = requestedOperation(request, OPERATIONS)
  const body = JSON.parse(answer?.body ?? '{}') as { status?: string; results?: { body: { status?: string } }[] }
  const answers = body.results?.map((result) => result.body) ?? [body]
  const items = operation ? itemsOf(operation) : []
  return new Map(items.map(({ input }, index) => [String(input['name']), answers[index]?.status]))
}
