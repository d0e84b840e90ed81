/**
 * Fetches a dataset from a URL: a CKAN resource, or the archive itself.
 *
 *   1. of a resource, the portal is asked where its archive is and when it was updated;
 *   2. the archive is asked for on the condition that it has changed, where its server gave validators the last time
 *      (RFC 9110, 13.1);
 *   3. its first bytes tell a ZIP or a CSV from a page, whatever the portal calls it;
 *   4. it is written to a folder of its own, which is removed in the end. A download that broke off begins anew.
 */
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { Retrieval } from '../catalog.ts'
import { ARCHIVE_BYTES_MAX, ZIP_MAGIC } from './archive.ts'
import { askPortal, resourceOf } from './ckan.ts'
import { ImportError } from './errors.ts'
import { get, type HttpLimits, type Reply } from './http.ts'
import { parseUrl } from './location.ts'

/** The largest archive at 300 kB a second, and a minute for a portal that is busy. */
const LIMITS: HttpLimits = { totalMs: 30 * 60_000, idleMs: 60_000, bytesMax: ARCHIVE_BYTES_MAX }

/** How much is looked at to tell what it is. */
const HEAD_BYTES = 512
/** Bytes that no text has: all below the space but tab and line ends. */
const BINARY = /(?![\t\r\n])\p{Cc}/u

type Validators = NonNullable<Retrieval['validators']>

export interface DownloadRequest {
  /** A URL; one that may not be fetched is a fault. */
  location: string
  /** Created for the archive and removed with it. */
  folder: string
  /** Of the archive that is at hand; without them the whole is fetched. */
  validators: Validators | null
  limits?: Partial<HttpLimits> | undefined
  signal?: AbortSignal | undefined
}

export interface Download {
  /** The archive on disk, or undefined when the server says that it is the one at hand. */
  path: string | undefined
  validators: Validators | null
  /** What the portal says, else the archive's server. */
  updatedAt: Date | undefined
}

/** Hands the download to `use`, and removes it afterwards. */
export async function withDownload<T>(request: DownloadRequest, use: (download: Download) => Promise<T>): Promise<T> {
  try {
    return await use(await download(request))
  } finally {
    await rm(request.folder, { recursive: true, force: true })
  }
}

async function download({ location, folder, validators, limits, signal }: DownloadRequest): Promise<Download> {
  const surroundings = { limits: { ...LIMITS, ...limits }, signal }
  const start = parseUrl(location)
  if (!start) throw new ImportError('source_refused', 'the source is not a URL')
  const resource = resourceOf(start)
  const archive = resource ? await askPortal(resource, surroundings) : { url: start, updatedAt: undefined }
  // Validators are of one address: another archive may well have the same.
  const known = validators?.url === archive.url.href ? validators : null
  return get({ ...surroundings, url: archive.url, headers: conditions(known) }, async (reply) => {
    const path = reply.status === 304 ? undefined : join(folder, 'archive')
    if (path !== undefined) {
      await mkdir(folder, { recursive: true })
      await writeArchive(path, reply)
    }
    return {
      path,
      validators: validatorsOf(reply.header, archive.url) ?? (path === undefined ? known : null),
      updatedAt: archive.updatedAt ?? httpDate(reply.header('last-modified')),
    }
  })
}

function conditions(known: Validators | null): Record<string, string> {
  return {
    ...(known?.etag ? { 'if-none-match': known.etag } : {}),
    ...(known?.last_modified ? { 'if-modified-since': known.last_modified } : {}),
  }
}

function validatorsOf(header: Reply['header'], url: URL): Validators | null {
  const etag = header('etag') ?? null
  const last_modified = header('last-modified') ?? null
  return etag === null && last_modified === null ? null : { url: url.href, etag, last_modified }
}

function httpDate(text = ''): Date | undefined {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? undefined : date
}

async function writeArchive(path: string, reply: Reply): Promise<void> {
  const file = await open(path, 'wx')
  try {
    await writeBody(file, { body: reply.body, type: reply.header('content-type') ?? '' })
  } finally {
    await file.close()
  }
}

async function writeBody(
  file: FileHandle,
  { body, type }: { body: AsyncIterable<Uint8Array>; type: string },
): Promise<void> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of body) {
    if (head) {
      head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)])
      if (head.length === HEAD_BYTES) {
        checkHead(head, type)
        head = undefined
      }
    }
    await file.writeFile(chunk)
  }
  if (head) checkHead(head, type)
}

/** A portal's word is not taken: it calls the ZIP a CSV, and its cookie page comes with status 200. */
function checkHead(head: Buffer, type: string): void {
  if (head.subarray(0, ZIP_MAGIC.length).equals(ZIP_MAGIC)) return
  const text = head
    .toString()
    .replace(/^\uFEFF/, '')
    .trimStart()
  if (text.startsWith('<') || type.includes('text/html')) {
    throw new ImportError('source_is_page', 'the source sends a page, not an archive')
  }
  if (text === '' || /^[{[]/.test(text) || BINARY.test(text)) {
    throw new ImportError('source_wrong_type', 'the source sends neither a ZIP nor a CSV')
  }
}
