/**
 * Buyers that are killed while they buy from a real service, and run again. Each purchase must then have one payment,
 * one transfer and the answer that the service has stored.
 */
import { subscribe } from 'node:diagnostics_channel'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import { parse } from 'csv-parse/sync'
import { toSaved } from '../../../buyer/library/buy.ts'
import { fileEntry } from '../../../buyer/library/folder-storage.ts'
import { readPayment, readPurchase, type Purchase } from '../../../buyer/library/purchase-file.ts'
import { requestedOperation } from '../../../buyer/library/purchase-request.ts'
import { DAY_MS } from '../../../base/day.ts'
import { itemsOf } from '../../../agent/operation/operation.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { startChild, type Child } from '../../support/child.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { FIRST, firstRows, importRows, NUMBERS, rename } from '../../support/watched-registers.ts'
import type { Scene } from '../crash.ts'
import { ONE_THREAD } from './trace.ts'

/** Several groups of rows. Every fifth row repeats the row before it. */
const ROWS = 20
const REPEATED = 5
const RENAMED_PER_FILE = 5

interface BuyerScene {
  /** Before each run, the next thing to buy. */
  next(): Promise<void>
  start(tracer?: readonly string[]): Child
  /** The codes of a run that has ended well. */
  codes: readonly number[]
  /** The folders of all purchases of the run. */
  folders(): string[]
  check(): Promise<string[]>
}

interface Setting {
  service: TestService
  directory: string
  /** The arguments of a command of the client, after those that name the service and the key. */
  startClient: (args: string[], tracer?: readonly string[]) => Child
}

async function openScene(make: (setting: Setting) => Promise<BuyerScene>): Promise<Scene> {
  const service = await startTestService({ environment: { RATE_LIMIT_PER_MINUTE: '100000' } })
  const directory = await makeTemporaryDirectory()
  const keyFile = join(directory, 'buyer.key')
  await writeFile(keyFile, service.buyerKey, { mode: 0o600 })
  const startClient: Setting['startClient'] = (args, tracer) =>
    startChild('operator/main.js', ['client', '--url', service.url, '--key-file', keyFile, ...args], ONE_THREAD, tracer)
  const scene = await make({ service, directory, startClient })
  const sent = recordNonces(service.localUrl)
  const before = (await service.paid()).transfers
  const checked = new Set<string>()
  return {
    async run(tracer) {
      await scene.next()
      await scene.start(tracer).ended
    },
    async recover() {
      const child = scene.start()
      const code = await child.ended
      if (!scene.codes.includes(Number(code))) return [`the next run ends with ${code}: ${child.stderr()}`]
      const purchases = new Map<string, Purchase>()
      for (const folder of scene.folders())
        for (const [name, purchase] of await readPurchases(folder)) purchases.set(join(folder, name), purchase)
      const faults = await scene.check()
      for (const [name, purchase] of purchases) {
        if (!checked.has(name)) faults.push(...(await findFaults(purchase)))
        checked.add(name)
      }
      const saved = new Set([...purchases.values()].map((purchase) => readPayment(purchase).nonce))
      const second = [...sent].filter((nonce) => !saved.has(nonce)).length
      if (second > 0) faults.push(`${second} payments were sent that are in no purchase file`)
      const transfers = (await service.paid()).transfers - before
      const transactions = new Set([...purchases.values()].map(({ answer }) => transactionOf(answer))).size
      for (const [what, count] of Object.entries({ transfers, transactions, payments: saved.size }))
        if (count !== purchases.size) faults.push(`${purchases.size} purchases have ${count} ${what}`)
      return faults
    },
    [Symbol.asyncDispose]: () => service.stop(),
  }
}

/** The library, with a limit of a day. Each purchase must have a reservation. */
export const openBuyerScene = () =>
  openScene(async ({ service, directory }) => {
    const folder = join(directory, 'purchases')
    let index = -1
    const { url, buyerKey, payTo } = service
    return {
      next: async () => void (index += 1),
      start: (tracer) =>
        startChild(
          'test/programs/killable-buyer.js',
          [url, buyerKey, payTo, folder, String(index)],
          ONE_THREAD,
          tracer,
        ),
      codes: [0],
      folders: () => [folder],
      async check() {
        const purchases = await readPurchases(folder)
        const faults = purchases.size === index + 1 ? [] : [`${index + 1} requests have ${purchases.size} purchases`]
        const spending = (await readdir(folder)).filter((name) => name.startsWith('spending-'))
        const texts = await Promise.all(spending.map((name) => readFile(join(folder, name), 'utf8')))
        const reserved = new Set(texts.map((text) => (JSON.parse(text) as { purchase: string }).purchase))
        for (const name of purchases.keys()) if (!reserved.has(name)) faults.push(`${name} has no reservation`)
        return faults
      },
    }
  })

/** Each list has names that no other list has. Every second one is bought in batches. */
export const openReconcileScene = () =>
  openScene(async ({ directory, startClient }) => {
    let lists = 0
    let names: string[] = []
    const path = (list: number, suffix: string) => join(directory, `${list}${suffix}`)
    return {
      async next() {
        lists += 1
        names = Array.from({ length: ROWS }, (_, index) => {
          const number = index % REPEATED === REPEATED - 1 ? index - 1 : index
          return `Alpha Sample ${lists * ROWS + number} Limited`
        })
        await writeFile(path(lists, '.csv'), `name\n${names.join('\n')}\n`)
      },
      start: (tracer) =>
        startClient(
          ['reconcile', path(lists, '.csv'), '--column', 'name', '--yes', ...(lists % 2 === 0 ? ['--batch'] : [])],
          tracer,
        ),
      codes: [0],
      folders: () => Array.from({ length: lists }, (_, at) => path(at + 1, '.reconciled.csv.purchases')),
      async check() {
        const bought = await readPurchases(path(lists, '.reconciled.csv.purchases'))
        const asked = [...bought.values()].flatMap((purchase) => Array.from(answersByName(purchase).keys()))
        const distinct = new Set(names).size
        const faults = asked.length === distinct ? [] : [`${distinct} different rows are bought ${asked.length} times`]
        const out = await readFile(path(lists, '.reconciled.csv'))
        const rows = parse(out, { columns: true }) as Record<string, string>[]
        if (rows.map(({ name }) => name).join() !== names.join()) faults.push('the output has other rows')
        for (const { name = '', decision, receipt = '' } of rows) {
          const answers = answersByName(await readPurchase(fileEntry(join(directory, receipt))))
          if (answers.get(name) !== decision) faults.push(`${name} has the answer of another row`)
        }
        return faults
      },
    }
  })

/** A new file of the register before each run. Every new name must be printed in some run. */
export const openWatchScene = () =>
  openScene(async ({ service, directory, startClient }) => {
    const [file, list, state] = ['register.csv', 'list.csv', 'state.json'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    await writeFile(list, `Number\n${NUMBERS.join('\n')}\n`)
    const rows = firstRows()
    let [files, renamed, printed] = [0, new Map<number, string>(), '']
    const start = (tracer?: readonly string[]) => {
      const args = ['watch', list, '--column', 'Number', '--state', state, '--max-total', '9.00', '--yes']
      const child = startClient(args, tracer)
      child.process.stdout?.on('data', (text: string) => void (printed += text))
      return child
    }
    return {
      async next() {
        files += 1
        const numbers = Array.from({ length: RENAMED_PER_FILE }, () => Math.floor(Math.random() * (NUMBERS.length - 1)))
        renamed = new Map(files === 1 ? [] : numbers.map((at) => [FIRST + at, `NAME ${files} ${at}`]))
        rename(rows, renamed)
        printed = ''
        await importRows(service, rows, { file, time: files * DAY_MS })
      },
      start,
      codes: [0, 3],
      folders: () => [`${state}.purchases`],
      async check() {
        const lost = [...renamed.values()].filter((name) => !printed.includes(` ${name}\n`))
        const faults = lost.map((name) => `${name} was not printed`)
        const purchases = [...(await readPurchases(`${state}.purchases`)).values()]
        const asked = purchases.map(({ request: { url, body }, answer }) =>
          [url, body, /"snapshot_id":"[^"]*"\}$/.exec(answer?.body ?? '')?.[0]].join(' '),
        )
        const repeated = asked.length - new Set(asked).size
        return repeated === 0 ? faults : [...faults, `${repeated} answers of one snapshot were bought twice`]
      },
    }
  })

/** The nonces of all payments that reach the service, which runs in this process. */
export function recordNonces(url: string): ReadonlySet<string> {
  const nonces = new Set<string>()
  subscribe('http.server.request.start', (message) => {
    const { headers } = (message as { request: IncomingMessage }).request
    const payment = headers['payment-signature']
    if (typeof payment !== 'string' || !url.endsWith(headers.host ?? '')) return
    const { payload } = decodePaymentSignatureHeader(payment)
    nonces.add((payload['authorization'] as { nonce: string }).nonce)
  })
  return nonces
}

/** The saved answer must be the one that the service has stored for the payment. */
async function findFaults({ request, payment, answer }: Purchase): Promise<string[]> {
  const headers = { ...request.headers, 'PAYMENT-SIGNATURE': payment }
  const response = await fetch(request.url, { method: request.method, headers, body: request.body })
  const stored = toSaved({
    status: response.status,
    body: await response.text(),
    paymentRequired: null,
    paymentResponse: response.headers.get('PAYMENT-RESPONSE'),
  })
  if (stored.status === 200 && isDeepStrictEqual(stored, answer)) return []
  return [`${request.url}: saved status ${answer?.status}, stored status ${stored.status}: expected the stored answer`]
}

function transactionOf(answer: Purchase['answer']): string {
  return decodePaymentResponseHeader(answer?.payment_response ?? '').transaction
}

/** The purchases in a folder of the client, by file name. */
async function readPurchases(folder: string): Promise<Map<string, Purchase>> {
  const files = await readdir(folder).catch(() => [])
  const names = files.filter((name) => /^[0-9a-f]+-\d+\.json$/.test(name))
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readPurchase(fileEntry(join(folder, name)))] as const)),
  )
}

/** The decisions of a purchase by the names that it asks for. */
function answersByName({ request, answer }: Purchase): Map<string, string | undefined> {
  const operation = requestedOperation(request, OPERATIONS)
  const body = JSON.parse(answer?.body ?? '{}') as { status?: string; results?: { body: { status?: string } }[] }
  const answers = body.results?.map((result) => result.body) ?? [body]
  const items = operation ? itemsOf(operation) : []
  return new Map(items.map(({ input }, index) => [String(input['name']), answers[index]?.status]))
}
