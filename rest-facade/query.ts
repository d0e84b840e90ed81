/**
 * Parses a query string strictly, from the raw request target (contract 4.2.3). A valid query string has the same
 * meaning as in `URLSearchParams`. Broken encodings and repeated or empty names are refused, although `URLSearchParams`
 * accepts them.
 */
import { refused, type Refused } from '../agent/operation/outcome.ts'

/**
 * Just above the longest valid query, 160 four-byte characters in `q` and 80 in `status`, percent-encoded. The quote
 * and the payment repeat it, and a payment header has at most 8 KiB.
 */
export const QUERY_CHARACTERS_MAX = 3072

/**
 * The part of a request target after the path, without the question mark. A fragment, which is invalid here, is
 * included.
 */
export function rawQuery(target: string): string {
  return /[?#].*$/s.exec(target)?.[0].replace(/^\?/, '') ?? ''
}

export function parseQueryString(query: string): { kind: 'query'; fields: ReadonlyMap<string, string> } | Refused {
  if (query.length > QUERY_CHARACTERS_MAX) return invalidQuery(`it has more than ${QUERY_CHARACTERS_MAX} characters`)
  const fields = new Map<string, string>()
  for (const parameter of query === '' ? [] : query.split('&')) {
    const [, rawName = '', rawValue = ''] = /^([^=]*)=?(.*)$/s.exec(parameter) ?? []
    const name = decode(rawName)
    const value = decode(rawValue)
    if (name === undefined || value === undefined) return invalidQuery('it must be percent-encoded UTF-8')
    if (name === '') return invalidQuery('a parameter has no name')
    if (fields.has(name)) return refused({ code: 'duplicate_parameter' })
    fields.set(name, value)
  }
  return { kind: 'query', fields }
}

/** Undefined if a character that must be percent-encoded is not, or if the bytes are not UTF-8. */
function decode(text: string): string | undefined {
  if (!/^[!-~]*$/.test(text) || text.includes('#')) return undefined
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function invalidQuery(detail: string): Refused {
  return refused({ code: 'invalid_query', detail })
}
