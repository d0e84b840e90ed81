/** Buys the rows of a list, and sends stored payments again after a failure. Nothing is signed without a click. */
import { FREE_PATHS } from '../../../agent/operation/endpoints.ts'
import { purchaseName } from '../../library/open-buyer.ts'
import { listPurchases, paidAmount } from '../../library/purchase-state.ts'
import type { Signer } from '../../library/signer.ts'
import type { List } from '../../lists/list.ts'
import { NumberColumnError, type JudgedColumns } from '../../lists/check-numbers.ts'
import { planList, reviewKey, type Plan } from '../../lists/plan.ts'
import { rowKey, type RowPurchase } from '../../lists/purchased-rows.ts'
import { restOfList } from '../../lists/rest-of-list.ts'
import type { RowResult } from '../../lists/rows.ts'
import { openListBuyer, runList } from '../../lists/run.ts'
import { create } from '../elements.ts'
import { connect, describe, NO_SIGNER, say, SHARED } from '../purchase.ts'
import { baseUrl, mode } from '../question.ts'
import { storage } from '../storage.ts'
import type { KnownRow } from './state.ts'

/** Before the stored payments are sent again by themselves. After the last try a person is asked. */
export const PAUSES_MS = [5_000, 20_000, 60_000]
const POLL_MS = 5_000
/** Five minutes. */
const POLLS_MAX = 60

export const planOf = (list: List): Promise<Plan> =>
  planList(list, { storage, baseUrl, mode, now: new Date(), isBatched: true })

/** The rows of a list as they are stored. `refused`: what a run was told without a payment. */
export async function readRows(plan: Plan, refused: ReadonlyMap<string, RowResult>): Promise<KnownRow[]> {
  const rows: KnownRow[] = []
  for await (const { listed, result } of restOfList(plan, { storage, baseUrl, from: 0 })) {
    const key = reviewKey(listed.cells)
    const left: RowResult = listed.kind === 'valid' ? (refused.get(key) ?? result) : { kind: 'empty' }
    rows.push({ listed, key, result: result.kind === 'left' ? left : result })
  }
  return rows
}

const purchasesOf = ({ rows, purchased }: Plan): RowPurchase[] =>
  rows.flatMap(({ operation }) => (operation ? (purchased.rows.get(rowKey(baseUrl, operation)) ?? []) : []))

/** The names of the batches of a list, which are known before they are bought. */
export const batchesOf = (plan: Plan): string[] => {
  const batches = new Set(purchasesOf(plan).flatMap(({ item }) => item?.batch ?? []))
  return [...new Set([...batches].map(({ request }) => purchaseName(request)))]
}

/** Micro-USDC that the rows of a list have cost, in all visits. */
export async function paidFor(plan: Plan): Promise<number> {
  const entries = new Set(purchasesOf(plan).flatMap(({ entry }) => entry ?? []))
  const bought = (await listPurchases(storage, new Date())).filter(({ name }) => entries.has(name))
  return paidAmount(bought)
}

/** How a run has ended. `failure`: what to say of it. `isColumn`: the column of the numbers seems to be another one. */
export interface Ended {
  failure: string
  isColumn?: boolean
  refused: Map<string, RowResult>
}

/** The account that pays for the plan. Throws if there is none. */
export const signerFor = ({ left }: Plan): Promise<Signer> => (left > 0 ? connect(left) : Promise.resolve(NO_SIGNER))

interface Buying {
  key: Signer
  /** Micro-USDC that may be signed. */
  left: number
  /** The columns whose numbers and names must fit in the first payments. */
  judgedColumns?: JudgedColumns | undefined
}

/** Buys what the plan announces. */
export async function buyPlan(plan: Plan, { key, left, judgedColumns }: Buying): Promise<Ended> {
  const refused = new Map<string, RowResult>()
  const buy = openListBuyer({ ...SHARED, baseUrl, key, allowance: { left } })
  let done = 0
  const tell = () => {
    const bar = create('progress', { 'aria-label': 'Rows', max: String(plan.rows.length), value: String(done) })
    say(`${done} of ${plan.rows.length} rows have their answer.`, '', bar)
  }
  tell()
  try {
    for await (const results of runList(plan, { baseUrl, buy, runtime: SHARED.runtime, storage, judgedColumns })) {
      for (const { listed, result } of results)
        // A refusal in a paid batch is stored: the plan knows it, and may ask the row by its name.
        if (result.kind === 'refused' && result.purchase === undefined) refused.set(reviewKey(listed.cells), result)
      done += results.length
      tell()
    }
    say('')
    return { failure: '', refused }
  } catch (cause) {
    if (cause instanceof NumberColumnError) return { failure: `${cause.message}.`, refused, isColumn: true }
    return { failure: `${describe(cause, { isPart: true })} The rows that are paid are kept.`, refused }
  }
}

/** The rows whose payment has no answer yet. */
export const openRows = ({ rows, purchased }: Plan): Plan['rows'] =>
  rows.filter(({ operation }) => operation && purchased.rows.get(rowKey(baseUrl, operation))?.state.kind === 'open')

/** Sends the stored payments of the rows that have no answer. Signs nothing. */
export const sendStored = (plan: Plan): Promise<Ended> =>
  buyPlan({ ...plan, rows: openRows(plan), againMax: 0 }, { key: NO_SIGNER, left: 0 })

/** Resolves when the service answers, after five minutes, or when nobody waits any more. */
export async function untilBack(isWanted: () => boolean): Promise<void> {
  for (let poll = 0; poll < POLLS_MAX && isWanted(); poll += 1) {
    const isBack = await fetch(`${baseUrl}${FREE_PATHS.metadata}`, { cache: 'no-store' }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isBack) return
    await SHARED.runtime.sleep(POLL_MS)
  }
}
