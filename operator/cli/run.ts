/** The commands of the program `irish-company-agent` (contract 14.5). */
import { ImportError } from '../../store/import/errors.ts'
import { addBackupCommands } from './backup.ts'
import { addCheckCommand } from './check.ts'
import { addImportCommand } from './dataset.ts'
import { addHistoryCommand } from './history.ts'
import { addKeysCommand } from './keys.ts'
import { addMigrateCommand } from './migrate.ts'
import { addMoveLogCommand } from './move-log.ts'
import { addPaymentsCommand } from './payments.ts'
import { addServeCommand } from './serve.ts'
import { addVerifyCommand } from './verify.ts'
import { buyerCommands } from '../../buyer/commands.ts'
import { runProgram } from '../../agent/command-line/run-program.ts'
import type { CliContext } from '../../agent/command-line/context.ts'
import { loadConfig } from './configuration.ts'

const HELP = `
Examples:
  irish-company-agent serve                        start the sandbox
  irish-company-agent client lookup 00000000       buy one company record from it
  irish-company-agent help client                  show the help of a command

In a checkout, write "npm run --silent cli --" in place of "irish-company-agent".
Configuration is read from environment variables; docs/operations.md lists them.`

export function runCli(args: readonly string[], context: CliContext): Promise<number> {
  return runProgram(PROGRAM, args, context)
}

const PROGRAM = {
  name: 'irish-company-agent',
  description: 'Irish company records for agents over REST, A2A and MCP, paid with x402.',
  help: HELP,
  commands: [
    addServeCommand,
    addCheckCommand,
    ...buyerCommands(findService),
    addVerifyCommand,
    addImportCommand,
    addHistoryCommand,
    addKeysCommand,
    addBackupCommands,
    addMigrateCommand,
    addMoveLogCommand,
    addPaymentsCommand,
  ],
  describeFailure,
}

async function findService(context: CliContext) {
  const { baseUrl, host, port, mode, dataDirectory } = await loadConfig(context)
  return { url: baseUrl ?? `http://${host}:${port}`, mode, dataDirectory }
}

/** One line for the operator. */
function describeFailure(error: Error): string {
  if (error instanceof ImportError) return `import failed, ${error.code}: ${error.message}`
  const isAddress = 'syscall' in error && /^(?:listen|getaddrinfo)$/.test(String(error.syscall))
  return isAddress ? `HOST and PORT cannot be used: ${error.message}` : error.message
}
