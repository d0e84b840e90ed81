#!/usr/bin/env node
/** The program `irish-company-agent`: runs the command line with the streams of the process and sets the exit status. */
import { setTimeout as sleep } from 'node:timers/promises'
import { setPrivateUmask } from '../store/private-files.ts'
import { runCli } from './cli/run.ts'

setPrivateUmask()

// If the reader of stdout closes the pipe, the service and a payment in progress continue.
process.stdout.on('error', () => undefined)

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  print: (line) => process.stdout.write(`${line}\n`),
  stderr: process.stderr,
  now: () => new Date(),
  fetch,
  sleep: (milliseconds) => sleep(milliseconds),
})
