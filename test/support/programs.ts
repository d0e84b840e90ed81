/**
 * Programs of the machine that tests need and npm does not install. Without one its tests are skipped, which a run says
 * in one line; in CI they fail.
 */
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Context } from 'mocha'
import { RUN } from './watchdog.ts'

/** What is not tested without each program, and the package of Debian that has it. */
const PROGRAMS = {
  chromium: ['chromium-headless-shell', 'the page in a browser'],
  PostgreSQL: ['postgresql-15', 'the response log in PostgreSQL'],
  pgbouncer: ['pgbouncer', 'the response log behind pgbouncer'],
  promtool: ['prometheus', 'when alerts fire'],
  'systemd-analyze': ['systemd', 'the restrictions of the unit'],
  'Python 3.9': ['python3', 'the programs in Python'],
  PyJWT: ['python3-jwt python3-cryptography', 'a receipt in PyJWT'],
  'httpx, ecdsa and Cryptodome': ['python3-httpx python3-ecdsa python3-pycryptodome', 'testnet-client.py'],
} satisfies Record<string, [packages: string, tested: string]>

export type Program = keyof typeof PROGRAMS

/** The programs that a run has missed, one a line. */
const MISSED = fileURLToPath(new URL(`../../missed-programs-${RUN}`, import.meta.url))

/** For a hook or a test. @param found the program, undefined if it is not there */
export function needProgram<T>(context: Context, program: Program, found: T | undefined): T {
  if (found !== undefined) return found
  const [packages] = PROGRAMS[program]
  if (process.env['CI'] !== undefined) throw new Error(`${program} is missing; .ci/run installs ${packages}`)
  appendFileSync(MISSED, `${program}\n`)
  return context.skip()
}

/** A line for each program that the run has missed. */
export function describeMissed(): string[] {
  if (!existsSync(MISSED)) return []
  const missed = new Set(readFileSync(MISSED, 'utf8').split('\n'))
  rmSync(MISSED)
  return Object.entries(PROGRAMS)
    .filter(([program]) => missed.has(program))
    .map(([program, [packages, tested]]) => `SKIPPED without ${program} (apt-get install ${packages}): ${tested}`)
}
