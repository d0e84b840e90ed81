/** The command `payments`: inspects the response log beside a running service. Changes no record. */
import type { ResponseRecord } from '../../store/log/record.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import type { AddCommand } from '../../agent/command-line/context.ts'
import { matching } from '../../agent/command-line/arguments.ts'
import { recordedPayment } from '../../agent/payment/recorded-payment.ts'
import { loadConfig } from './configuration.ts'

const HELP = `
The identity of a payment is network, asset, payer and nonce, as "payments unfinished" prints it. Signatures and bought
answers are not shown.

Examples:
  irish-company-agent payments sold --since 2026-01-01 > sold.csv
  irish-company-agent payments unfinished
  irish-company-agent payments unrecorded
  irish-company-agent payments missing
  irish-company-agent payments show IDENTITY`

export const addPaymentsCommand: AddCommand = (program, context) => {
  const { print, finish } = context
  const openLog = async (readOnly = true) => {
    const { openCurrentLog } = await import('../../agent/service/response-log.ts')
    return openCurrentLog(await loadConfig(context), { readOnly })
  }
  const payments = program
    .command('payments')
    .description('Inspect payments in the response log')
    .addHelpText('after', HELP)
  payments
    .command('sold')
    .description('list the payments that were settled, as a CSV for the accounts')
    .requiredOption('--since <day>', 'the first day, YYYY-MM-DD in UTC', matching(DAY, 'It must be YYYY-MM-DD.'))
    .action(async ({ since }: { since: string }) => {
      const { listSold, SOLD_COLUMNS } = await import('./sold-payments.ts')
      await using log = await openLog()
      print(SOLD_COLUMNS.join(','))
      for await (const row of listSold(log, since)) print(row.join(','))
    })
  payments
    .command('unfinished')
    .description('list the payments whose outcome is not final')
    .action(async () => {
      const { listOpen } = await import('../../store/log/responses.ts')
      await using log = await openLog()
      let isComplete = true
      for await (const identity of listOpen(log)) {
        const record = await tryRead(log, identity)
        if (record) print(`${record.state.padEnd(8)} ${record.updated_at} attempt ${record.attempt} ${identity}`)
        else print(`damaged ${identity}`)
        isComplete &&= record !== undefined
      }
      finish(isComplete)
    })
  payments
    .command('unrecorded')
    .description('list the payments that the chain shows as settled and that have no record')
    .action(async () => {
      const { listUnrecorded } = await import('../../store/log/unrecorded.ts')
      await using log = await openLog()
      for (const { found_at, transaction, identity } of await listUnrecorded(log))
        print(`${found_at} ${transaction} ${identity}`)
    })
  payments
    .command('missing')
    .description('list the payments that a facilitator reported as settled and that are not on chain')
    .option('--trust <host>', 'forget those of this facilitator, whose reports then count again')
    .action(async ({ trust }: { trust?: string }) => {
      const { clearDoubts, hostOf, listDoubts } = await import('../../agent/settlement/doubts.ts')
      await using log = await openLog(trust === undefined)
      for (const { facilitator, identity } of await listDoubts(log)) print(`${hostOf(facilitator)} ${identity}`)
      if (trust !== undefined) print(`${await clearDoubts(log, trust)} forgotten`)
    })
  payments
    .command('show')
    .description('show one payment')
    .argument('<identity>', 'the identity that "payments unfinished" prints')
    .action(async (identity: string) => {
      await using log = await openLog()
      const record = await tryRead(log, identity.toLowerCase())
      const { describeRetry } = await import('../../agent/settlement/states.ts')
      const { STATES } = await import('../../store/log/states.ts')
      const explain = ({ state }: ResponseRecord) => ({ meaning: STATES[state].meaning, retry: describeRetry(state) })
      const text = record
        ? JSON.stringify({ ...withoutSecrets(record), ...explain(record) }, null, 2)
        : 'the record does not exist or is corrupt'
      text.split('\n').forEach(print)
      finish(record !== undefined)
    })
}

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** Undefined if the record does not exist or is corrupt. */
function tryRead(log: ResponseLog, identity: string): Promise<ResponseRecord | undefined> {
  return log.read(identity).catch(() => undefined)
}

/** Omits the signature, which can move money until `validBefore`, the response that was sold, and its receipt. */
function withoutSecrets(record: ResponseRecord) {
  const { payment: _payment, body, receipt: _receipt, ...rest } = record
  const { authorization } = recordedPayment(record).payment.payload
  return { ...rest, authorization, body_bytes: Buffer.byteLength(body) }
}
