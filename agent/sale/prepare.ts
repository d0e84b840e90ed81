/** Step 5: checks that the dataset is fit to sell from. Step 9: computes the answer from the current snapshot. */
import { datasetStatus } from '../../store/dataset/catalog.ts'
import { StoreError } from '../../store/files/environment.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { itemsOf, type Operation } from '../operation/operation.ts'
import { prepareBatch } from '../answer/prepare-batch.ts'
import type { AnswerContext } from '../answer/registers.ts'
import { needsDataset, prepareAnswer, type PreparedAnswer } from '../answer/answers.ts'
import type { SaleContext, SaleRequest } from './sale-context.ts'

/** With the snapshot that is current now. */
export function openAnswerContext({ catalog, journal, terms, services }: SaleContext): AnswerContext {
  const hasSyntheticCompany = terms.mode === 'testnet'
  return { dataset: catalog.current(), journal, hasSyntheticCompany, now: services.now }
}

/** Refuses an operation that needs the dataset while none is loaded or it is stale (contract 3.1). */
export function checkReadiness(context: SaleContext, operation: Operation): Refused | undefined {
  const answerContext = openAnswerContext(context)
  if (!needsDataset(operation, answerContext)) return undefined
  const { dataset, now } = answerContext
  if (!dataset) return refused({ code: 'dataset_unavailable' })
  return datasetStatus(dataset.source, now()) === 'stale' ? refused({ code: 'dataset_stale' }) : undefined
}

/** A damaged record or name index is reported and refused, before anything is charged (contract 3.1). */
export async function prepare(context: SaleContext, { operation, client }: SaleRequest): Promise<PreparedAnswer> {
  const { definition, input } = operation
  const openContext = () => openAnswerContext(context)
  const enter = () => context.computations.enter(client)
  try {
    const { letOthersConnect } = client
    if (definition.kind !== 'single')
      return await prepareBatch(itemsOf(operation), { openContext, enter, letOthersConnect })
    using place = await enter()
    return place ? prepareAnswer({ definition, input }, openContext()) : refused({ code: 'overloaded' })
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    context.services.report('dataset_unreadable', cause)
    return refused({ code: 'dataset_unavailable' })
  }
}
