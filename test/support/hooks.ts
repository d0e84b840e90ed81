/** Mocha root hooks: check every answer against the OpenAPI description, and end what a test file has started. */
import { stopTestChain } from './chain.ts'
import { killChildren } from './child.ts'
import { checkedFetch, clearDescriptions } from './openapi-check.ts'
import { stopSharedPostgres } from './postgres.ts'
import { removeTemporaryDirectories } from './temporary-directory.ts'
import { startWatchdog } from './watchdog.ts'

globalThis.fetch = checkedFetch
const watch = startWatchdog()

export const mochaHooks = {
  beforeEach(this: Mocha.Context) {
    watch(this.currentTest?.fullTitle() ?? '')
  },
  afterAll: [killChildren, stopTestChain, stopSharedPostgres, clearDescriptions, removeTemporaryDirectories],
}
