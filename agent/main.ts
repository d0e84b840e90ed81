#!/usr/bin/env node
/** The program `irish-company-agent`. */
import { runInProcess } from './command-line/run-in-process.ts'
import { runCli } from './operator/cli/run.ts'

await runInProcess(runCli)
