/** The end of a command that buys many answers and was stopped by a purchase. */
import type { CommandContext } from '../command-line/context.ts'
import { PurchaseError } from './library/purchase-error.ts'

/** @throws any other error than a `PurchaseError` */
export function finishFailed({ note, finish }: CommandContext, cause: unknown): void {
  if (!(cause instanceof PurchaseError)) throw cause
  note(`${cause.message}. ${cause.advice}`)
  note('The same command continues, and pays nothing twice.')
  finish(cause.charged === 'no' ? false : 'outcome unknown')
}
