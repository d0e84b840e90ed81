/** Runs a command of the program inside the test process. */
import { PassThrough, Readable } from 'node:stream'
import { runCli } from '../../operator/cli/run.ts'
import type { CliContext } from '../../agent/command-line/context.ts'

export interface CliResult {
  code: number
  /** The bytes of stdout. */
  bytes: Buffer
  /** Stdout. */
  lines: string[]
  text: string
  stderr: string
}

export async function runCommand(args: readonly string[], change: Partial<CliContext> = {}): Promise<CliResult> {
  const lines: string[] = []
  const written: Uint8Array[] = []
  const stderr = new PassThrough()
  const context: CliContext = {
    environment: {},
    print: (line) => void lines.push(line),
    writeBytes: (bytes) => void written.push(bytes),
    stdin: Readable.from([]),
    flush: async () => undefined,
    stderr,
    now: () => new Date(),
    fetch,
    sleep: async () => undefined,
    later: () => () => undefined,
    confirm: async () => undefined,
    interrupted: () => new AbortController().signal,
    runInBackground: async () => undefined,
    endAtOnce: () => undefined,
    ...change,
  }
  const code = await runCli(args, context)
  return { code, bytes: Buffer.concat(written), lines, text: lines.join('\n'), stderr: String(stderr.read() ?? '') }
}
