/** Errors that are found before a request is routed, or on any route (contract 7.3). */
import { WIRE_REFUSALS } from '../operation/refusal.ts'
import type { HttpResponseContent } from './render-outcome.ts'

/** The connection ends with the answer, because what follows cannot be trusted. */
export function renderWireError(code: string): HttpResponseContent {
  const { status, message } = WIRE_REFUSALS.get(code) ?? { status: 400, message: '' }
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'private, no-store',
    Connection: 'close',
  }
  return { status, headers, body: JSON.stringify({ error: { code, message } }) }
}
