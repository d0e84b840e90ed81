#!/usr/bin/env node
/** The program of the buyer's package, `irish-company-agent-client`: the commands that need no service. */
import { addMcpCommand, addReconcileServiceCommand } from './cli/local-servers.ts'
import { runInProcess } from './cli/run-in-process.ts'
import { runProgram } from './cli/run-program.ts'

const PROGRAM = {
  name: 'irish-company-agent-client',
  description: 'Buys Irish company records, paid with x402.',
  help: '',
  commands: [addMcpCommand, addReconcileServiceCommand],
  describeFailure: ({ message }: Error) => message,
}

await runInProcess((args, context) => runProgram(PROGRAM, args, context))
