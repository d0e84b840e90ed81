/** The services of a soak: one with a log in LMDB, or two that share a log in PostgreSQL. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { serviceEnvironment } from '../perf/http-rounds.ts'
import { SoakNode } from './node.ts'

/** One base URL for all nodes and processes, because it is part of the answers. The port changes at each restart. */
const BASE_URL = 'http://127.0.0.1:4021'

interface NodesOptions {
  count: number
  directory: string
  /** The archive that the nodes import. */
  dataset: string
  /** The URL of a log in PostgreSQL. */
  responseLog: string | undefined
  /** The URL of the facilitator and the chain node. */
  remotes: string
  onFault: (fault: string) => void
}

export interface SoakNodes extends AsyncDisposable {
  all: readonly [SoakNode, ...SoakNode[]]
}

export async function startNodes(options: NodesOptions): Promise<SoakNodes> {
  const { count, directory, dataset, responseLog, remotes, onFault } = options
  const all: SoakNode[] = []
  const stopAll = async () => {
    for (const node of all) await node[Symbol.asyncDispose]()
  }
  try {
    for (let number = 1; number <= count; number += 1) {
      const name = `node ${number}`
      const dataDirectory = join(directory, name)
      await mkdir(dataDirectory)
      const environment = {
        ...serviceEnvironment(dataDirectory, { dataset, remotes }),
        ...(responseLog !== undefined && { RESPONSE_LOG: responseLog }),
        ADMIN_PORT: '0',
        BASE_URL,
        KEYS_DIR: join(directory, 'keys'),
      }
      const node = new SoakNode({
        name,
        environment,
        onExit: (stderr) => onFault(`${name} exited without a kill: ${stderr}`),
      })
      all.push(node)
      await node.start()
    }
    const [first, ...others] = all
    if (!first) throw new Error('A soak needs a node')
    return { all: [first, ...others], [Symbol.asyncDispose]: stopAll }
  } catch (cause) {
    await stopAll()
    throw cause
  }
}
