/** Runs Python with warnings as errors. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Context } from 'mocha'
import { needProgram } from './programs.ts'

const STRICT = ['-B', '-W', 'error', '-X', 'dev']

export interface PythonResult {
  code: number | null
  stdout: string
  stderr: string
}

/** Passes on only PATH from the environment. */
export async function runPython(
  args: string[],
  { cwd, stdin = '', python = 'python3' }: { cwd?: string; stdin?: string; python?: string } = {},
) {
  const child = spawn(python, [...STRICT, ...args], { cwd, env: { PATH: process.env['PATH'] ?? '' } })
  const code = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  child.stdin.on('error', () => undefined).end(stdin)
  const [ended, stdout, stderr] = await Promise.all([code, text(child.stdout), text(child.stderr)])
  return { code: ended, stdout, stderr } satisfies PythonResult
}

/** For a `before` hook. */
export async function skipWithoutPython(context: Context): Promise<void> {
  const check = 'import sys; sys.exit(sys.version_info < (3, 9))'
  const { code } = await runPython(['-c', check]).catch(() => ({ code: null }))
  needProgram(context, 'Python 3.9', code === 0 || undefined)
}

/** The modules of Debian packages belong to the Python of the system, which may not be the first one on the PATH. */
const PYTHONS = ['python3', '/usr/bin/python3']

/** A Python that has these modules. */
export async function findPython(modules: string[]): Promise<string | undefined> {
  for (const python of PYTHONS) {
    const { code } = await runPython(['-c', `import ${modules.join(', ')}`], { python }).catch(() => ({ code: null }))
    if (code === 0) return python
  }
  return undefined
}
