/** Parses JSON and rejects duplicate member names, of which `JSON.parse` silently keeps the last. */

export type StrictJson = { kind: 'valid'; value: unknown } | { kind: 'invalid' } | { kind: 'duplicate_name' }

/** Matches a bracket, or a string with the colon that follows a member name. Use it on valid JSON only. */
const STRINGS_AND_BRACKETS = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|[{}[\]]/g

/** Accepts one JSON value in UTF-8 without a byte order mark. Names are compared after their escapes are decoded. */
export function parseStrictJson(bytes: Uint8Array): StrictJson {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    return hasDuplicateName(text) ? { kind: 'duplicate_name' } : { kind: 'valid', value }
  } catch {
    return { kind: 'invalid' }
  }
}

/** Expects valid JSON. Iterative, because a body can be nested deeper than the call stack. */
export function hasDuplicateName(json: string): boolean {
  const open: Set<string>[] = []
  for (const [token, text, colon] of json.matchAll(STRINGS_AND_BRACKETS)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (text !== undefined && colon !== undefined) {
      const names = open.at(-1)!
      const name = JSON.parse(text) as string
      if (names.has(name)) return true
      names.add(name)
    }
  }
  return false
}

/** Valid requests have ten levels. The SDKs of A2A and MCP copy recursively and overflow at some thousands. */
export const JSON_LEVELS_MAX = 24

export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1))
}
