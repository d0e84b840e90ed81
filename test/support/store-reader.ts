/**
 * Reads every record of a response log, as a process of its own: LMDB may end the process over a damaged file. Run as
 * `node dist/test/support/store-reader.js DATA_DIRECTORY IDENTITY...`; prints a line for each, `body SHA-256` or `error NAME`.
 */
import { hash } from 'node:crypto'
import { openResponseLog, type ResponseLog } from '../../store/responses.ts'

const [directory = '', ...identities] = process.argv.slice(2)

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

const nameOf = (cause: unknown) => (cause instanceof Error ? cause.name : 'unknown')

async function readAll(log: ResponseLog): Promise<void> {
  for (const identity of identities) {
    try {
      const record = await log.read(identity)
      say(record ? `body ${hash('sha256', record.body)}` : 'missing')
    } catch (cause) {
      say(`error ${nameOf(cause)}`)
    }
  }
}

try {
  await readAll(openResponseLog(directory, { readOnly: true }))
} catch (cause) {
  say(`refused ${nameOf(cause)}`)
}
process.exitCode = 0
