/** Mocha root hooks: check every answer against the OpenAPI description, and end what a test file has started. */
import { stopTestChain } from './chain.ts'
import { killChildren } from './child.ts'
import { checkedFetch, clearDescriptions } from './openapi-check.ts'
import { stopSharedPostgres } from './postgres.ts'
import { describeMissed } from './programs.ts'
import { removeTemporaryDirectories } from './temporary-directory.ts'
import { describeKilled, endTestFile, startWatchdog } from './watchdog.ts'

globalThis.fetch = checkedFetch
const watch = startWatchdog()

// The first process. Mocha can end without a failure after all of its workers were killed.
if (!process.send)
  process.on('exit', () => {
    for (const line of describeMissed()) process.stdout.write(`${line}\n`)
    for (const line of describeKilled()) {
      process.stdout.write(`${line}\n`)
      process.exitCode = 1
    }
  })

export const mochaHooks = {
  beforeEach(this: Mocha.Context) {
    watch(this.currentTest?.fullTitle() ?? '')
  },
  afterAll: [
    killChildren,
    stopTestChain,
    stopSharedPostgres,
    clearDescriptions,
    removeTemporaryDirectories,
    endTestFile,
  ],
}
