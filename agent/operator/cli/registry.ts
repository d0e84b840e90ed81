/** The command `registry`: the identity of the service in the ERC-8004 registries of Base Sepolia. */
import { parseHttpUrl } from '../../command-line/arguments.ts'
import type { AddCommand } from '../../command-line/context.ts'
import { loadConfig, serviceUrl } from './configuration.ts'

const HELP = `
No command asks for a private key. "registry register" prints a transaction that you send from a wallet of your own.

Examples:
  irish-company-agent registry show --url https://companies.example
  BASE_URL=https://companies.example irish-company-agent registry register`

export const addRegistryCommand: AddCommand = (program, context) => {
  const { print, fetch, finish } = context
  const registry = program
    .command('registry')
    .description('Show the ERC-8004 identity of the service, or prepare its registration (testnet)')
    .addHelpText('after', HELP)
  registry
    .command('show')
    .description('show what a running service reports about its identity')
    .option('--url <url>', 'the URL of the service; by default the one of the configuration', parseHttpUrl)
    .action(async ({ url }: { url?: string }) => {
      const { showRegistration } = await import('../../../rest-facade/registry/command.ts')
      finish(await showRegistration(url ?? serviceUrl(await loadConfig(context)), fetch, print))
    })
  registry
    .command('register')
    .description('print the transaction that registers the service')
    .action(async () => {
      const { printRegistrationCall } = await import('../../../rest-facade/registry/command.ts')
      const config = await loadConfig(context)
      printRegistrationCall(serviceUrl(config), config.baseUrl !== undefined, print)
    })
}
