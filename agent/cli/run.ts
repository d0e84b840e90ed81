/** Parses the arguments, runs the command, and maps its result or error to an exit status (contract 14.5). */
import { Command, CommanderError } from 'commander'
import { escapeInvisible } from '../../store/hidden.ts'
import { ImportError } from '../../store/import/errors.ts'
import { addBackupCommands } from './backup.ts'
import { addClientCommand } from './client.ts'
import type { CliContext, CommandContext, CommandResult } from './context.ts'
import { addGenerateCommand, addImportCommand, addSnapshotIdCommand } from './dataset.ts'
import { addKeysCommand } from './keys.ts'
import { addMcpCommand } from './mcp.ts'
import { addMigrateCommand } from './migrate.ts'
import { addPaymentsCommand } from './payments.ts'
import { addRegistryCommand } from './registry.ts'
import { addServeCommand } from './serve.ts'
import { addVerifyCommand } from './verify.ts'

const EXIT_DONE = 0
const EXIT_FAILED = 1
const EXIT_USAGE = 2
/** As in testnet-client.py. */
const EXIT_OUTCOME_UNKNOWN = 4

const HELP = `
Examples:
  irish-company-agent serve                        start the sandbox
  irish-company-agent client lookup 00000000       buy one company record from it
  irish-company-agent help client                  show the help of a command

In a checkout, write "npm run cli --" in place of "irish-company-agent".
Configuration is read from environment variables; docs/operations.md lists them.`

const EXIT_HELP = '\nExit status: 0 done, 1 failed or refused, 2 wrong arguments, 4 outcome of a payment unknown.'

/**
 * Resolves with the exit status. Only the callbacks and the stream of the context are used for output. All printed text is
 * escaped here, because it may come from another party.
 */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let result: CommandResult = true
  const print = (line: string) => context.print(escapeInvisible(line))
  const program = createProgram({ ...context, print, finish: (value) => (result = value) })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitStatus(result)
  } catch (cause) {
    // Commander throws for usage errors, and for --help with exit status 0.
    if (cause instanceof CommanderError) return cause.exitCode === 0 ? EXIT_DONE : EXIT_USAGE
    context.stderr.write(`${escapeInvisible(describeFailure(cause).split('\n', 1)[0] ?? '')}\n`)
    return EXIT_FAILED
  }
}

function exitStatus(result: CommandResult): number {
  if (typeof result === 'number') return result
  if (result === 'outcome unknown') return EXIT_OUTCOME_UNKNOWN
  return result ? EXIT_DONE : EXIT_FAILED
}

function createProgram(context: CommandContext): Command {
  const program = new Command('irish-company-agent')
    .description('A paid data service for agents: Irish company records over A2A and REST, paid with x402.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => text.trimEnd().split('\n').forEach(context.print),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) =>
        write(`${escapeInvisible(text.trim().replaceAll('\n', ' '))} (add --help for usage)\n`),
    })
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', HELP)
    .addHelpText('afterAll', EXIT_HELP)
  addServeCommand(program, context)
  addClientCommand(program, context)
  addVerifyCommand(program, context)
  addMcpCommand(program, context)
  addImportCommand(program, context)
  addSnapshotIdCommand(program, context)
  addGenerateCommand(program, context)
  addKeysCommand(program, context)
  addBackupCommands(program, context)
  addMigrateCommand(program, context)
  addPaymentsCommand(program, context)
  addRegistryCommand(program, context)
  return program
}

/** One line for the operator, without a stack and nested causes. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'The command failed for an unknown reason'
  if (error instanceof ImportError) return `import refused, ${error.code}: ${error.message}`
  switch ('code' in error && error.code) {
    case 'EADDRINUSE':
      return 'PORT is in use by another process'
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'syscall' in error && /^(?:listen|getaddrinfo)$/.test(String(error.syscall))
        ? 'HOST is not an address of this machine'
        : error.message
    case 'EACCES':
      return 'This user may not use PORT or DATA_DIR'
    case 'ENOSPC':
      return 'The disk of DATA_DIR is full'
    default:
      return error.message
  }
}
