/** Archives that are kept with their facts in `ARCHIVE.json`, so that the journal can be built again from them. */
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import type { Retrieval } from '../dataset/source.ts'
import { copyDurably, renameDurably, UNFINISHED_SUFFIX, writeFileAtomically } from '../files/atomic-file.ts'
import { StoreError } from '../files/environment.ts'
import { PRIVATE_DIRECTORY_MODE } from '../files/private-files.ts'

const factsSchema = z.strictObject({
  /** The URL or path that was retrieved. */
  location: z.string(),
  retrieved_at: z.iso.datetime(),
  source_updated_at: z.iso.datetime().nullable(),
  archive_sha256: z.string().optional(),
  synthetic: z.boolean().optional(),
})

type ArchiveFacts = z.infer<typeof factsSchema>

const SHA256_DIGITS = 16

/** Copies an archive. Its facts are written last, so an archive without them was not kept whole. */
export async function keepArchive(folder: string, path: string, facts: Retrieval): Promise<void> {
  const { location, archive_sha256, source } = facts
  const { retrieved_at, source_updated_at, synthetic } = source
  // By the time of the retrieval, because a file can come back on the same day.
  const kept = join(folder, `${retrieved_at.replaceAll(':', '')}-${archive_sha256.slice(0, SHA256_DIGITS)}`)
  await mkdir(folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  // The next import of the same bytes replaces what a kill has left.
  const unfinished = join(folder, `${archive_sha256}${UNFINISHED_SUFFIX}`)
  await rm(unfinished, { force: true })
  try {
    await copyDurably(path, unfinished)
    await renameDurably(unfinished, kept)
  } finally {
    await rm(unfinished, { force: true })
  }
  const keptFacts: ArchiveFacts = { location, retrieved_at, source_updated_at, archive_sha256, synthetic }
  await writeFileAtomically(`${kept}.json`, `${JSON.stringify(keptFacts, null, 2)}\n`)
}

/**
 * Reads the facts of `ARCHIVE=TIME`, or of `ARCHIVE` with `ARCHIVE.json` beside it.
 * @throws StoreError if it has none
 */
export async function readArchiveFacts(argument: string): Promise<{ path: string; facts: ArchiveFacts }> {
  const [, given, time] = /^(.+)=([^=/]+)$/.exec(argument) ?? []
  if (given !== undefined && time !== undefined) {
    const at = z.union([z.iso.date(), z.iso.datetime()]).safeParse(time)
    if (!at.success) throw new StoreError(`${given}: the time must be YYYY-MM-DD or like 2026-01-02T03:04:05Z`)
    const retrieved_at = new Date(at.data).toISOString()
    return { path: resolve(given), facts: { location: given, retrieved_at, source_updated_at: retrieved_at } }
  }
  const path = resolve(argument)
  try {
    return { path, facts: factsSchema.parse(JSON.parse(await readFile(`${path}.json`, 'utf8'))) }
  } catch (cause) {
    throw new StoreError(`${path}.json: has no facts of the archive; write ARCHIVE=DATE instead`, { cause })
  }
}
