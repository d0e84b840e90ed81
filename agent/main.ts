#!/usr/bin/env node
/** The program `irish-company-agent`. */
import { runCli } from './cli/run.ts'
import { runInProcess } from './cli/run-in-process.ts'

await runInProcess(runCli)
