/** Mocha root hooks: check every answer against the OpenAPI description, and end what a test file has started. */
import { stopTestChain } from './chain.ts'
import { killChildren } from './child.ts'
import { checkedFetch, clearDescriptions } from './openapi-check.ts'
import { stopSharedPostgres } from './postgres.ts'
import { removeTemporaryDirectories } from './temporary-directory.ts'
import { endIfStandingStill } from './watchdog.ts'

globalThis.fetch = checkedFetch
endIfStandingStill()

export const mochaHooks = {
  afterAll: [killChildren, stopTestChain, stopSharedPostgres, clearDescriptions, removeTemporaryDirectories],
}
