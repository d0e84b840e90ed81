/** Computes the items of a batch from one state of the data, in slices between which other requests run. */
import { SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { BATCH_ANSWER_BYTES_MAX, sharedMembers, toItem } from '../operation/batch.ts'
import type { Operation, SingleDefinition } from '../operation/operation.ts'
import type { Journal } from '../../store/history/journal.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { isBatchResult, type Refusal } from '../operation/refusal.ts'
import { datasetProvenance, type AnswerContext } from './registers.ts'
import { computeAnswer, needsDataset, type PreparedAnswer } from './answers.ts'

/** Of all items together. Longer than a batch of queries of 20 ms needs. */
const BATCH_TIME_MAX_MS = 5_000

/**
 * A slice ends after the item with which it exceeds this time, so it takes at most this and the time of the slowest
 * item: 25 ms in all (`bench perf`, rows "event loop held by").
 */
const SLICE_MS = 4

type Items = readonly Operation<SingleDefinition>[]

interface BatchOptions {
  /** Opens the snapshot that is current when the computation begins. */
  openContext: () => AnswerContext
  /** Takes the place for a slice. Undefined if the request must end. */
  enter: () => Promise<Disposable | undefined>
  letOthersConnect: () => Promise<void>
}

/** Each slice waits for its place, so that a long batch delays others by one slice only. */
export async function prepareBatch(
  items: Items,
  { openContext, enter, letOthersConnect }: BatchOptions,
): Promise<PreparedAnswer> {
  let place = await enter()
  if (!place) return refused({ code: 'overloaded' })
  const nextSlice = async () => {
    // Node accepts one connection in each iteration of the event loop. With a slice in each, others wait to connect.
    await letOthersConnect()
    place?.[Symbol.dispose]()
    place = await enter()
    return place !== undefined
  }
  // An import can record a file between two slices.
  let pinned: Journal | undefined
  try {
    const context = openContext()
    const state = { ...context, journal: () => (pinned ??= context.journal().pin()) }
    const prepare = () => prepareItems(items, state, nextSlice)
    return await (context.dataset ? context.dataset.snapshot.hold(prepare) : prepare())
  } finally {
    place?.[Symbol.dispose]()
    await pinned?.close()
  }
}

async function prepareItems(
  items: Items,
  context: AnswerContext,
  nextSlice: () => Promise<boolean>,
): Promise<PreparedAnswer> {
  const isFromDataset = items.some((item) => needsDataset(item, context))
  if (isFromDataset && !context.dataset) return refused({ code: 'dataset_unavailable' })
  const provenance = isFromDataset && context.dataset ? datasetProvenance(context.dataset) : SYNTHETIC_PROVENANCE
  const shared = sharedMembers(items, provenance)
  const end = `],${JSON.stringify(shared).slice(1)}`
  let body = '{"results":['
  let bytes = Buffer.byteLength(body + end)
  let isAnswered = false
  let workedMs = 0
  let sliceMs = 0
  for (const [at, item] of items.entries()) {
    if (sliceMs > SLICE_MS) {
      if (!(await nextSlice())) return refused({ code: 'overloaded' })
      sliceMs = 0
    }
    const start = context.now().getTime()
    const computed = computeAnswer(item, context)
    const itemMs = context.now().getTime() - start
    sliceMs += itemMs
    workedMs += itemMs
    if (workedMs > BATCH_TIME_MAX_MS) return refuseItem({ code: 'query_too_broad' }, at)
    if (computed.kind === 'refused' && !isBatchResult(computed.refusal.code)) return refuseItem(computed.refusal, at)
    const result = (at === 0 ? '' : ',') + JSON.stringify(toItem(item, computed, shared))
    bytes += Buffer.byteLength(result)
    if (bytes > BATCH_ANSWER_BYTES_MAX)
      return refused({ code: 'batch_too_large', detail: `the first ${at} inputs fit` })
    body += result
    isAnswered ||= computed.kind === 'computed'
  }
  if (!isAnswered) return refused({ code: 'company_not_found', provenance })
  return { kind: 'prepared', body: body + end, snapshotId: provenance.snapshot_id }
}

function refuseItem(refusal: Refusal, at: number): Refused {
  const item = `inputs[${at}]`
  return refused({ ...refusal, detail: [item, refusal.detail].filter(Boolean).join(', '), field: item })
}
