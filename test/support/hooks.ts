/**
 * What mocha does before and after each test file, or all where they share a process: holds answers against the
 * description, and ends the chain that tests asked for.
 */
import { stopTestChain } from './chain.ts'
import { checkedFetch } from './described.ts'

globalThis.fetch = checkedFetch

export const mochaHooks = { afterAll: stopTestChain }
