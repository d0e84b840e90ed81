/** The quote of a GET that a person has opened in a browser, as HTML (contract 5.1.1). Programs get it as JSON. */
import type { Request } from 'express'
import type { Outcome } from '../agent/operation/outcome.ts'
import type { FoundRoute } from '../agent/operation/resource.ts'
import { FREE_PATHS } from '../agent/operation/endpoints.ts'
import { renderOutcome, type HttpResponseContent } from '../agent/transport/http/response.ts'
import { toUsdc } from '../agent/payment/terms.ts'
import { escapeHtml } from '../store/base/escape-html.ts'
import { policyOf } from './documents/page.ts'
import { parseQueryString, rawQuery } from './query.ts'

const STYLE =
  ':root{color-scheme:light dark}body{max-width:34rem;margin:12vh auto;padding:0 1.25rem;font:1.05rem/1.6 system-ui,sans-serif;' +
  'overflow-wrap:anywhere}h1{font:600 1.9rem/1.2 ui-serif,Georgia,serif}a{display:inline-block;padding:.7rem 1.1rem;' +
  'border-radius:.4rem;background:#0b5c3f;color:#fff;font-weight:600}'
const POLICY = policyOf([STYLE])

/** Whether a request without a payment ranks HTML above JSON. A client that accepts anything is a program. */
export function prefersHtml(request: Request, outcome: Outcome): boolean {
  if (outcome.kind !== 'refused' || outcome.refusal.code !== 'payment_required') return false
  if (request.method !== 'GET' || !request.get('Accept')?.includes('text/html')) return false
  return request.accepts(['application/json', 'text/html']) === 'text/html'
}

export function renderQuotePage(
  request: Request,
  { definition, members }: FoundRoute,
  outcome: Outcome,
): HttpResponseContent {
  const { status, headers, body } = renderOutcome(outcome)
  const { payment_required: quote } = JSON.parse(body) as { payment_required: { accepts: [{ amount: string }] } }
  const parsed = parseQueryString(rawQuery(request.originalUrl))
  const query = parsed.kind === 'refused' ? [] : [...parsed.fields]
  const form = new URLSearchParams([['operation', definition.name], ...Object.entries(members), ...query])
  const asked = [...Object.values(members), ...query.map(([, value]) => value)].join(', ')
  const price = toUsdc(quote.accepts[0].amount)
  const title = escapeHtml(`${definition.skill.name}: ${asked}`)
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />
<title>${title}</title><link rel="icon" href="data:," /><style>${STYLE}</style></head>
<body><main><h1>${title}</h1><p>${escapeHtml(definition.skill.description)}</p>
<p>This answer costs <strong>${price} USDC</strong>. Nothing is charged before you sign.</p>
<p><a href="${escapeHtml(`${FREE_PATHS.index}?${form.toString()}`)}">Buy this answer</a></p>
<p>Programs get a quote of x402 v2 here.</p></main></body></html>`
  const html = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': POLICY }
  return { status, headers: { ...headers, ...html }, body: text }
}
