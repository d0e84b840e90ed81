#!/usr/bin/env node
/** The program `irish-company-agent`. */
import { BUYER } from './buyer/commands.ts'
import { runInProcess } from './command-line/run-in-process.ts'
import { runCli } from './operator/cli/run.ts'

await runInProcess((args, context) => runCli(args, context, BUYER))
