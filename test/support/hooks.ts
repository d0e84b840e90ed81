/**
 * What mocha does around the tests: holds answers against the description, ends the chain that a file's tests asked for, and after
 * a run of all tests asks whether each documented error was produced by one of them.
 */
import { REFUSALS } from '../../agent/operation/refusal.ts'
import { stopTestChain } from './chain.ts'
import { checkedFetch, forgetServices } from './described.ts'
import { forgetCodes, seenCodes } from './seen-codes.ts'

globalThis.fetch = checkedFetch

const ALL_TESTS = 'dist/test/**/*.test.js'

export const mochaHooks = { afterAll: [stopTestChain, forgetServices] }

/** Where mocha is told of all tests, and not of some of them. */
const isWholeRun =
  process.argv.includes(ALL_TESTS) && !process.argv.some((each) => /^(-g|-f|--grep|--fgrep)/.test(each))

export function mochaGlobalSetup(): void {
  forgetCodes()
}

export function mochaGlobalTeardown(): void {
  if (!isWholeRun) return
  const seen = seenCodes()
  const missing = Object.keys(REFUSALS).filter((code) => !seen.has(code))
  if (missing.length > 0) throw new Error(`No test got these documented errors over HTTP: ${missing.join(', ')}`)
}
