/** The purchases of `client watch`. Each has the snapshot id of its round as key, so that a repetition pays nothing. */
import type { Company } from '../../store/dataset/company.ts'
import { showUsdc } from '../amounts.ts'
import { showProgress } from '../../agent/command-line/progress.ts'
import { restRequest } from '../library/purchase-request.ts'
import { folderStorage } from '../library/folder-storage.ts'
import { listPurchases, paidAmount } from '../library/purchase-state.ts'
import { limitOfRows } from '../lists/plan.ts'
import { buyRequest, openListBuyer, type ListBuyerOptions } from '../lists/run.ts'
import { changes, type ChangesResponse } from '../../agent/operation/changes.ts'
import { NUMBERS_CHARACTERS_MAX, NUMBERS_MAX } from '../../agent/operation/fields.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { itemsOf, parseOperation, type OperationDefinition } from '../../agent/operation/operation.ts'
import { batch as BATCH } from '../../agent/operation/operations.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { groupsOf } from '../../base/groups-of.ts'
import type { Records, Round } from './state.ts'

interface PurchasesOptions extends ListBuyerOptions {
  folder: string
  runtime: ListBuyerOptions['runtime'] & Parameters<typeof showProgress>[0]
  /** Micro-USDC for all purchases, those of an interrupted run included. Undefined without a limit. */
  totalMax: number | undefined
}

interface BuyOptions {
  key: string
  signal: AbortSignal
}

/** A batch without any record is refused. */
const REFUSALS: ReadonlySet<RefusalCode> = new Set(['company_not_found'])

export type Purchases = ReturnType<typeof createPurchases>

export function createPurchases(options: PurchasesOptions) {
  const { baseUrl, mode, runtime } = options
  let left = options.totalMax ?? Infinity
  const buyOne = openListBuyer(options)
  const show = showProgress(runtime)

  /** The body of the answer. Undefined if it is refused. */
  async function buy(definition: OperationDefinition, input: object, { key, signal }: BuyOptions) {
    const parsed = parseOperation(definition, input)
    if (parsed.kind === 'invalid') throw new Error(`A request cannot be made: ${parsed.fault.rule}`)
    const price = limitOfRows(options, itemsOf(parsed.operation))
    if (price > left)
      throw new Error(
        `The next payment costs ${showUsdc(price)} USDC, and --max-total leaves ${showUsdc(left)}: run again with a higher one`,
      )
    left -= price
    const request = restRequest(baseUrl, parsed.operation)
    const answered = await buyRequest(buyOne, request, { refusals: REFUSALS, key, signal, runtime })
    return answered.kind === 'bought' ? answered.answer : undefined
  }

  return {
    /** Micro-USDC of all purchases with an answer. */
    async paid(): Promise<number> {
      return paidAmount(await listPurchases(folderStorage(options.folder), runtime.now()))
    },
    /**
     * The micro-USDC of a round with these new companies if nothing has changed.
     * @throws unless they can be paid
     */
    estimate({ numbers }: Round, added: readonly string[]): number {
      const least = queriesOf(numbers).length * changes.prices[mode] + added.length * lookup.prices[mode]
      if (least > left)
        throw new Error(
          `The next payments cost at least ${showUsdc(least)} USDC, and --max-total leaves ${showUsdc(left)}: run again with a higher one`,
        )
      return least
    },
    /** The answers with the changes of a round, all pages. */
    async changes({ numbers, since, snapshot_id: key }: Round, signal: AbortSignal): Promise<ChangesResponse[]> {
      const answers: ChangesResponse[] = []
      let done = 0
      for (const company_numbers of queriesOf(numbers)) {
        for (let cursor: string | null | undefined; cursor !== null;) {
          const input = { since, company_numbers, ...(cursor !== undefined && { cursor }) }
          const answer = (await buy(changes, input, { key, signal })) as ChangesResponse
          answers.push(answer)
          cursor = answer.next_cursor
        }
        done += company_numbers.length
        show({ phase: 'changes', rows: done, share: done / numbers.length })
      }
      return answers
    },
    /** Null without a record: the company is missing, or its records contradict each other. */
    async records(numbers: readonly string[], { snapshot_id: key }: Round, signal: AbortSignal): Promise<Records> {
      const records: Records = Object.fromEntries(numbers.map((number) => [number, null]))
      let rows = 0
      for (const group of groupsOf(numbers, lookup.batchInputsMax ?? 1)) {
        const inputs = group.map((company_number) => ({ company_number }))
        const answer = await buy(BATCH, { operation: lookup.name, inputs }, { key, signal })
        const { results } = (answer ?? { results: [] }) as { results: Found[] }
        for (const { http_status, body } of results)
          if (http_status === 200) records[body.company.company_number] = body.company
        rows += group.length
        show({ phase: 'records', rows, share: rows / numbers.length })
      }
      return records
    },
  }
}

interface Found {
  http_status: number
  body: { company: Company }
}

/** The numbers of one query each. */
function queriesOf(numbers: readonly string[]): string[][] {
  const groups: string[][] = []
  for (const number of numbers) {
    const last = groups.at(-1)
    const isFull = !last || last.length === NUMBERS_MAX || [...last, number].join().length > NUMBERS_CHARACTERS_MAX
    if (isFull) groups.push([number])
    else last.push(number)
  }
  return groups
}
