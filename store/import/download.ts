/**
 * Downloads an archive from its URL or from a CKAN resource into a temporary folder. The request is conditional if the
 * server gave validators before (RFC 9110 section 13.1). The first bytes must be a ZIP or text, whatever the content
 * type.
 */
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dataset } from '../dataset/catalog.ts'
import { parseUrl } from '../base/url-policy.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { ARCHIVE_BYTES_MAX, ZIP_MAGIC } from './archive.ts'
import { locateArchive, parseCkanUrl } from './ckan.ts'
import { ImportError } from './errors.ts'
import { fetchSource } from './http.ts'

/** 30 minutes allow for the largest archive at 300 kB/s; a busy portal may need a minute to answer. */
const LIMITS = { totalMs: 30 * 60_000, idleMs: 60_000, bytesMax: ARCHIVE_BYTES_MAX }

/** The bytes that are inspected to find the type. */
const HEAD_BYTES = 512
/** Control characters other than tab and line ends, which do not occur in text. */
const BINARY = /(?![\t\r\n])\p{Cc}/u

type Validators = NonNullable<Dataset['validators']>

interface DownloadRequest {
  /** A URL. An ImportError is thrown if it may not be fetched. */
  location: string
  /** Created for the download and removed afterwards. */
  folder: string
  /** The validators of the archive that was imported last. Without them the request is unconditional. */
  validators: Validators | null
  limits?: Partial<typeof LIMITS> | undefined
  freeBytes?: typeof readFreeBytes | undefined
  signal?: AbortSignal | undefined
}

export interface Download {
  /** The archive on disk, or undefined if it has not changed (status 304). */
  path: string | undefined
  validators: Validators | null
  /** According to the portal, otherwise according to the archive's server. */
  updatedAt: Date | undefined
}

/** Downloads an archive, passes it to `use` and removes it afterwards. */
export async function withDownload<T>(request: DownloadRequest, use: (download: Download) => Promise<T>): Promise<T> {
  try {
    return await use(await download(request))
  } finally {
    await rm(request.folder, { recursive: true, force: true })
  }
}

async function download(request: DownloadRequest): Promise<Download> {
  const { location, folder, validators, limits, freeBytes, signal } = request
  const options = { limits: { ...LIMITS, ...limits }, signal }
  const start = parseUrl(location)
  if (!start) throw new ImportError('source_refused', 'the source is not a URL')
  const resource = parseCkanUrl(start)
  const archive = resource ? await locateArchive(resource, options) : { url: start, updatedAt: undefined }
  // Validators belong to one URL. Another archive may have the same ones.
  const known = validators?.url === archive.url.href ? validators : null
  return fetchSource({ ...options, url: archive.url, headers: conditionHeaders(known) }, async (response, body) => {
    const path = response.status === 304 ? undefined : join(folder, 'archive')
    if (path !== undefined) {
      await mkdir(folder, { recursive: true })
      // An archive must not use the space that sales need (contract 8.13).
      const checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.import, freeBytes)
      await writeArchive({ path, body, type: response.headers.get('content-type') ?? '', checkReserve })
    }
    return {
      path,
      validators: readValidators(response.headers, archive.url) ?? (path === undefined ? known : null),
      updatedAt: archive.updatedAt ?? parseHttpDate(response.headers.get('last-modified') ?? ''),
    }
  })
}

function conditionHeaders(known: Validators | null): Record<string, string> {
  return {
    ...(known?.etag ? { 'if-none-match': known.etag } : {}),
    ...(known?.last_modified ? { 'if-modified-since': known.last_modified } : {}),
  }
}

function readValidators(headers: Headers, url: URL): Validators | null {
  const [etag, last_modified] = [headers.get('etag'), headers.get('last-modified')]
  return etag === null && last_modified === null ? null : { url: url.href, etag, last_modified }
}

function parseHttpDate(text: string): Date | undefined {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? undefined : date
}

interface ArchiveBody {
  path: string
  body: AsyncIterable<Uint8Array>
  /** The content type. */
  type: string
  checkReserve: () => void
}

/** The first bytes are checked as soon as they are there, so that a wrong file is not downloaded to its end. */
async function writeArchive({ path, body, type, checkReserve }: ArchiveBody): Promise<void> {
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
  if (head.subarray(0, ZIP_MAGIC.length).equals(ZIP_MAGIC)) return
  const text = head
    .toString()
    .replace(/^\uFEFF/, '')
    .trimStart()
  if (text.startsWith('<') || type.includes('text/html')) {
    throw new ImportError('source_is_page', 'the source sends an HTML page')
  }
  if (text === '' || /^[{[]/.test(text) || BINARY.test(text)) {
    throw new ImportError('source_wrong_type', 'the source sends neither a ZIP nor a CSV')
  }
}
