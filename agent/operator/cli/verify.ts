/** The command `verify`: checks a receipt, and optionally the transfer on chain and the register. */
import { parseHttpUrl } from '../../command-line/arguments.ts'
import type { AddCommand } from '../../command-line/context.ts'

const HELP = `
FILE is a purchase file of "client", or the body of an answer with --receipt, if it has none. docs/receipts.md says what
each check proves. Use --issuer or --jwks for a file from another person: a forged purchase file can name the forger's
own service.

Examples:
  irish-company-agent verify data/purchases/FILE.json
  irish-company-agent verify answer.json --receipt payment-response.txt --issuer https://companies.example
  irish-company-agent verify data/purchases/FILE.json --rpc https://sepolia.base.org --dataset companies.csv.zip`

interface VerifyOptions {
  receipt?: string
  issuer?: string
  jwks?: string
  rpc?: string
  dataset?: string
}

export const addVerifyCommand: AddCommand = (program, context) => {
  program
    .command('verify')
    .description('Check the receipt of a bought answer')
    .argument('<file>', 'a purchase file or an answer')
    .option('--receipt <file>', 'the receipt of the answer: the PAYMENT-RESPONSE header, its JSON, or the JWT')
    .option('--issuer <url>', 'the base URL of the service that must have issued the receipt', parseHttpUrl)
    .option('--jwks <file>', 'a saved key set')
    .option('--rpc <url>', 'a node of the chain of the payment', parseHttpUrl)
    .option('--dataset <file>', 'an archive of the register, .csv or .zip')
    .addHelpText('after', HELP)
    .action(async (file: string, { receipt, issuer, jwks, rpc, dataset }: VerifyOptions) => {
      const { verifyFile } = await import('../../buyer/library/verify-command.ts')
      const { checkDataset, checkTransfer } = await import('./verify-checks.ts')
      const { fetch, print } = context
      const options = { file, receiptFile: receipt, issuer, keySetFile: jwks, fetch, print }
      const isValid = await verifyFile({
        ...options,
        further: async (claims, answer) => [
          ...(rpc === undefined ? [] : await checkTransfer(claims, rpc)),
          ...(dataset === undefined ? [] : await checkDataset(claims, answer, { dataset, context })),
        ],
      })
      context.finish(isValid)
    })
}
