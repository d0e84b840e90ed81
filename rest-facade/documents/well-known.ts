/** Documents at the paths that standards fix: the catalogue of the APIs, and whom to tell of a vulnerability. */
import { DAY_MS } from '../../base/day.ts'
import { A2A_PATH, API_PREFIX, FREE_PATHS, MCP_PATH, SECURITY_TXT_PATH } from '../../agent/operation/endpoints.ts'
import type { DocumentedDeployment } from './examples.ts'
import type { WrittenDocument } from './templates.ts'

/** Shorter than the year that RFC 9116 advises. */
const CONTACT_DAYS = 90

/** A link set (RFC 9264) with the APIs and what describes each of them (RFC 9727). */
export function apiCatalog({ baseUrl, a2aEnabled }: DocumentedDeployment): WrittenDocument {
  const link = (path: string, type: string) => ({ href: baseUrl + path, type })
  const linkset = [
    {
      anchor: baseUrl + API_PREFIX,
      'service-desc': [link(FREE_PATHS.openApi, 'application/json')],
      'service-doc': [link(FREE_PATHS.page, 'text/html'), link(FREE_PATHS.apiGuide, 'text/markdown')],
      'service-meta': [link(FREE_PATHS.metadata, 'application/json')],
    },
    { anchor: baseUrl + MCP_PATH, 'service-doc': [link(FREE_PATHS.mcpGuide, 'text/plain')] },
    a2aEnabled && {
      anchor: baseUrl + A2A_PATH,
      'service-desc': [link(FREE_PATHS.agentCard, 'application/json')],
      'service-doc': [link(FREE_PATHS.a2aGuide, 'text/plain')],
    },
  ].filter(Boolean)
  return {
    type: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    text: JSON.stringify({ linkset }),
  }
}

/** The contact of the operator (RFC 9116). The day of its end changes once a day, so the ETag does too. */
export function securityTxt(baseUrl: string, operator: { url: string }, now: Date): WrittenDocument {
  const today = Math.floor(now.getTime() / DAY_MS)
  const fields = [
    `Contact: ${new URL(operator.url).href}`,
    `Expires: ${new Date((today + CONTACT_DAYS) * DAY_MS).toISOString()}`,
    'Preferred-Languages: en',
    `Canonical: ${baseUrl}${SECURITY_TXT_PATH}`,
  ]
  return { type: 'text/plain', text: fields.map((field) => `${field}\n`).join('') }
}
