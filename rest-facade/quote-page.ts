/** What a browser gets as HTML besides the documents: the quote of a GET (contract 5.1.5), and unknown paths. */
import type { Request } from 'express'
import type { Outcome } from '../agent/operation/outcome.ts'
import type { FoundRoute } from '../agent/operation/resource.ts'
import { renderOutcome, type HttpResponseContent } from '../agent/transport/http/response.ts'
import { toUsdc } from '../agent/payment/terms.ts'
import { renderQuote, type PageDeployment } from './documents/page.ts'
import { removeIgnorable } from '../base/hidden.ts'
import type { WrittenDocument } from './documents/templates.ts'
import { parseQueryString, rawQuery } from './query.ts'

/** Whether a client ranks HTML above JSON. One that accepts anything is a program. */
export function prefersHtml(request: Request): boolean {
  if (!request.get('Accept')?.includes('text/html')) return false
  return request.accepts(['application/json', 'text/html']) === 'text/html'
}

export function isQuote(request: Request, outcome: Outcome): boolean {
  return request.method === 'GET' && outcome.kind === 'refused' && outcome.refusal.code === 'payment_required'
}

export function renderQuotePage(
  deployment: PageDeployment,
  request: Request,
  { route, outcome }: { route: FoundRoute; outcome: Outcome },
): HttpResponseContent {
  const content = renderOutcome(outcome)
  const quote = JSON.parse(content.body) as { accepts: [{ amount: string }]; resource: { url: string } }
  const parsed = parseQueryString(rawQuery(request.originalUrl))
  const given = [...(parsed.kind === 'refused' ? [] : parsed.fields), ...Object.entries(route.members)]
  // Without marks that change the direction of text, as in what is looked up (contract 10.1).
  const members = new Map(given.map(([name, value]) => [name, removeIgnorable(value)]))
  const price = `${toUsdc(quote.accepts[0].amount)} USDC`
  const { definition } = route
  return withDocument(content, renderQuote(deployment, { definition, members, price, url: quote.resource.url }))
}

/** The status and the headers of a refusal, with a document as its body. */
export function withDocument(
  { status, headers }: HttpResponseContent,
  { type, text, contentSecurityPolicy = '' }: WrittenDocument,
): HttpResponseContent {
  const html = { 'Content-Type': `${type}; charset=utf-8`, 'Content-Security-Policy': contentSecurityPolicy }
  return { status, headers: { ...headers, ...html }, body: text }
}
