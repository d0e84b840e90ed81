/** The rows that a run has not reached, as far as they are paid. Buys nothing. Runs in browsers too. */
import type { BuyerStorage } from '../library/storage.ts'
import type { Plan } from './plan.ts'
import { readKnownResult, rowKey } from './purchased-rows.ts'
import { withoutNumber, type RowResult } from './rows.ts'
import type { BoughtRow } from './run.ts'

/** @param plan made after the run, so that it has all purchases */
export async function* restOfList(
  { rows, purchased }: Plan,
  { storage, baseUrl, from }: { storage: BuyerStorage; baseUrl: string; from: number },
): AsyncGenerator<BoughtRow, void> {
  for (const row of rows.slice(from)) {
    const { listed, operation, known, unknownNumber } = row
    const saved = operation && purchased.rows.get(rowKey(baseUrl, operation))
    const paid = known ?? (saved && (await readKnownResult(storage, operation, saved)))
    const unpaid: RowResult =
      listed.kind === 'empty' ? { kind: 'empty' } : { kind: 'left', isOpen: saved?.state.kind === 'open' }
    const result = paid ?? unpaid
    yield { ...row, result: unknownNumber === undefined ? result : withoutNumber(result) }
  }
}
