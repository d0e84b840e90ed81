/** The command `check`: tests a configuration without selling, and with `--buy` also by one purchase on the testnet. */
import { purchasesFolder } from '../../../store/files/layout.ts'
import type { AddCommand } from '../../command-line/context.ts'
import { loadConfig, serviceUrl } from './configuration.ts'

const HELP = `
Prints a line for each check: what was found, and what to do. Without --buy nothing is changed, signed or sold. Run it
before the start, and again while the service runs, so that the public URL is checked too.

Examples:
  irish-company-agent check
  irish-company-agent check --buy buyer.key`

const LABELS = { passed: 'ok     ', warning: 'WARNING', failed: 'FAILED ' } as const
const NAME_CHARACTERS = 14

export const addCheckCommand: AddCommand = (program, context) => {
  program
    .command('check')
    .description('Test the configuration and the services that it names')
    .option('--buy <key file>', 'then buy the synthetic company through BASE_URL with this key (testnet)')
    .addHelpText('after', HELP)
    .action(async ({ buy }: { buy?: string }) => {
      const config = await loadConfig(context)
      if (buy !== undefined && config.mode !== 'testnet') throw new Error('MODE must be testnet for --buy')
      const { runChecks } = await import('../check/run.ts')
      let isReady = true
      for await (const { check, kind, detail } of runChecks(context, config)) {
        context.print(`${LABELS[kind]} ${check.padEnd(NAME_CHARACTERS)} ${detail}`)
        if (kind === 'failed') isReady = false
      }
      if (buy === undefined || !isReady) return context.finish(isReady)
      const { purchase } = await import('../../buyer/library/commands.ts')
      const { lookup } = await import('../../operation/lookup.ts')
      const { SYNTHETIC_COMPANY } = await import('../../../store/dataset/synthetic.ts')
      const result = await purchase(context, {
        definition: lookup,
        input: { company_number: SYNTHETIC_COMPANY.company_number },
        mode: config.mode,
        baseUrl: serviceUrl(config),
        keyFile: buy,
        purchasesDirectory: purchasesFolder(config.dataDirectory),
      })
      context.finish(result)
    })
}
