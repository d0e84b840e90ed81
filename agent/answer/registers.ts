/** What answers are computed from: the dataset, the journal and, on testnet, the synthetic company (contract 1.7). */
import type { z } from 'zod'
import type { Register } from './search/register.ts'
import type { SingleDefinition } from '../operation/operation.ts'
import type { Computed } from '../operation/outcome.ts'
import type { Candidate } from '../operation/result.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'
import { StoreError } from '../../store/files/environment.ts'
import type { Journal } from '../../store/history/journal.ts'
import { NameIndexBuilder } from '../../store/index/build.ts'
import { NameIndex, openNameIndex } from '../../store/index/name-index.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'

/** Answers an input that the schema of the definition has parsed. Does not depend on the transport or the payment. */
export type AnswerFunction<Definition extends SingleDefinition> = (
  input: z.output<Definition['inputSchema']>,
  context: AnswerContext,
) => Computed<z.output<Definition['answerSchema']>>

export interface AnswerContext {
  dataset: Dataset | undefined
  /** The registers of earlier days. Throws a StoreError if there is no journal. */
  journal: () => Journal
  /** Testnet only (contract 1.7). */
  hasSyntheticCompany: boolean
  /** Limits the time of a query. */
  now: () => Date
}

export const SYNTHETIC_REGISTER: Register = {
  snapshot: { find: (number) => (number === SYNTHETIC_COMPANY.company_number ? SYNTHETIC_COMPANY : undefined) },
  names: new NameIndex(indexOfSynthetic()),
}

function indexOfSynthetic() {
  const builder = new NameIndexBuilder()
  builder.add(SYNTHETIC_COMPANY)
  return builder.parts()
}

/** Whether a number is that of the synthetic company. Its record needs no dataset. */
export function isSynthetic(
  companyNumber: unknown,
  { hasSyntheticCompany }: Pick<AnswerContext, 'hasSyntheticCompany'>,
): boolean {
  return hasSyntheticCompany && companyNumber === SYNTHETIC_COMPANY.company_number
}

/** In memory for as long as the snapshot object lives. */
const indexes = new WeakMap<Snapshot, NameIndex>()

/** The first call for a snapshot reads the index file synchronously. */
export function cachedNameIndex(snapshot: Snapshot): NameIndex {
  const index = indexes.get(snapshot) ?? openNameIndex(snapshot.folder)
  indexes.set(snapshot, index)
  return index
}

export function openRegisters({ snapshot }: Dataset, context: AnswerContext): [Register, ...Register[]] {
  const names = cachedNameIndex(snapshot)
  if (!context.hasSyntheticCompany) return [{ snapshot, names }]
  const withheld = names.findByNumber(SYNTHETIC_COMPANY.company_number)
  return [{ snapshot, names, withheld }, SYNTHETIC_REGISTER]
}

/** Undefined if the snapshot is damaged, because documents and quotes must not fail with it. */
export function ifReadable<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    return undefined
  }
}

/** The status texts of all companies that are for sale. */
export function listStatuses(context: AnswerContext): readonly (string | null)[] {
  if (!context.dataset) return []
  return openRegisters(context.dataset, context).flatMap(({ names }) => names.statuses)
}

export function datasetProvenance({ snapshot, source }: Dataset) {
  return { source, snapshot_id: snapshot.info.snapshot_id }
}

/** An answer whose only record is the synthetic company is not from the dataset. */
export function provenanceOf(candidates: readonly Candidate[], dataset: Dataset) {
  const isFromDataset = candidates.length === 0 || candidates.some(({ company }) => company !== SYNTHETIC_COMPANY)
  return isFromDataset ? datasetProvenance(dataset) : SYNTHETIC_PROVENANCE
}
