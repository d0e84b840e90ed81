/**
 * The command `serve`: runs the service until a signal. Stdout has the lines of contract 14.3, the log goes to stderr.
 */
import { once } from 'node:events'
import type { AddCommand, CliContext, CommandContext } from '../../agent/command-line/context.ts'
import { loadConfig } from './configuration.ts'
import type { AllowedChanges } from '../../agent/service/check-log-owner.ts'
import type { Config } from '../../agent/service/config.ts'
import type { Timer } from '../../base/runtime.ts'

/** From `/readyz` to a load balancer that sends nothing more (contract 14.4). */
const UNREADY_MS = 5_000

const HELP = `
Without configuration this starts the sandbox: a local chain, a test token, a buyer with money, and made-up companies.
SIGTERM and SIGINT stop the service after the requests in progress. If stdout is no terminal, it sells for five more
seconds before, which a second signal ends. Another one ends the process at once.

Examples:
  irish-company-agent serve
  PORT=8080 DATA_DIR=/var/lib/companies irish-company-agent serve`

export const addServeCommand: AddCommand = (program, context) => {
  program
    .command('serve')
    .description('Run the service')
    .option('--new-log', 'use another response log in DATA_DIR than before, for example an empty one')
    .option('--new-receiver', 'give the response log to the receiver PAY_TO, if all payments are final')
    .option('--new-keys', 'accept that the keys of earlier receipts are lost, so that these no longer verify')
    .addHelpText('after', HELP)
    .action(async (allowed: AllowedChanges) => serve(context, { config: await loadConfig(context), allowed }))
}

export async function serve(
  context: CliContext & Pick<CommandContext, 'finish' | 'note'>,
  { config, allowed }: { config: Config; allowed: AllowedChanges },
): Promise<void> {
  const { print, now } = context
  const { prepareDataDirectory } = await import('../../store/files/data-directory.ts')
  await prepareDataDirectory(config.dataDirectory)
  const { checkPermissions, setPermissions } = await import('../../agent/service/checks/machine.ts')
  await setPermissions(config)
  await checkPermissions(config)
  const { runInChildIfIdTaken, stopOfParent } = await import('./own-process-id.ts')
  const interrupted = context.interrupted()
  const stop = once(interrupted, 'abort').then(() => String(interrupted.reason))
  const { environment } = context
  const status = await runInChildIfIdTaken(environment, config.dataDirectory, stop)
  if (status !== undefined) return context.finish(status)
  const { logEvents, openLog } = await import('../../agent/service/log.ts')
  const { startService } = await import('../../agent/service/service.ts')
  const { importInProcess } = await import('./import-process.ts')
  const { openExternals } = await import('../../agent/service/externals.ts')
  const { keyRecovery } = await import('../../agent/payment/key-recovery.ts')
  const { LogOutput } = await import('../../agent/service/log-output.ts')
  const output = new LogOutput()
  const log = openLog(config.logLevel, output)
  const { runChecks } = await import('../check/run.ts')
  for await (const { check, kind, detail } of runChecks(context, config, ['disk', 'receiver', 'proxies']))
    if (kind !== 'passed') log.warn({ check, detail }, 'check_failed')
  const events = logEvents(log)
  const { report } = events
  // On a full disk LMDB also rejects promises that have no handler. The failed write itself was reported to its caller.
  process.on('unhandledRejection', (cause) => report('unhandled_rejection', cause))
  // Node prints warnings of libraries as text, and only its own listener does so.
  process.removeAllListeners('warning').on('warning', (cause) => report('library_warning', cause))
  const signal = Promise.race([stop, stopOfParent(environment)])

  await using opened = await openExternals({ config, now, report, log: (line) => log.warn(line) })
  const { externals, lines } = opened
  const runtime = { now, clock: () => performance.now(), random: Math.random, timer }
  const areLogLinesLost = () => output.hasLost()
  const runImport = importInProcess({ dataDirectory: config.dataDirectory, environment })
  const starting = startService({ config, externals, allowed, runImport, ...runtime, ...events, areLogLinesLost })
  const service = await Promise.race([starting, signal])
  if (typeof service === 'string') {
    // A start can wait for minutes. An end here leaves no more than a kill does.
    log.info({ signal: service }, 'stopping')
    await opened[Symbol.asyncDispose]()
    process.exit()
  }
  const signature_recovery = keyRecovery.kind
  const { DATA_DIR } = environment
  const prefix = DATA_DIR === undefined ? '' : `DATA_DIR=${quoteForShell(DATA_DIR)} `
  const lookup = `${prefix}npm run --silent client -- lookup 00000000 --url ${service.baseUrl}`
  const next = lines.length > 0 ? lookup : undefined
  log.info({ base_url: service.baseUrl, admin_url: service.adminUrl, signature_recovery, next }, 'ready')
  for (const line of lines) print(line)
  print(`ready ${service.baseUrl}`)
  const waitEnd = new AbortController()
  // On a terminal a second signal ends the process.
  const secondSignal = context.isTerminal
    ? undefined
    : signalAfter(interrupted, () => context.interrupted(waitEnd.signal))
  log.info({ signal: await signal }, 'stopping')
  service.becomeUnready()
  if (secondSignal) await Promise.race([once(AbortSignal.timeout(UNREADY_MS), 'abort'), secondSignal])
  waitEnd.abort()
  await service.stop()
}

const quoteForShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/**
 * Resolves at the signal after the first one. `listen` is called while that one is handled, because a signal without a
 * listener ends the process at once.
 */
function signalAfter(first: AbortSignal, listen: () => AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const listenAgain = () => listen().addEventListener('abort', () => resolve())
    if (first.aborted) listenAgain()
    else first.addEventListener('abort', listenAgain)
  })
}

/** Timers do not keep the process alive. */
const timer: Timer = (callback, milliseconds) => {
  const timeout = setTimeout(callback, milliseconds).unref()
  return () => clearTimeout(timeout)
}
