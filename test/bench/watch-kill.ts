/**
 * `bench watch-kill [--runs N]`: ends `client watch` at random moments with SIGKILL, while the register changes, and
 * runs the same command until it finishes. Fails unless each purchase has one transfer and the answer that the
 * service has stored, no answer of a snapshot was bought twice, and each new name was printed.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startChild } from '../support/child.ts'
import type { TestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { DAY_MS, FIRST, firstRows, importRows, NUMBERS, rename } from '../support/watched-registers.ts'
import { checkKilledBuyer, readPurchases } from './killed-buyer.ts'

const RUNS_DEFAULT = '500'
/** A new file of the register follows every third kill, also during a round. */
const KILLS_PER_FILE = 3
const RENAMED_PER_FILE = 5
const STATUS_CHANGED = 3

export async function watchKill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  return checkKilledBuyer((service, faults) => killAll(service, { kills: Number(runs), faults }))
}

async function killAll(service: TestService, { kills, faults }: { kills: number; faults: string[] }) {
  const directory = await makeTemporaryDirectory()
  const file = join(directory, 'register.csv')
  const state = join(directory, 'state.json')
  await writeFile(join(directory, 'buyer.key'), service.buyerKey, { mode: 0o600 })
  await writeFile(join(directory, 'list.csv'), `Number\n${NUMBERS.join('\n')}\n`)
  const rows = firstRows()
  const names: string[] = []
  let files = 1
  const importNext = async () => {
    const renamed = new Map<number, string>()
    for (let at = 0; at < RENAMED_PER_FILE; at += 1)
      renamed.set(FIRST + Math.floor(Math.random() * (NUMBERS.length - 1)), `NAME ${files} ${at}`)
    names.push(...renamed.values())
    rename(rows, renamed)
    await importRows(service, rows, { file, time: (files += 1) * DAY_MS })
  }
  let printed = ''
  const run = async (milliseconds: number) => {
    const child = startWatch(service, directory, state)
    child.process.stdout?.on('data', (text: string) => void (printed += text))
    await Promise.race([sleep(milliseconds, undefined, { ref: false }), child.ended])
    child.process.kill('SIGKILL')
    const end = await child.ended
    if (end !== 0 && end !== STATUS_CHANGED && end !== 'SIGKILL')
      faults.push(`A run ends with ${end}: ${child.stderr()}`)
    return end
  }
  const whole = 600_000
  await importRows(service, rows, { file, time: DAY_MS })
  await run(whole)
  await importNext()
  const began = performance.now()
  await run(whole)
  const usual = performance.now() - began
  let done = 0
  for (let runs = 0; done < kills; runs += 1) {
    if (runs % KILLS_PER_FILE === 0) await importNext()
    if ((await run(Math.random() * usual)) === 'SIGKILL') done += 1
  }
  await run(whole)
  // A company that the first file lacks is added with its name.
  const lost = names.filter((name) => !printed.includes(` ${name}\n`))
  if (lost.length > 0) faults.push(`${lost.length} changes were not printed: ${lost[0]}`)
  const purchases = [...(await readPurchases(`${state}.purchases`)).values()]
  const asked = purchases.map(({ request: { url, body }, answer }) =>
    [url, body, /"snapshot_id":"[^"]*"\}$/.exec(answer?.body ?? '')?.[0]].join(' '),
  )
  const repeated = asked.length - new Set(asked).size
  if (repeated > 0) faults.push(`${repeated} answers of one snapshot were bought twice`)
  return { purchases, kills: done, summary: `${done} kills of client watch, ${files} files, ${names.length} changes` }
}

function startWatch(service: TestService, directory: string, state: string) {
  const client = ['client', '--url', service.url, '--key-file', join(directory, 'buyer.key')]
  const list = [join(directory, 'list.csv'), '--column', 'Number', '--state', state]
  return startChild('agent/main.js', [...client, 'watch', ...list, '--max-total', '9000000', '--yes'], {
    DATA_DIR: directory,
  })
}
