#!/usr/bin/env node
/** The program of the buyer's package, `irish-company-agent-client`: the commands that need no service of their own. */
import { buyerCommands } from './commands.ts'
import { runInProcess } from '../agent/command-line/run-in-process.ts'
import { runProgram } from '../agent/command-line/run-program.ts'

const PROGRAM = {
  name: 'irish-company-agent-client',
  description: 'Buys Irish company records, paid with x402.',
  help: '',
  commands: buyerCommands(),
  describeFailure: ({ message }: Error) => message,
}

await runInProcess((args, context) => runProgram(PROGRAM, args, context))
