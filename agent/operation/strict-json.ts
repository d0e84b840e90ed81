/** Reads JSON that can be read in one way only: `JSON.parse` takes the last of two members of one name, in silence. */

export type ReadJson = { kind: 'json'; value: unknown } | { kind: 'not_json' } | { kind: 'repeated_name' }

/** A text, with the colon behind it where it is a name, or a bracket. Finds these in valid JSON only. */
const TEXTS_AND_BRACKETS = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|[{}[\]]/g

/** UTF-8 without a byte order mark, one JSON value, and no object with two members of one name, however spelt. */
export function readJson(bytes: Uint8Array): ReadJson {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const value: unknown = JSON.parse(text)
    return repeatsName(text) ? { kind: 'repeated_name' } : { kind: 'json', value }
  } catch {
    return { kind: 'not_json' }
  }
}

/** Without recursion, because a body can be nested deeper than a stack. */
function repeatsName(json: string): boolean {
  const open: Set<string>[] = []
  for (const [token, text, colon] of json.matchAll(TEXTS_AND_BRACKETS)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (text !== undefined && colon !== undefined && !isNew(JSON.parse(text) as string, open.at(-1))) return true
  }
  return false
}

function isNew(name: string, names: Set<string> | undefined): boolean {
  return names !== undefined && !names.has(name) && names.add(name) !== undefined
}
