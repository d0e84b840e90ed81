/** The key ranges of a response log in LMDB, read and damaged as by another program. */
import { asBinary, open } from 'lmdb'
import { responsesFolder } from '../../store/files/layout.ts'
import { openRanges, type LogRanges } from '../../store/log/ranges.ts'

/** The settings of an environment that the service also opens. */
export const SETTINGS = {
  noSubdir: false,
  overlappingSync: false,
  noMetaSync: false,
  encoding: 'json',
  maxDbs: 8,
} as const

export function openLogRanges(dataDirectory: string, { readOnly = false } = {}) {
  const environment = open<unknown, string>({ ...SETTINGS, path: responsesFolder(dataDirectory), readOnly })
  return Object.assign(openRanges(environment), { [Symbol.asyncDispose]: () => environment.close() })
}

/** The key of a record that is in the log. */
const keyOf = (ranges: LogRanges, identity: string): string => {
  const keys = [...ranges.records.keys()]
  const key = keys.find((each) =>
    String(ranges.records.getBinary(each)).includes(`"identity":${JSON.stringify(identity)}`),
  )
  if (key === undefined) throw new Error(`There is no record of ${identity}`)
  return key
}

/** Replaces the bytes of the record, or of its progress. */
export function damage(
  ranges: LogRanges,
  identity: string,
  change: (bytes: Buffer) => Buffer,
  part: 'records' | 'progress' = 'records',
): void {
  const key = keyOf(ranges, identity)
  const bytes = change(Buffer.from(ranges[part].getBinary(key) ?? ''))
  ranges.environment.transactionSync(() => ranges[part].put(key, asBinary(bytes)))
}
