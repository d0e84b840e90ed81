/** Runs Python with every warning an error, or skips and says so where there is no Python that the test client runs on. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Context } from 'mocha'

const STRICT = ['-B', '-W', 'error', '-X', 'dev']

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Nothing of the caller's environment but the PATH is passed on. */
export async function python(args: string[], { cwd, stdin = '' }: { cwd?: string; stdin?: string } = {}) {
  const child = spawn('python3', [...STRICT, ...args], { cwd, env: { PATH: process.env['PATH'] ?? '' } })
  const code = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  child.stdin.on('error', () => undefined).end(stdin)
  const [ended, stdout, stderr] = await Promise.all([code, text(child.stdout), text(child.stderr)])
  return { code: ended, stdout, stderr } satisfies Ended
}

/** For a `before` hook. */
export async function skipWithoutPython(context: Context): Promise<void> {
  const check = 'import sys; sys.exit(sys.version_info < (3, 9))'
  const { code } = await python(['-c', check]).catch(() => ({ code: null }))
  if (code === 0) return
  process.stderr.write('\nSKIPPED, NOT TESTED: the Python test client; python3 of 3.9 or later is not on the PATH\n')
  context.skip()
}
