/** Step 5: checks that the dataset is fit to sell from. Step 9: computes the answer from the current snapshot. */
import { datasetStatus } from '../../store/dataset/catalog.ts'
import { StoreError } from '../../store/files/environment.ts'
import type { Report } from '../../store/base/runtime.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { itemsOf, type Operation } from '../operation/operation.ts'
import { prepareBatch } from '../answer/prepare-batch.ts'
import type { AnswerContext } from '../answer/registers.ts'
import { needsDataset, prepareAnswer, type PreparedAnswer } from '../answer/answers.ts'

/** Refuses an operation that needs the dataset while none is loaded or it is stale (contract 3.1). */
export function checkReadiness(operation: Operation, context: AnswerContext): Refused | undefined {
  if (!needsDataset(operation, context)) return undefined
  if (!context.dataset) return refused({ code: 'dataset_unavailable' })
  return datasetStatus(context.dataset.source, context.now()) === 'stale'
    ? refused({ code: 'dataset_stale' })
    : undefined
}

interface PrepareOptions {
  /** Opens the snapshot that is current when the computation begins. */
  openContext: () => AnswerContext
  report: Report
  /** Takes the place for an answer, or for a part of a batch. Undefined if the request must end. */
  enter: () => Promise<Disposable | undefined>
}

/** A damaged record or name index is reported and refused, before anything is charged (contract 3.1). */
export async function prepare(operation: Operation, options: PrepareOptions): Promise<PreparedAnswer> {
  const { openContext, report, enter } = options
  const { definition, input } = operation
  try {
    if (definition.kind !== 'single') return await prepareBatch(itemsOf(operation), { openContext, enter })
    using place = await enter()
    return place ? prepareAnswer({ definition, input }, openContext()) : refused({ code: 'overloaded' })
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    report('dataset_unreadable', cause)
    return refused({ code: 'dataset_unavailable' })
  }
}
