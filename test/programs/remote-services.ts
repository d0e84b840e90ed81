/** A fake facilitator and chain node in a process of their own, for benchmarks. Sends its URL to the parent process. */
import { openRemotes } from '../support/remotes/server.ts'
import { readArguments } from '../support/arguments.ts'

/** Blocks on Base become final after about 15 minutes. */
const UNFINAL_BLOCKS = '450'

/** The delay of each reply of the node, in milliseconds, and the blocks that are not final. */
const [rpcMs = '0', unfinalBlocks = UNFINAL_BLOCKS] = readArguments('[MILLISECONDS] [BLOCKS]')

const { url } = await openRemotes({ unfinalBlocks: Number(unfinalBlocks), rpcMs: Number(rpcMs) })
process.send?.(url)
process.on('SIGTERM', () => process.exit())
