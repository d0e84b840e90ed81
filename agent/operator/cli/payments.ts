/** The command `payments`: inspects the response log beside a running service. Only `recheck` changes a record. */
import { matching } from '../../command-line/arguments.ts'
import type { AddCommand } from '../../command-line/context.ts'
import { loadConfig } from './configuration.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'

const HELP = `
The identity of a payment is network, asset, payer and nonce, as "payments unfinished" prints it. Signatures and bought
answers are not shown.

Examples:
  irish-company-agent payments unfinished
  irish-company-agent payments unrecorded
  irish-company-agent payments missing
  irish-company-agent payments show IDENTITY
  irish-company-agent payments recheck IDENTITY --from-block 21000000`

const checkBlock = matching(/^(0|[1-9][0-9]{0,15})$/, 'It must be a block number.')
const parseBlock = (text: string) => BigInt(checkBlock(text))

export const addPaymentsCommand: AddCommand = (program, context) => {
  const { print, finish } = context
  type Commands = typeof import('../../settlement/command.ts')
  const withLog = async (
    use: (log: ResponseLog, commands: Commands) => Promise<boolean | void>,
    { readOnly = true } = {},
  ) => {
    const { openConfiguredLog } = await import('../../service/response-log.ts')
    await using log = await openConfiguredLog(await loadConfig(context), { readOnly })
    finish((await use(log, await import('../../settlement/command.ts'))) ?? true)
  }
  const payments = program
    .command('payments')
    .description('Inspect and recheck payments in the response log')
    .addHelpText('after', HELP)
  payments
    .command('unfinished')
    .description('list the payments whose outcome is not final')
    .action(() => withLog((log, { listUnfinishedPayments }) => listUnfinishedPayments(log, print)))
  payments
    .command('unrecorded')
    .description('list the payments that the chain shows as settled and that have no record')
    .action(() => withLog((log, { listUnrecordedPayments }) => listUnrecordedPayments(log, print)))
  payments
    .command('missing')
    .description('list the payments that a facilitator reported as settled and that are not on chain')
    .option('--trust <host>', 'forget those of this facilitator, whose reports then count again')
    .action(({ trust }: { trust?: string }) => {
      const readOnly = trust === undefined
      return withLog((log, { listMissingPayments }) => listMissingPayments(log, print, trust), { readOnly })
    })
  payments
    .command('show')
    .description('show one payment')
    .argument('<identity>', 'the identity that "payments unfinished" prints')
    .action((identity: string) => withLog((log, { showPayment }) => showPayment(log, identity, print)))
  payments
    .command('recheck')
    .description('search the transfer of a payment on RPC_URL again, and deliver if it is there')
    .argument('<identity>', 'the identity that "payments unfinished" prints')
    .option('--from-block <number>', 'the first block of the search', parseBlock)
    .action(async (identity: string, { fromBlock }: { fromBlock?: bigint }) => {
      const { openConfiguredLog } = await import('../../service/response-log.ts')
      const { openChain } = await import('../../settlement/chain/chain.ts')
      const { recheckPayment } = await import('./recheck-payment.ts')
      const { DEPLOYMENTS } = await import('../../payment/terms.ts')
      const config = await loadConfig(context)
      if (config.rpcUrls.length === 0) throw new Error('RPC_URL must be set')
      const chain = openChain({ urls: config.rpcUrls, chainId: DEPLOYMENTS[config.mode].chainId, now: context.now })
      await using log = await openConfiguredLog(config)
      finish(await recheckPayment({ log, chain, now: context.now, report: print, print, identity, fromBlock }))
    })
}
