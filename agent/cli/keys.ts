/** The command `keys`: the ES256 keys that sign the agent card. */
import { loadConfig, type AddCommand } from './context.ts'

const HELP = `
A running service publishes a new key within a minute and signs with it an hour later. A retired key stays in the JWKS
for 30 days, so that cached agent cards still verify. No restart is needed.

Examples:
  irish-company-agent keys list
  irish-company-agent keys rotate`

const ACTIONS = [
  ['generate', 'make the first key', 'generateFirstKey'],
  ['rotate', 'make the key that signs next', 'rotateAndReport'],
  ['list', 'show each key with its state', 'listKeys'],
] as const

export const addKeysCommand: AddCommand = (program, context) => {
  const { print, now, finish } = context
  const keys = program
    .command('keys')
    .description('Manage the keys that sign the agent card')
    .addHelpText('after', HELP)
  for (const [name, description, exported] of ACTIONS) {
    keys
      .command(name)
      .description(description)
      .action(async () => {
        const commands = await import('../../keys/command.ts')
        const { keysDirectory: directory } = await loadConfig(context)
        finish(await commands[exported]({ directory, now: () => now().getTime(), print }))
      })
  }
}
