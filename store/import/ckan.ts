/** Reads the archive's URL and update time of a resource from a CKAN portal (CKAN API guide, version 3). */
import { json } from 'node:stream/consumers'
import * as z from 'zod'
import { mayFollow, parseUrl, upgradeToHttps } from '../../base/url-policy.ts'
import { ImportError } from './errors.ts'
import { fetchSource, type SourceLimits } from './http.ts'

/** A hundred times the description of a package with a few resources. */
const ANSWER_BYTES_MAX = 1024 * 1024

/** The page of a resource and its API URL. A download URL has more path segments after the id. */
const RESOURCE_PAGE = /^(.*)\/dataset\/[^/]+\/resource\/([^/]+)\/?$/
const RESOURCE_SHOW = /^(.*)\/api\/3\/action\/resource_show$/

/** A time may be missing or null. CKAN writes UTC without a time zone. */
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
    last_modified: time,
    metadata_modified: time,
  }),
})

interface CkanResource {
  /** The portal's URL before `/api` or `/dataset`. */
  root: string
  id: string
}

/** Parses a resource URL. Returns undefined for any other URL, which is then the archive itself. */
export function parseCkanUrl({ origin, pathname, searchParams }: URL): CkanResource | undefined {
  const page = RESOURCE_PAGE.exec(pathname)
  if (page) return { root: origin + (page[1] ?? ''), id: decodeURIComponent(page[2] ?? '') }
  const show = RESOURCE_SHOW.exec(pathname)
  const id = searchParams.get('id')
  return show && id ? { root: origin + (show[1] ?? ''), id } : undefined
}

/** `updatedAt`: when the data was updated, according to the portal. */
export async function locateArchive({ root, id }: CkanResource, limits: SourceLimits) {
  const api = new URL(`${root}/api/3/action/resource_show?id=${encodeURIComponent(id)}`)
  const answer = resourceSchema.safeParse(await getJson(api, limits))
  if (!answer.success) throw badAnswer(answer.error)
  const { url: text, last_modified, metadata_modified } = answer.data.result
  const statedUrl = parseUrl(text, api)
  if (!statedUrl) throw badAnswer()
  // Portals that moved to https still publish their old http URLs.
  const url = upgradeToHttps(api, statedUrl)
  if (!mayFollow(api, url)) throw new ImportError('source_refused', 'the portal names a URL that may not be fetched')
  return { url, updatedAt: last_modified ?? metadata_modified }
}

async function getJson(url: URL, limits: SourceLimits): Promise<unknown> {
  const limited = { ...limits, bytesMax: ANSWER_BYTES_MAX }
  const { body } = await fetchSource(url, { accept: 'application/json' }, limited)
  try {
    return await json(body)
  } catch (cause) {
    throw cause instanceof ImportError ? cause : badAnswer(cause)
  }
}

function badAnswer(cause?: unknown): ImportError {
  return new ImportError('source_answer', 'the portal does not name the URL of the archive', cause)
}
