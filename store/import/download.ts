/**
 * Downloads an archive from its URL or from a CKAN resource. The request is conditional if the server gave validators
 * before (RFC 9110 section 13.1). The first bytes must be those of an archive or text, whatever the content type.
 */
import { mkdir, open } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import type { Dataset } from '../dataset/catalog.ts'
import { parseUrl } from '../../base/url-policy.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { ARCHIVE_BYTES_MAX, findFormat } from './archive.ts'
import { locateArchive, parseCkanUrl } from './ckan.ts'
import { ImportError } from './errors.ts'
import { fetchSource, type SourceLimits } from './http.ts'

/** A busy portal may need a minute to answer. */
const LIMITS: SourceLimits = { idleMs: 60_000, bytesMax: ARCHIVE_BYTES_MAX }

/** The bytes that are inspected to find the type. */
const HEAD_BYTES = 512
/** Control characters other than tab and line ends, which do not occur in text. */
const BINARY = /(?![\t\r\n])\p{Cc}/u

type Validators = NonNullable<Dataset['validators']>

/** What a child process needs for a download, as JSON. */
interface DownloadRequest {
  /** A URL. An ImportError is thrown if it may not be fetched. */
  location: string
  /** Created for the archive. The caller removes it. */
  folder: string
  /** The validators of the archive that was imported last. Without them the request is unconditional. */
  validators: Validators | null
  limits?: Partial<SourceLimits> | undefined
}

export interface Download {
  /** The archive on disk. Absent if it has not changed (status 304). */
  path?: string
  validators: Validators | null
  /** According to the portal, otherwise according to the archive's server. ISO 8601 in UTC. */
  updatedAt: string | null
}

export async function downloadArchive(
  { location, folder, validators, limits }: DownloadRequest,
  { freeBytes }: { freeBytes?: typeof readFreeBytes } = {},
): Promise<Download> {
  const allLimits = { ...LIMITS, ...limits }
  const start = parseUrl(location)
  if (!start) throw new ImportError('source_refused', 'the source is not a URL')
  const resource = parseCkanUrl(start)
  const archive = resource ? await locateArchive(resource, allLimits) : { url: start, updatedAt: undefined }
  // Validators belong to one URL. Another archive may have the same ones.
  const known = validators?.url === archive.url.href ? validators : null
  const conditions = {
    ...(known?.etag ? { 'if-none-match': known.etag } : {}),
    ...(known?.last_modified ? { 'if-modified-since': known.last_modified } : {}),
  }
  const { status, headers, body } = await fetchSource(archive.url, conditions, allLimits)
  const updatedAt = archive.updatedAt ?? new Date(headers['last-modified'] ?? '')
  const facts = {
    validators: readValidators(headers, archive.url),
    updatedAt: Number.isNaN(updatedAt.getTime()) ? null : updatedAt.toISOString(),
  }
  if (status === 304) return { ...facts, validators: facts.validators ?? known }
  const path = join(folder, 'archive')
  await mkdir(folder, { recursive: true })
  // An archive must not use the space that sales need (contract 8.13).
  const checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.import, freeBytes)
  await writeArchive(path, body, headers['content-type'] ?? '', checkReserve)
  return { ...facts, path }
}

function readValidators(headers: IncomingHttpHeaders, url: URL): Validators | null {
  const { etag = null, 'last-modified': last_modified = null } = headers
  return etag === null && last_modified === null ? null : { url: url.href, etag, last_modified }
}

/** The first bytes are checked as soon as they are there, so that a wrong file is not downloaded to its end. */
async function writeArchive(path: string, body: AsyncIterable<Buffer>, type: string, checkReserve: () => void) {
  await using file = await open(path, 'wx')
  let head = Buffer.alloc(0)
  for await (const chunk of body) {
    checkReserve()
    if (head.length < HEAD_BYTES) {
      head = Buffer.concat([head, chunk]).subarray(0, HEAD_BYTES)
      if (head.length === HEAD_BYTES) checkHead(head, type)
    }
    await file.writeFile(chunk)
  }
  if (head.length < HEAD_BYTES) checkHead(head, type)
}

/** The content type is not trusted: the portal labels its ZIP as CSV and sends its cookie page with status 200. */
function checkHead(head: Buffer, type: string): void {
  if (findFormat(head) !== 'text') return
  const text = head
    .toString()
    .replace(/^\uFEFF/, '')
    .trimStart()
  if (text.startsWith('<') || type.includes('text/html')) {
    throw new ImportError('source_is_page', 'the source sends an HTML page')
  }
  if (text === '' || /^[{[]/.test(text) || BINARY.test(text)) {
    throw new ImportError('source_wrong_type', 'the source sends neither an archive nor a CSV')
  }
}
