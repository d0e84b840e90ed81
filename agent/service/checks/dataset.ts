/** Checks of the dataset: its age and retrieval, and real answers from snapshot, name index and journal. */
import { existsSync } from 'node:fs'
import { isUrl } from '../../../base/url-policy.ts'
import { checkPlace } from '../../../store/files/environment.ts'
import { catalogFolder, historyFolder } from '../../../store/files/layout.ts'
import { datasetStatus } from '../../../store/dataset/catalog.ts'
import type { Snapshot } from '../../../store/dataset/snapshot.ts'
import { DAY_MS, HOUR_MS } from '../../../base/day.ts'
import { prepareAnswer } from '../../answer/answers.ts'
import { cachedNameIndex, ifReadable } from '../../answer/registers.ts'
import { history } from '../../operation/history.ts'
import { lookup } from '../../operation/lookup.ts'
import { parseOperation, type SingleDefinition } from '../../operation/operation.ts'
import { search } from '../../operation/search.ts'
import { failed, passed, warning, type Finding, type Subject } from './subject.ts'

/** A day before sales end. */
const OLD_MS = 2 * DAY_MS
/** An import of the register takes a minute or two. */
const RETRIEVAL_MS_MAX = 30 * 60_000
/** Refusals of records that are stored as they should be. */
const EXPECTED: ReadonlySet<string> = new Set(['source_data_conflict', 'query_too_broad'])
/** Each measure reads others. */
const RECORDS = 3

export function checkDataset({ catalog, config, now, running }: Subject): Finding[] {
  checkPlace(catalogFolder(config.dataDirectory))
  const dataset = catalog()?.current()
  if (!dataset) return running ? failed('there is no dataset: see retrieval') : passed('none is stored yet')
  const hours = Math.floor((now().getTime() - Date.parse(dataset.source.retrieved_at)) / HOUR_MS)
  const age = `was retrieved ${hours} hours ago`
  if (datasetStatus(dataset.source, now()) === 'stale') return failed(`${age}, and sales end after 72: see retrieval`)
  return hours * HOUR_MS >= OLD_MS ? warning(`${age}, and sales end after 72: see retrieval`) : passed(age)
}

/** The body is not read, because an archive has more than 100 MB. */
export async function checkRetrieval({ config, catalog, now, fetch, running }: Subject): Promise<Finding[]> {
  if (running) return running.retrieval ? judgeRetrieval(running.retrieval, { catalog, now }) : []
  const { dataset: source } = config
  if (source === undefined) return passed('the sample of the sandbox')
  if (!isUrl(source))
    return existsSync(source) ? passed(source) : failed(`${JSON.stringify(source)} does not exist: correct DATASET`)
  const answer = await fetch(source, {}).catch(() => undefined)
  await answer?.body?.cancel()
  if (answer?.ok === true) return passed(`${source} answers`)
  const fault = answer ? `answers with status ${answer.status}` : 'does not answer'
  const dataset = catalog()?.current()
  return dataset && datasetStatus(dataset.source, now()) === 'ready'
    ? warning(`${source} ${fault}: sales end when the stored snapshot is 72 hours old`)
    : failed(`${source} ${fault}, and there is no snapshot of the last 72 hours: correct DATASET, or import a file`)
}

function judgeRetrieval(
  { pendingSince, hasFailed }: NonNullable<NonNullable<Subject['running']>['retrieval']>,
  { catalog, now }: Pick<Subject, 'catalog' | 'now'>,
): Finding[] {
  const since = pendingSince()?.getTime()
  const retrievedAt = Date.parse(catalog()?.retrieval()?.source.retrieved_at ?? '')
  // The command `import` can have retrieved it.
  if (since === undefined || retrievedAt > since) return passed('has succeeded')
  if (hasFailed()) return warning('has failed: see dataset_retrieval_failed in the log')
  return now().getTime() - since > RETRIEVAL_MS_MAX ? warning('hangs') : passed('is in progress')
}

export function checkSnapshot(subject: Subject): Finding[] {
  const served = subject.catalog()
  const folder = served?.current()?.snapshot.folder
  if (folder !== undefined) checkPlace(folder)
  if (served?.retrieval() && !served.current())
    return failed('the snapshot cannot be read: delete it, and import again')
  return answerEach(subject, lookup, (company_number) => ({ company_number }))
}

export function checkNameIndex(subject: Subject): Finding[] {
  return answerEach(subject, search, (number, snapshot) => {
    const company = snapshot.find(number)
    return { q: typeof company === 'object' ? company.legal_name : number, limit: 1 }
  })
}

export function checkJournal(subject: Subject): Finding[] {
  checkPlace(historyFolder(subject.config.dataDirectory))
  return answerEach(subject, history, (company_number) => ({ company_number }))
}

/** Answers an operation for random records, as a sale does. A damaged store throws. */
function answerEach(
  { catalog, journal, config, now, random }: Subject,
  definition: SingleDefinition,
  inputFor: (companyNumber: string, snapshot: Snapshot) => object,
): Finding[] {
  const dataset = catalog()?.current()
  if (!dataset) return passed('there is no dataset')
  const { snapshot } = dataset
  const context = { dataset, journal, hasSyntheticCompany: config.mode === 'testnet', now }
  for (let count = 0; count < RECORDS; count += 1) {
    const number = randomNumber(snapshot, random)
    const parsed = number === undefined ? undefined : parseOperation(definition, inputFor(number, snapshot))
    const answer = parsed?.kind === 'valid' ? prepareAnswer(parsed.operation, context) : undefined
    if (answer?.kind === 'refused' && !EXPECTED.has(answer.refusal.code))
      return failed(`has not the record of ${number}, which the snapshot has: import again`)
  }
  return passed(`answers for ${RECORDS} random records`)
}

/** A damaged name index has a check of its own. */
function randomNumber(snapshot: Snapshot, random: () => number): string | undefined {
  const names = ifReadable(() => cachedNameIndex(snapshot))
  if (names && names.size > 0) return names.companyNumber(Math.floor(random() * names.size))
  for (const [number] of snapshot.entries()) return number
  return undefined
}
