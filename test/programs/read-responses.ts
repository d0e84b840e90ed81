/**
 * Reads records of a response log in a separate process, because LMDB can crash on a damaged file. Arguments: data
 * directory and identities. Prints one line per identity: `body SHA-256`, `missing` or `error NAME`.
 */
import { hash } from 'node:crypto'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import type { ResponseLog } from '../../store/log/responses.ts'

const [directory = '', ...identities] = process.argv.slice(2)

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

const nameOf = (cause: unknown) => (cause instanceof Error ? cause.name : 'unknown')

async function readAll(log: ResponseLog): Promise<void> {
  for (const identity of identities) {
    try {
      const record = await log.read(identity)
      print(record ? `body ${hash('sha256', record.body)}` : 'missing')
    } catch (cause) {
      print(`error ${nameOf(cause)}`)
    }
  }
}

try {
  await readAll(new LmdbResponseLog(directory, { readOnly: true }))
} catch (cause) {
  print(`refused ${nameOf(cause)}`)
}
process.exitCode = 0
