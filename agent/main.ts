/** The process: reads its arguments and surroundings, runs one command, and turns every end into an exit code. */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve as absolute } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keysCommand } from '../keys/command.ts'
import { KeyError } from '../keys/errors.ts'
import { ImportError } from '../store/import/errors.ts'
import { isUrl } from '../store/import/location.ts'
import type { Timer } from '../store/import/schedule.ts'
import { StoreError } from '../store/open.ts'
import { ConfigError, readConfig, type Config } from './config.ts'
import { describeCause, openLog } from './log.ts'

const EXIT_DONE = 0
const EXIT_FAILED = 1
const EXIT_USAGE = 2

const USAGE = `usage: npm start
       npm run import -- PATH | URL [--synthetic]
       npm run snapshot-id -- PATH
       npm run generate -- --rows N --seed S --out FILE.zip|FILE.csv
       npm run client -- lookup NUMBER | search NAME | resolve NAME | --retry FILE | verify-card
       npm run keys -- generate | rotate | list
       npm run payments -- unfinished | show IDENTITY
       npm run registry -- show | register`

const COMMANDS: Record<string, (config: Config, args: string[]) => Promise<number>> = {
  serve,
  import: importArchive,
  'snapshot-id': snapshotId,
  generate,
  client,
  payments,
  registry,
  keys: (config, args) => keysCommand({ args, directory: config.keysDirectory, now: Date.now, print }),
}

const processes = {
  own: process.pid,
  token: randomUUID(),
  isRunning(id: number): boolean {
    try {
      return process.kill(id, 0)
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'EPERM'
    }
  },
}

const now = () => new Date()

/** In bytes. */
const peakMemory = () => process.resourceUsage().maxRSS * 1024

const timer: Timer = (callback, milliseconds) => {
  const timeout = setTimeout(callback, milliseconds).unref()
  return () => clearTimeout(timeout)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Where a command is, for who watches it; nothing when stderr is a file. */
function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${line}\u001B[K`)
}

/** Serves until a signal. Prints where, and in the sandbox what a buyer needs. */
async function serve(config: Config): Promise<number> {
  const { startService } = await import('./service.ts')
  const { openDoors } = await import('./doors.ts')
  const log = openLog(config.logLevel)
  const report = (event: string, cause: unknown) => log.warn({ ...describeCause(cause) }, event)
  // LMDB rejects promises that nobody holds when a disk is full; the write itself has failed where it was awaited.
  process.on('unhandledRejection', (cause) => report('unhandled_rejection', cause))

  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    const listen = (signal: NodeJS.Signals) => {
      resolve(signal)
      // The second signal ends the process at once.
      process.removeListener('SIGINT', listen)
      process.removeListener('SIGTERM', listen)
    }
    process.on('SIGINT', listen)
    process.on('SIGTERM', listen)
  })

  const outside = await openDoors({ config, now, report, log: (line) => log.warn(line) })
  try {
    const { doors, lines } = outside
    const surroundings = { config, version: await version(), doors, processes, now, random: Math.random, timer, report }
    const service = await startService(surroundings)
    log.info({ base_url: service.baseUrl }, 'ready')
    for (const line of lines) print(line)
    print(`ready ${service.baseUrl}`)
    log.info({ signal: await signalled }, 'stopping')
    await service.stop()
  } finally {
    await outside.stop()
  }
  return EXIT_DONE
}

async function importArchive(config: Config, args: string[]): Promise<number> {
  const synthetic = args.includes('--synthetic')
  const [source, ...more] = args.filter((each) => each !== '--synthetic')
  if (source === undefined || source.startsWith('--') || more.length > 0) {
    print('usage: npm run import -- PATH | URL [--synthetic]')
    return EXIT_USAGE
  }
  const { importCommand } = await import('../store/import/command.ts')
  const path = isUrl(source) ? source : absolute(source)
  const { dataDirectory } = config
  return importCommand({ dataDirectory, path, synthetic, processes, now, peakMemory, print, progress })
}

async function snapshotId(_config: Config, args: string[]): Promise<number> {
  const [path] = args
  if (path === undefined || args.length > 1) {
    print('usage: npm run snapshot-id -- PATH')
    return EXIT_USAGE
  }
  const { snapshotIdCommand } = await import('../store/import/snapshot-id-command.ts')
  return snapshotIdCommand({ path: absolute(path), temporaryDirectory: tmpdir(), processes, now, print, progress })
}

async function generate(_config: Config, args: string[]): Promise<number> {
  const { generateCommand } = await import('./sandbox/generate-command.ts')
  return generateCommand({ args, print, progress })
}

async function client(config: Config, args: string[]): Promise<number> {
  const { clientCommand } = await import('./client/command.ts')
  return clientCommand({
    args,
    print,
    now,
    fetch,
    sleep: (milliseconds) => sleep(milliseconds),
    defaultUrl: urlOf(config),
    defaultKeyFile: join(config.dataDirectory, 'sandbox', 'buyer.key'),
    purchasesDirectory: join(config.dataDirectory, 'purchases'),
  })
}

async function payments({ dataDirectory }: Config, args: string[]): Promise<number> {
  const { paymentsCommand } = await import('./payments/command.ts')
  return paymentsCommand({ args, dataDirectory, print })
}

async function registry(config: Config, args: string[]): Promise<number> {
  const { registryCommand } = await import('./registry/command.ts')
  const { REGISTRATION_PATH } = await import('../rest-facade/registration.ts')
  const { DEPLOYMENTS } = await import('./payments/terms.ts')
  const baseUrl = urlOf(config)
  const { network } = DEPLOYMENTS.testnet
  const isPublic = config.baseUrl !== undefined
  return registryCommand({ args, print, fetch, network, baseUrl, isPublic, agentUri: `${baseUrl}${REGISTRATION_PATH}` })
}

/** Where a service with this configuration is reached. */
function urlOf({ baseUrl, host, port }: Config): string {
  return baseUrl ?? `http://${host}:${port}`
}

async function version(): Promise<string> {
  const manifest = await readFile(new URL(import.meta.resolve('#root/package.json')), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** One line for the operator, whatever failed. */
function failure(error: unknown): string {
  return reasonOf(error).split('\n', 1)[0] ?? ''
}

function reasonOf(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StoreError || error instanceof KeyError) return error.message
  if (error instanceof ImportError) return `import refused, ${error.fault}: ${error.message}`
  if (error instanceof Error && 'code' in error) {
    if (error.code === 'EADDRINUSE') return 'PORT is in use by another process'
    if (error.code === 'EACCES') return 'PORT or DATA_DIR may not be used by this user'
    if (error.code === 'ENOSPC') return 'DATA_DIR is on a full disk'
  }
  return error instanceof Error ? error.message : 'failed for an unknown reason'
}

async function main(): Promise<number> {
  const [name = '', ...args] = process.argv.slice(2)
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (!command) {
    print(USAGE)
    return EXIT_USAGE
  }
  return command(readConfig(process.env), args)
}

// Whoever read our lines has left; the service and a payment under way go on.
process.stdout.on('error', () => undefined)

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${failure(error)}\n`)
    process.exitCode = EXIT_FAILED
  },
)
