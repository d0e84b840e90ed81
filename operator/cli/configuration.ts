/** The configuration of the environment, read when a command needs it, so that `--help` works with any environment. */
import type { CliContext } from '../../agent/command-line/context.ts'
import type { Config } from '../../agent/service/config.ts'

export async function loadConfig({ environment }: CliContext): Promise<Config> {
  const { readConfig } = await import('../../agent/service/config.ts')
  return readConfig(environment)
}
