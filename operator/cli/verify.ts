/** The command `verify`: checks a receipt, and optionally the transfer on chain. */
import { parseHttpUrl } from '../../agent/command-line/arguments.ts'
import type { ReceiptClaims } from '../../agent/payment/receipt/claims.ts'
import { setStatuses } from '../../agent/command-line/exit-statuses.ts'
import type { AddCommand } from '../../agent/command-line/context.ts'

const HELP = `
FILE is a purchase file of "client", the result of an MCP tool, or the body of an answer with --receipt.
docs/receipts.md says what each check proves. Use --issuer or --jwks for a file from another person: a forged purchase
file can name the forger's own service.

Examples:
  irish-company-agent verify data/purchases/FILE.json
  irish-company-agent verify answer.json --receipt payment-response.txt --issuer https://companies.example
  irish-company-agent verify data/purchases/FILE.json --rpc https://sepolia.base.org`

interface VerifyOptions {
  receipt?: string
  issuer?: string
  jwks?: string
  rpc?: string
}

export const addVerifyCommand: AddCommand = (program, context) => {
  const command = program
    .command('verify')
    .description('Check the receipt of a bought answer')
    .argument('<file>', 'a purchase file or an answer')
    .option('--receipt <file>', 'the receipt of the answer: the value of the PAYMENT-RESPONSE header, or the JWT')
    .option('--issuer <url>', 'the base URL of the service that must have issued the receipt', parseHttpUrl)
    .option('--jwks <file>', 'a saved key set')
    .option('--rpc <url>', 'a node of the chain of the payment', parseHttpUrl)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(async (file: string, { receipt, issuer, jwks, rpc }: VerifyOptions) => {
      const { verifyFile } = await import('../../buyer/library/verify-command.ts')
      const { checkTransfer } = await import('./check-transfer.ts')
      const { fetch, print, isJson } = context
      const printJson = isJson ? context.printJson : undefined
      const options = { file, receiptFile: receipt, issuer, keySetFile: jwks, fetch, print, printJson }
      const transfer = rpc === undefined ? undefined : (claims: ReceiptClaims) => checkTransfer(claims, rpc)
      context.finish(await verifyFile({ ...options, checkTransfer: transfer }))
    })
  setStatuses(command, { 0: 'valid', 1: 'not valid', 7: 'valid, and the transfer could not be checked' })
}
