/**
 * The query string of a search, read strictly from the request target as it came. It is read as clients write it (WHATWG
 * URLSearchParams: `+` is a space), but what those let pass is refused: broken percent signs, broken UTF-8, a name twice.
 */
import type { Refusal } from '../agent/operation/refusal.ts'

/**
 * The longest honest query, 160 characters of four bytes in `q` and 80 in `status`, percent-encoded, is just below this.
 * It comes back in the quote and again in the payment, whose header may have 8 KiB.
 */
export const QUERY_CHARACTERS_MAX = 3072

/** What follows the path of a request target, without the question mark; a fragment, which has no business here, with it. */
export function queryOf(target: string): string {
  return /[?#].*$/s.exec(target)?.[0].replace(/^\?/, '') ?? ''
}

/** The parameters by name, decoded. */
export function readQuery(query: string): ReadonlyMap<string, string> | Refusal {
  if (query.length > QUERY_CHARACTERS_MAX) return invalid(`it has more than ${QUERY_CHARACTERS_MAX} characters`)
  const fields = new Map<string, string>()
  for (const parameter of query === '' ? [] : query.split('&')) {
    const [, rawName = '', rawValue = ''] = /^([^=]*)=?(.*)$/s.exec(parameter) ?? []
    const name = decode(rawName)
    const value = decode(rawValue)
    if (name === undefined || value === undefined) return invalid('it must be percent-encoded UTF-8')
    if (name === '') return invalid('a parameter has no name')
    if (fields.has(name)) return { code: 'duplicate_parameter' }
    fields.set(name, value)
  }
  return fields
}

/** Undefined for what has to be percent-encoded and is not, and for bytes that are no UTF-8. */
function decode(text: string): string | undefined {
  if (!/^[!-~]*$/.test(text) || text.includes('#')) return undefined
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function invalid(detail: string): Refusal {
  return { code: 'invalid_query', detail }
}
