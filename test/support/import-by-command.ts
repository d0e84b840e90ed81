/** Runs the command `import` in this process, on its clock. The child process of a service takes seconds. */
import type { RunImport } from '../../agent/service/dataset.ts'
import { failureIn } from '../../operator/cli/import-process.ts'
import { runCommand } from './cli.ts'

export function importByCommand(dataDirectory: string, now: () => Date): RunImport {
  return async (args) => {
    const { code, stderr } = await runCommand(['import', ...args], { environment: { DATA_DIR: dataDirectory }, now })
    if (code !== 0) throw failureIn(stderr, `exit status ${code}`)
  }
}
