/** Asks a CKAN portal where a resource's archive is and when it was updated (CKAN API guide, version 3). */
import { z } from 'zod'
import { ImportError } from './errors.ts'
import { get, type GetRequest } from './http.ts'
import { mayFollow, parseUrl, upgraded } from './location.ts'

/** A hundred times what a portal says of a package with a few resources. */
const ANSWER_BYTES_MAX = 1024 * 1024
const ANSWER_MS_MAX = 30_000

/** A page of the resource, and the API's own address; a download URL has more after the id. */
const RESOURCE_PAGE = /^(.*)\/dataset\/[^/]+\/resource\/([^/]+)\/?$/
const RESOURCE_SHOW = /^(.*)\/api\/3\/action\/resource_show$/

/** Portals leave these out, or null, as they like. CKAN writes UTC without saying so. */
const time = z
  .string()
  .transform((text) => new Date(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`))
  .refine((date) => !Number.isNaN(date.getTime()))
  .optional()
  .catch(undefined)

const resourceSchema = z.object({
  success: z.literal(true),
  result: z.object({
    url: z.string(),
    package_id: z.string().optional().catch(undefined),
    last_modified: time,
    metadata_modified: time,
  }),
})

const packageSchema = z.object({ success: z.literal(true), result: z.object({ metadata_modified: time }) })

export interface Resource {
  /** The portal's address up to its API. */
  root: string
  id: string
}

/** The resource that a URL means, or undefined when it means the archive itself. */
export function resourceOf({ origin, pathname, searchParams }: URL): Resource | undefined {
  const page = RESOURCE_PAGE.exec(pathname)
  if (page) return { root: origin + (page[1] ?? ''), id: decodeURIComponent(page[2] ?? '') }
  const show = RESOURCE_SHOW.exec(pathname)
  const id = searchParams.get('id')
  return show && id ? { root: origin + (show[1] ?? ''), id } : undefined
}

export interface Archive {
  url: URL
  /** When the portal says the data was updated, as near as it says it. */
  updatedAt: Date | undefined
}

export async function askPortal(
  { root, id }: Resource,
  request: Pick<GetRequest, 'limits' | 'signal'>,
): Promise<Archive> {
  const api = actionUrl(root, 'resource_show', id)
  const answer = resourceSchema.safeParse(await askJson(api, request))
  if (!answer.success) throw noArchive(answer.error)
  const { url: text, package_id, last_modified, metadata_modified } = answer.data.result
  const named = parseUrl(text, api)
  if (!named) throw noArchive()
  // Portals that moved to https go on naming what they kept by http.
  const url = upgraded(api, named)
  if (!mayFollow(api, url)) throw new ImportError('source_refused', 'the portal keeps the archive where it may not')
  const updatedAt = last_modified ?? metadata_modified ?? (await packageTime({ root, id: package_id }, request))
  return { url, updatedAt }
}

/** The package's time is the last resort, and no reason to give up when it can't be had. */
async function packageTime(
  { root, id }: { root: string; id: string | undefined },
  request: Pick<GetRequest, 'limits' | 'signal'>,
): Promise<Date | undefined> {
  if (id === undefined) return undefined
  try {
    const answer = packageSchema.safeParse(await askJson(actionUrl(root, 'package_show', id), request))
    return answer.data?.result.metadata_modified
  } catch (cause) {
    if (cause instanceof ImportError && cause.fault !== 'stopped') return undefined
    throw cause
  }
}

function actionUrl(root: string, action: string, id: string): URL {
  return new URL(`${root}/api/3/action/${action}?id=${encodeURIComponent(id)}`)
}

async function askJson(url: URL, { limits, signal }: Pick<GetRequest, 'limits' | 'signal'>): Promise<unknown> {
  const short = { ...limits, totalMs: Math.min(limits.totalMs, ANSWER_MS_MAX), bytesMax: ANSWER_BYTES_MAX }
  return get({ url, headers: { accept: 'application/json' }, limits: short, signal }, async ({ body }) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    try {
      return JSON.parse(Buffer.concat(chunks).toString()) as unknown
    } catch (cause) {
      throw noArchive(cause)
    }
  })
}

function noArchive(cause?: unknown): ImportError {
  return new ImportError('source_answer', 'the portal does not say where the archive is', cause)
}
