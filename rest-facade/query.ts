/**
 * Parses a query string strictly, from the raw request target (contract 4.2.3). Broken encodings and repeated or empty
 * names are refused, although `URLSearchParams` accepts them.
 */
import { REPEATED_NAME } from '../agent/operation/operation.ts'
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
  if (!isEncoded(query)) return invalidQuery('it must be percent-encoded UTF-8')
  if (query !== '' && /(?:^|&)(?:[=&]|$)/.test(query)) return invalidQuery('a parameter has no name')
  const parameters = [...new URLSearchParams(`?${query}`)]
  const fields = new Map(parameters)
  if (fields.size === parameters.length) return { kind: 'query', fields }
  const repeated = parameters.find(([name], at) => parameters.findIndex(([other]) => other === name) < at)?.[0] ?? ''
  return refused({ code: 'duplicate_parameter', ...(REPEATED_NAME.test(repeated) && { field: repeated }) })
}

/** Whether all characters that must be percent-encoded are, and the bytes are UTF-8. */
function isEncoded(query: string): boolean {
  if (!/^[!-~]*$/.test(query) || query.includes('#')) return false
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}

function invalidQuery(detail: string): Refused {
  return refused({ code: 'invalid_query', detail })
}
