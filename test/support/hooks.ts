/** What mocha does after each test file, or after all where they share a process: ends the chain that tests asked for. */
import { stopTestChain } from './chain.ts'

export const mochaHooks = { afterAll: stopTestChain }
