#!/usr/bin/env node
/** The program `irish-company-agent`. */
import { runInProcess } from '../agent/command-line/run-in-process.ts'
import { runCli } from './cli/run.ts'

await runInProcess(runCli)
