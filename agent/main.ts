#!/usr/bin/env node
/** The program `irish-company-agent`. */
import { runCli } from './operator/cli/run.ts'
import { runInProcess } from './command-line/run-in-process.ts'

await runInProcess(runCli)
