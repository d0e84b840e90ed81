/**
 * Each command that buys, killed, interrupted or without room for what it writes, and then run again as its user would.
 * A command must have one payment for each thing that it buys, and an answer that was not printed is printed free.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { fileEntry } from '../../../buyer/library/folder-storage.ts'
import { OUTCOMES } from '../../../buyer/library/outcome.ts'
import { findPurchase, readPayment } from '../../../buyer/library/purchase-file.ts'
import { purchasedReceipt } from '../../../buyer/library/verify-purchase.ts'
import { atOnce } from '../../support/at-once.ts'
import { runCommand } from '../../support/cli.ts'
import { mountDisk } from '../../support/mount.ts'
import { randomFor } from '../../support/random.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { print } from '../report.ts'
import type { Result } from '../crash.ts'
import { recordNonces } from './buyers.ts'
import { ONE_THREAD, readPoints, strace } from './trace.ts'

const PROGRAM = fileURLToPath(import.meta.resolve('#root/dist/buyer/main.js'))

/** Runs at a time. Each waits for the service most of the time. */
const AT_ONCE = 6
/** A command that has not ended after this time hangs. */
const RUN_MS_MAX = 120_000
const PAGE_BYTES = 4096
/** Runs of the same command until it ends well. The service may still be settling the payment of the first one. */
const REPEATS_MAX = 5
const PAUSE_MS_MAX = 500

interface CommandCase {
  name: string
  /** Written into the folder of a run first. */
  files?: Record<string, string>
  args: string[]
  /** Where the command keeps its purchases, in the folder of the run. */
  purchases: string
  /** Whether stdout has the answer, which is marked as delivered. */
  printsAnswer: boolean
  /** The requests of an MCP client. */
  stdin?: string
  /** A purchase whose payment got no answer, made first. */
  isRetried?: boolean
}

const single = (name: string, args: string[], files?: Record<string, string>): CommandCase => ({
  name,
  args: ['--json', ...args],
  purchases: 'purchases',
  printsAnswer: true,
  ...(files && { files }),
})

const NUMBERS = ['73848', '83740', '00000000']
const INPUTS = NUMBERS.map((company_number) => ({ company_number }))
const NAMES = 'name\nAlpha Sample 1 Limited\nAlpha Sample 2 Limited\nAlpha Sample 1 Limited\n'
const CALL = { name: 'lookup_company', arguments: { company_number: '00000000' } }
const CLIENT = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'crash', version: '1' } }
const rpcLine = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`

const reconcile = (name: string, args: string[]): CommandCase => ({
  name,
  files: { 'list.csv': NAMES },
  args: ['reconcile', 'list.csv', '--column', 'name', '--yes', ...args],
  purchases: 'list.reconciled.csv.purchases',
  printsAnswer: false,
})

function casesOf(today: string): CommandCase[] {
  return [
    single('lookup', ['lookup', '00000000']),
    single('search', ['search', 'sample']),
    single('resolve', ['resolve', 'Alpha Sample Limited']),
    single('history', ['history', '00000000']),
    single('as-of', ['as-of', '00000000', today]),
    single('changes', ['changes', '--since', today]),
    single('batch', ['batch', 'batch.json'], { 'batch.json': JSON.stringify({ operation: 'lookup', inputs: INPUTS }) }),
    { ...single('--retry', ['lookup', '00000000']), isRetried: true },
    reconcile('reconcile', []),
    reconcile('reconcile --batch', ['--batch']),
    {
      name: 'watch',
      files: { 'list.csv': `Number\n${NUMBERS.join('\n')}\n` },
      args: ['watch', 'list.csv', '--column', 'Number', '--state', 'state.json', '--max-total', '0.9', '--yes'],
      purchases: 'state.json.purchases',
      printsAnswer: false,
    },
    {
      name: 'mcp',
      args: ['mcp', '--folder', 'purchases'],
      purchases: 'purchases',
      printsAnswer: false,
      stdin: [
        rpcLine({ id: 1, method: 'initialize', params: CLIENT }),
        rpcLine({ method: 'notifications/initialized' }),
        rpcLine({ id: 2, method: 'tools/call', params: CALL }),
      ].join(''),
    },
  ]
}

/** What happens to a run. `error`: a call of the system fails, as on a full disk. */
type Attack =
  | { kind: 'signal'; signal: string; call: string; at: number }
  | { kind: 'error'; call: string; at: number }
  | { kind: 'stdout'; to: '/dev/full' | 'a closed pipe' }
  | { kind: 'disk'; pages: number }

const SIGNALS = ['KILL', 'INT', 'TERM', 'HUP']
/** Those that only files get, so that the connection to the service still works. */
const FILE_CALLS: ReadonlySet<string> = new Set(['fsync', 'fdatasync', 'link', 'rename'])

function describe(attack: Attack): string {
  if (attack.kind === 'signal') return `SIG${attack.signal} before ${attack.call} ${attack.at}`
  if (attack.kind === 'error') return `no space for ${attack.call} ${attack.at}`
  return attack.kind === 'disk' ? `a disk of ${attack.pages} pages` : `stdout is ${attack.to}`
}

interface Baseline {
  command: CommandCase
  names: string[]
  attacks: Attack[]
}

interface Run {
  /** The exit status, or the signal that ended it. */
  ended: number | string | null
  stdout: string
  stderr: string
}

/** Attacks the commands in turn. @returns undefined if `only` names none of them */
export async function attackCommands(options: {
  runs: number
  seed: number
  only: string
}): Promise<Result | undefined> {
  const subject = 'each purchasing command'
  const today = new Date().toISOString().slice(0, 10)
  const commands = casesOf(today).filter(({ name }) => `${subject}: ${name}`.includes(options.only))
  if (commands.length === 0) return undefined
  const service = await startTestService({ environment: { RATE_LIMIT_PER_MINUTE: '100000' } })
  try {
    const found = await attackAll(service, commands, options)
    return { subject, ...found, faults: found.faults.map((fault) => `${subject}: ${fault}`) }
  } finally {
    await service.stop()
  }
}

async function attackAll(
  service: TestService,
  commands: readonly CommandCase[],
  { runs, seed }: { runs: number; seed: number },
): Promise<Omit<Result, 'subject'>> {
  const root = await makeTemporaryDirectory()
  const sent = recordNonces(service.localUrl)
  const before = (await service.paid()).transfers
  const keyFile = join(root, 'buyer.key')
  await writeFile(keyFile, service.buyerKey, { mode: 0o600 })
  const setting: Setting = { url: service.url, keyFile }
  const folders: { command: CommandCase; folder: string }[] = []
  const newFolder = async (command: CommandCase) => {
    const folder = join(root, String(folders.length))
    folders.push({ command, folder })
    await mkdir(folder)
    return folder
  }
  const faults: string[] = []
  const baselines: Baseline[] = []
  for (const command of commands) {
    const baseline = await observe(setting, command, await newFolder(command))
    if (typeof baseline === 'string') faults.push(`${command.name}, not attacked: ${baseline}`)
    else baselines.push({ ...baseline, attacks: shuffled(baseline.attacks, seed, baselines.length) })
  }
  const drawn = Array.from({ length: runs }, (_, at) => {
    const { attacks, ...baseline } = baselines[at % baselines.length]!
    return { ...baseline, attack: attacks[Math.floor(at / baselines.length) % attacks.length]! }
  })
  const counts = new Map<string, number>()
  await atOnce(AT_ONCE, drawn, async ({ command, names, attack }) => {
    const found = await attackOnce(setting, { command, names, attack, folder: await newFolder(command) })
    if (found.isHit) counts.set(kindOf(attack), (counts.get(kindOf(attack)) ?? 0) + 1)
    faults.push(...found.faults.map((fault) => `${command.name}, ${describe(attack)}: ${fault}`))
  })
  print([...counts].map(([kind, count]) => `${kind}: ${count}`).join(', '))
  const saved = new Set<string>()
  for (const { command, folder } of folders)
    for (const name of await purchaseNames(folder, command))
      saved.add(readPayment((await findPurchase(fileEntry(join(folder, command.purchases, name))))!).nonce)
  const second = [...sent].filter((nonce) => !saved.has(nonce)).length
  if (second > 0) faults.push(`${second} payments were sent that are in no purchase file`)
  const transfers = (await service.paid()).transfers - before
  if (transfers !== saved.size) faults.push(`${saved.size} purchases have ${transfers} transfers`)
  const deaths = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const all = baselines.flatMap(({ attacks }) => attacks)
  // Not every machine can mount a small disk.
  const isHit = (attack: Attack) => attack.kind === 'disk' || counts.has(kindOf(attack))
  const isComplete = runs >= baselines.length && all.every(isHit)
  return { points: all.length, deaths, faults, isComplete }
}

const kindOf = (attack: Attack) => (attack.kind === 'signal' ? `SIG${attack.signal}` : attack.kind)

/**
 * Each kind in turn, and in it each call, because a rare rename is as interesting as each of many writes. Each command
 * begins with the next kind, so that a few attacks on each command have all kinds.
 */
function shuffled(attacks: readonly Attack[], seed: number, stream: number): Attack[] {
  const random = randomFor(seed, stream, 0)
  const drawn = attacks.map((attack) => ({ attack, key: random() })).toSorted((one, other) => one.key - other.key)
  const ordered = drawn.map(({ attack }) => attack)
  const callOf = (attack: Attack) => `${kindOf(attack)} ${'call' in attack ? attack.call : ''}`
  const kinds = [...new Set(attacks.map(kindOf))].toSorted()
  const rank = (attack: Attack) => (kinds.indexOf(kindOf(attack)) + stream) % kinds.length
  return inTurn(
    inTurn(ordered, callOf).toSorted((one, other) => rank(one) - rank(other)),
    kindOf,
  )
}

/** Orders the first of each group before the second of any. */
function inTurn(attacks: readonly Attack[], groupOf: (attack: Attack) => string): Attack[] {
  const counts = new Map<string, number>()
  const turns = attacks.map((attack) => {
    const turn = counts.get(groupOf(attack)) ?? 0
    counts.set(groupOf(attack), turn + 1)
    return { attack, turn }
  })
  return turns.toSorted((one, other) => one.turn - other.turn).map(({ attack }) => attack)
}

interface Setting {
  url: string
  keyFile: string
}

/** Runs a command without an attack. @returns the purchases that it makes and all its attacks, or a fault */
async function observe(setting: Setting, command: CommandCase, folder: string): Promise<Baseline | string> {
  await prepare(setting, command, folder)
  const trace = `${folder}.trace`
  const run = await start(setting, command, { folder, tracer: strace(trace) })
  const names = await purchaseNames(folder, command)
  if (run.ended !== 0 || names.length === 0) return `${run.ended}: ${run.stderr}`
  const points = [...(await readPoints(trace))].flatMap(([call, count]) =>
    Array.from({ length: count }, (_, at) => ({ call, at: at + 1 })),
  )
  const files = await readdir(folder, { recursive: true })
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size))
  const pages = sizes.reduce((sum, size) => sum + Math.ceil(size / PAGE_BYTES), 0)
  const attacks: Attack[] = [
    ...points.flatMap((point) =>
      SIGNALS.map((signal) => ({ kind: 'signal' as const, signal, call: point.call, at: point.at })),
    ),
    ...points.flatMap((point) => (FILE_CALLS.has(point.call) ? [{ kind: 'error' as const, ...point }] : [])),
    { kind: 'stdout', to: '/dev/full' },
    { kind: 'stdout', to: 'a closed pipe' },
    ...Array.from({ length: pages + 2 }, (_, at) => ({ kind: 'disk' as const, pages: at + 1 })),
  ]
  return { command, names, attacks }
}

interface Attacked {
  command: CommandCase
  names: string[]
  attack: Attack
  folder: string
}

async function attackOnce(setting: Setting, attacked: Attacked): Promise<{ isHit: boolean; faults: string[] }> {
  const { command, attack, folder } = attacked
  if (attack.kind !== 'disk') return judge(setting, attacked)
  const files = Object.keys(command.files ?? {}).length + (command.isRetried ? 2 : 0)
  const disk = await mountDisk(folder, `nr_blocks=${attack.pages + files}`)
  if (!disk) return { isHit: false, faults: [] }
  try {
    return await judge(setting, attacked)
  } finally {
    await promisify(execFile)('cp', ['-r', `${folder}/.`, `${folder}.kept`])
    await disk.unmount()
    await promisify(execFile)('cp', ['-r', `${folder}.kept/.`, folder])
  }
}

async function judge(setting: Setting, { command, names, attack, folder }: Attacked) {
  await prepare(setting, command, folder)
  const trace = `${folder}.trace`
  const run = await start(setting, command, { folder, attack, tracer: tracerOf(trace, attack) })
  const traced = await readFile(trace, 'latin1').catch(() => '')
  const isHit = attack.kind === 'stdout' || attack.kind === 'disk' || /^\d+ +--- SIG|INJECTED|killed by/m.test(traced)
  const faults = await judgeRun(run, { command, attack, folder })
  if (attack.kind === 'disk') await promisify(execFile)('mount', ['-o', 'remount,nr_blocks=4096', folder])
  faults.push(...(await judgeRepeat(setting, run, { command, names, folder })))
  return { isHit, faults: faults.map((fault) => `${fault} [${run.ended}: ${run.stderr.replaceAll('\n', ' / ')}]`) }
}

function tracerOf(trace: string, attack: Attack): string[] {
  if (attack.kind !== 'signal' && attack.kind !== 'error') return []
  const what = attack.kind === 'signal' ? `signal=${attack.signal}` : 'error=ENOSPC'
  return strace(trace, { ...attack, what })
}

/** What must hold when the attacked run has ended. */
async function judgeRun(run: Run, { command, attack, folder }: Omit<Attacked, 'names'>): Promise<string[]> {
  const faults: string[] = []
  const isStopped = attack.kind === 'signal' && attack.signal !== 'KILL'
  const hasPayment = (await purchaseNames(folder, command)).length > 0
  // A server of a protocol says nothing of its own.
  if (isStopped && hasPayment && command.stdin === undefined && !command.isRetried && !saysMoney(run))
    faults.push('it ends without a word on the money')
  if (attack.kind === 'stdout' && command.printsAnswer && run.ended !== 5) faults.push('an unwritten answer is not 5')
  if (!command.printsAnswer) return faults
  const delivered = await isMarked(folder, command)
  const isPrinted = (await printedAnswers(folder, command)).includes(toText(run.stdout))
  if (delivered && !isPrinted) faults.push('an answer is marked as delivered and not printed')
  if (run.ended === 0 && !isPrinted) faults.push('it ends with 0 without the answer')
  return faults
}

const SENTENCES = Object.values(OUTCOMES).flatMap(({ sentence }) => sentence || 'when that is certain')
const MONEY = [...SENTENCES, 'Nothing was signed', 'It is sold', 'USDC paid by', 'Paid: ', 'Paid in ']
/** Each thread can get the signal once. A second one ends the process, as a second Ctrl-C does. */
const saysMoney = ({ ended, stdout, stderr }: Run) =>
  typeof ended === 'string' || MONEY.some((text) => `${stdout}${stderr}`.includes(text))

const isMarked = async (folder: string, { purchases }: CommandCase) =>
  (await readdir(join(folder, purchases)).catch(() => [])).some((name) => name.endsWith('.delivered.json'))

/** Runs the same command until it ends well: it must have the purchases of a run without an attack, and no other. */
async function judgeRepeat(
  setting: Setting,
  attacked: Run,
  { command, names, folder }: Omit<Attacked, 'attack'>,
): Promise<string[]> {
  // What was delivered is bought anew by the same command.
  if (command.printsAnswer && (await isMarked(folder, command))) return checkPurchases()
  if (command.stdin !== undefined && hasToolAnswer(attacked)) return checkPurchases()
  let again: Run = attacked
  for (let repeats = 0; repeats < REPEATS_MAX; repeats += 1) {
    again = await repeat(setting, command, folder)
    if (again.ended === 0 && (command.stdin === undefined || hasToolAnswer(again))) break
  }
  if (again.ended !== 0)
    return [`the same command ends with ${again.ended}: ${again.stderr}`, ...(await checkPurchases())]
  const isPrinted = !command.printsAnswer || (await printedAnswers(folder, command)).includes(toText(again.stdout))
  return [...(isPrinted ? [] : ['the same command does not print the answer']), ...(await checkPurchases())]

  async function checkPurchases(): Promise<string[]> {
    const now = await purchaseNames(folder, command)
    const faults = now.join() === names.join() ? [] : [`${names.length} purchases have become ${now.length}`]
    for (const name of now) {
      const purchase = await findPurchase(fileEntry(join(folder, command.purchases, name)))
      if (!purchase || purchasedReceipt(purchase) === undefined) faults.push(`${name} has no answer`)
    }
    return faults
  }
}

/** Whether a client of MCP has got the answer of the call. */
const hasToolAnswer = ({ stdout }: Run) => stdout.includes('"id":2') && !stdout.includes('"isError":true')

/** Those of the purchases, without the entries beside them. */
async function purchaseNames(folder: string, { purchases }: CommandCase): Promise<string[]> {
  const files = await readdir(join(folder, purchases)).catch(() => [])
  return files.filter((name) => /^[0-9a-f]+-\d+\.json$/.test(name)).toSorted()
}

const toText = (printed: string): string => {
  try {
    return JSON.stringify(JSON.parse(printed))
  } catch {
    return 'no JSON'
  }
}

async function printedAnswers(folder: string, command: CommandCase): Promise<string[]> {
  const names = await purchaseNames(folder, command)
  const bought = await Promise.all(names.map((name) => findPurchase(fileEntry(join(folder, command.purchases, name)))))
  return bought.flatMap((purchase) => (purchase?.answer ? [toText(purchase.answer.body)] : []))
}

const argsOf = ({ url, keyFile }: Setting, { args }: CommandCase) => [...args, '--url', url, '--key-file', keyFile]

async function prepare(setting: Setting, command: CommandCase, folder: string): Promise<void> {
  for (const [name, text] of Object.entries(command.files ?? {})) await writeFile(join(folder, name), text)
  if (!command.isRetried) return
  // The payment is on disk, and did not arrive.
  const lost: typeof fetch = async (input, init) => {
    if (new Headers(init?.headers).has('PAYMENT-SIGNATURE')) throw new Error('The connection is lost')
    return fetch(input, init)
  }
  const environment = { DATA_DIR: folder }
  await runCommand(['client', ...argsOf(setting, command)], { environment, fetch: lost })
}

interface Started {
  folder: string
  attack?: Attack
  tracer: readonly string[]
}

/** Starts the program in the folder, and waits until it has ended. */
async function start(setting: Setting, command: CommandCase, { folder, attack, tracer }: Started): Promise<Run> {
  const target = attack?.kind === 'stdout' && attack.to === '/dev/full' ? ' >/dev/full' : ''
  const [retried] = command.isRetried ? await purchaseNames(folder, command) : []
  const args =
    retried === undefined ? argsOf(setting, command) : ['--json', '--retry', join(command.purchases, retried)]
  const child = spawn('sh', ['-c', `exec "$@"${target}`, 'sh', ...tracer, process.execPath, PROGRAM, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...ONE_THREAD },
    stdio: 'pipe',
    timeout: RUN_MS_MAX,
    killSignal: 'SIGKILL',
  })
  const closed = once(child, 'close')
  let [stdout, stderr] = ['', '']
  child.stdin.on('error', () => undefined)
  if (command.stdin === undefined) child.stdin.end()
  else child.stdin.write(command.stdin)
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (stdout.includes('"id":2')) child.stdin.end()
  })
  if (attack?.kind === 'stdout' && attack.to === 'a closed pipe') child.stdout.destroy()
  // No answer can arrive, so a client closes the connection.
  if (attack?.kind === 'stdout') child.stdin.end()
  const [code, signal] = (await closed) as [number | null, string | null]
  return { ended: signal ?? code, stdout, stderr }
}

/** The same command, in this process unless it is a server. */
async function repeat(setting: Setting, command: CommandCase, folder: string): Promise<Run> {
  if (command.stdin !== undefined) return start(setting, command, { folder, tracer: [] })
  const args = argsOf(setting, command).map((arg) => (/^\w+\.(?:csv|json)$/.test(arg) ? join(folder, arg) : arg))
  const { code, text, stderr } = await runCommand(['client', ...args], {
    environment: { DATA_DIR: folder },
    sleep: (milliseconds) => sleep(Math.min(milliseconds, PAUSE_MS_MAX)),
  })
  return { ended: code, stdout: text, stderr }
}
