/** What the commands of lists say of the payments that have no answer. */
import type { CommandContext, CommandResult } from '../../agent/command-line/context.ts'
import { showUsdc } from '../amounts.ts'
import { counted } from '../../base/grammar.ts'
import type { ReadAuthorization } from '../library/authorization-state.ts'
import { folderStorage } from '../library/folder-storage.ts'
import { describeOutcome, exitStatusOf, knownFrom } from '../library/outcome.ts'
import {
  committedAmount,
  decidingCode,
  listPurchases,
  observedOutcome,
  paidAmount,
  type ListedPurchase,
} from '../library/purchase-state.ts'

interface ReportOptions {
  readAuthorization?: ReadAuthorization | undefined
}

/** Says how the payments without an answer ended: the outcome that is known last. */
export async function reportOpen(
  { print, now }: Pick<CommandContext, 'print' | 'now'>,
  { readAuthorization }: ReportOptions,
  open: readonly ListedPurchase[],
): Promise<CommandResult> {
  const outcomes = await Promise.all(open.map(({ purchase }) => observedOutcome(purchase, now(), readAuthorization)))
  const doubtful = open.filter((_, at) => outcomes[at]?.kind !== 'not_sold')
  const [last] = outcomes.toSorted((one, other) => knownFrom(other) - knownFrom(one))
  if (!last || doubtful.length === 0) return true
  print(
    `${counted(doubtful.length, 'payment')}, ${showUsdc(committedAmount(doubtful))} USDC, without an answer. ${describeOutcome(last)}`,
  )
  // A charge that only the chain shows has no answer yet.
  return exitStatusOf(last.kind === 'sold' ? { kind: 'unknown' } : last)
}

/** What the command that ends early has paid, and all runs before it. */
export function describePaid(all: readonly ListedPurchase[], paidBefore: number): string {
  const paid = paidAmount(all)
  return `Paid: ${showUsdc(paid - paidBefore)} USDC, in all runs ${showUsdc(paid)} USDC.`
}

/** Says at once that the command ends, because the report of a long list needs time, in which a user signals again. */
export function interruptedAloud({ interrupted, note }: Pick<CommandContext, 'interrupted' | 'note'>): AbortSignal {
  const signal = interrupted()
  const tell = () =>
    note('Stopping. Please wait for the sum of the payments. The same command continues, and pays nothing twice.')
  signal.addEventListener('abort', tell, { once: true })
  return signal
}

/** Ends the command after a signal: says what is known of the money, and what the same command does. */
export async function reportInterruption(
  { fail, now, endAtOnce }: CommandContext,
  { folder, paidBefore, ...options }: ReportOptions & { folder: string; paidBefore: number },
): Promise<CommandResult> {
  endAtOnce()
  const all = await listPurchases(folderStorage(folder), now())
  const said = [`Interrupted. ${describePaid(all, paidBefore)}`]
  const isOpen = ({ purchase, outcome }: ListedPurchase) =>
    outcome.kind !== 'sold' && decidingCode(purchase) === undefined
  const known = await reportOpen({ print: (line) => void said.push(line), now }, options, all.filter(isOpen))
  said.push('The same command continues, and pays nothing twice.')
  fail({ message: said.join(' '), code: 'aborted' })
  return known === true ? false : known
}
