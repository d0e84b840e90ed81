/** The command `keys`: the ES256 keys that sign receipts and the agent card. */
import type { AddCommand } from '../../agent/command-line/context.ts'
import { loadConfig } from './configuration.ts'

const HELP = `
A new key signs an hour later, without a restart. Mark all private keys of a stolen directory as compromised in one
command, and run it again if it fails: their signatures no longer verify. docs/operations/drills.md has all steps.

Examples:
  irish-company-agent keys list
  irish-company-agent keys rotate
  irish-company-agent keys compromise KID`

const ACTIONS = [
  ['generate', 'make the first key', 'generateFirstKey'],
  ['rotate', 'make the key that signs next', 'rotateKeys'],
  ['list', 'show each key with its state', 'listKeys'],
] as const

export const addKeysCommand: AddCommand = (program, context) => {
  const run = async (action: (typeof ACTIONS)[number][2] | 'compromiseKeys', kids: string[] = []) => {
    const commands = await import('../../keys/command.ts')
    const { openCurrentLog } = await import('../../agent/service/response-log.ts')
    const config = await loadConfig(context)
    await using log = await openCurrentLog(config, { now: context.now, readOnly: action === 'listKeys' })
    const { keysDirectory: directory } = config
    await commands[action]({ directory, log, now: () => context.now().getTime(), print: context.print, kids })
  }
  const keys = program
    .command('keys')
    .description('Manage the keys that sign receipts and the agent card')
    .addHelpText('after', HELP)
  for (const [name, description, action] of ACTIONS)
    keys
      .command(name)
      .description(description)
      .action(() => run(action))
  keys
    .command('compromise')
    .description('mark keys as compromised, so that machines that sign with them take others')
    .argument('<kid...>', 'the ids that "keys list" prints')
    // Some ids begin with a hyphen and look like an option.
    .allowUnknownOption()
    .action((kids: string[]) => run('compromiseKeys', kids))
}
