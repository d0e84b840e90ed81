/**
 * Mocha root hooks: check every answer against the OpenAPI description, stop the chain and remove the directories of a test
 * file, and after a full run check that some test received each documented error.
 */
import { REFUSALS } from '../../agent/operation/refusal.ts'
import { stopTestChain } from './chain.ts'
import { checkedFetch, clearDescriptions } from './openapi-check.ts'
import { stopSharedPostgres } from './postgres.ts'
import { clearSeenCodes, readSeenCodes } from './seen-codes.ts'
import { removeTemporaryDirectories } from './temporary-directory.ts'

globalThis.fetch = checkedFetch

const ALL_TESTS = 'dist/test/**/*.test.js'

export const mochaHooks = {
  afterAll: [stopTestChain, stopSharedPostgres, clearDescriptions, removeTemporaryDirectories],
}

/** True when mocha runs all tests, without a filter. */
const isWholeRun =
  process.argv.includes(ALL_TESTS) && !process.argv.some((each) => /^(-g|-f|--grep|--fgrep)/.test(each))

export function mochaGlobalSetup(): void {
  clearSeenCodes()
}

export function mochaGlobalTeardown(): void {
  if (!isWholeRun) return
  const seen = readSeenCodes()
  const missing = Object.keys(REFUSALS).filter((code) => !seen.has(code))
  if (missing.length > 0) throw new Error(`No test received these documented errors over HTTP: ${missing.join(', ')}`)
}
