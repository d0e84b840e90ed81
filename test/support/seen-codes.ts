/** Which codes of refusal the tests of a run have got over HTTP, across the processes that share the run. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(import.meta.resolve('#root/dist/test/seen-codes'))

const noted = new Set<string>()

export function forgetCodes(): void {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
}

/** Each process keeps a file of its own. */
export function noteCode(code: unknown): void {
  if (typeof code !== 'string' || noted.has(code)) return
  noted.add(code)
  mkdirSync(FOLDER, { recursive: true })
  appendFileSync(join(FOLDER, String(process.pid)), `${code}\n`)
}

export function seenCodes(): Set<string> {
  return new Set(readdirSync(FOLDER).flatMap((file) => readFileSync(join(FOLDER, file), 'utf8').trim().split('\n')))
}
