/** Records which error codes the tests of a run receive over HTTP, in all processes of the run. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(import.meta.resolve('#root/dist/test/seen-codes'))

const recorded = new Set<string>()

export function clearSeenCodes(): void {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
}

/** Each process writes its own file. */
export function recordCode(code: unknown): void {
  if (typeof code !== 'string' || recorded.has(code)) return
  recorded.add(code)
  mkdirSync(FOLDER, { recursive: true })
  appendFileSync(join(FOLDER, String(process.pid)), `${code}\n`)
}

export function readSeenCodes(): Set<string> {
  return new Set(readdirSync(FOLDER).flatMap((file) => readFileSync(join(FOLDER, file), 'utf8').trim().split('\n')))
}
