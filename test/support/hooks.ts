/** Mocha root hooks: check every answer against the OpenAPI description, and end what a test file has started. */
import { stopTestChain } from './chain.ts'
import { checkedFetch, clearDescriptions } from './openapi-check.ts'
import { stopSharedPostgres } from './postgres.ts'
import { removeTemporaryDirectories } from './temporary-directory.ts'

globalThis.fetch = checkedFetch

export const mochaHooks = {
  afterAll: [stopTestChain, stopSharedPostgres, clearDescriptions, removeTemporaryDirectories],
}
