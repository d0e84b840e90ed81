/** Parses JSON and rejects duplicate member names, of which `JSON.parse` silently keeps the last. */

type StrictJson =
  | { kind: 'valid'; value: unknown; levels: number; hasPrototype: boolean }
  | { kind: 'invalid' }
  | { kind: 'duplicate_name' }

/**
 * The most colons, commas and opening brackets of a request. A batch of a hundred inputs has five hundred, and a
 * payment a hundred. Many of them take milliseconds to parse and to check (`bench perf`, rows "refused").
 */
const REQUEST_MARKS_MAX = 1_000

/** Valid requests have ten levels. The SDKs of A2A and MCP copy recursively and overflow at some thousands. */
const REQUEST_LEVELS_MAX = 24

export function parseRequest(body: Uint8Array, marksMax = REQUEST_MARKS_MAX): StrictJson {
  const parsed = parseStrictJson(body, marksMax)
  return parsed.kind === 'valid' && parsed.levels > REQUEST_LEVELS_MAX ? { kind: 'invalid' } : parsed
}

/**
 * Accepts one JSON value in UTF-8 without a byte order mark. Names are compared after their escapes are decoded.
 * @param marksMax colons, commas and opening brackets outside of strings
 */
export function parseStrictJson(bytes: Uint8Array, marksMax = Number.POSITIVE_INFINITY): StrictJson {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const { colons, marks } = countMarks(text, marksMax)
    if (marks > marksMax) return { kind: 'invalid' }
    const value: unknown = JSON.parse(text)
    const { members, levels, hasPrototype } = measure(value)
    return colons !== members ? { kind: 'duplicate_name' } : { kind: 'valid', value, levels, hasPrototype }
  } catch {
    return { kind: 'invalid' }
  }
}

/** Outside of strings, a valid JSON text has one colon for each member. Stops when there are more marks than `max`. */
function countMarks(json: string, max: number): { colons: number; marks: number } {
  let [colons, marks] = [0, 0]
  for (let index = 0; index < json.length && marks <= max; index += 1) {
    const character = json[index]
    if (character === '"') index = endOfString(json, index)
    else if (character === ':' || character === ',' || character === '[' || character === '{') marks += 1
    if (character === ':') colons += 1
  }
  return { colons, marks }
}

/** Goes through the levels of a JSON value, because a body can be nested deeper than the call stack. */
function measure(json: unknown): { members: number; levels: number; hasPrototype: boolean } {
  let [members, levels, hasPrototype] = [0, 0, false]
  for (let level = [json].filter(isContainer); level.length > 0; levels += 1) {
    const below: object[] = []
    for (const container of level) {
      const isList = Array.isArray(container)
      const values: unknown[] = isList ? container : membersOf(container)
      if (!isList) members += values.length
      hasPrototype ||= Object.hasOwn(container, '__proto__')
      for (const value of values) if (isContainer(value)) below.push(value)
    }
    level = below
  }
  return { members, levels, hasPrototype }
}

/** `Object.values` takes three times as long for a hundred members (`bench perf`, rows "forged"). */
function membersOf(container: object): unknown[] {
  return Object.keys(container).map((name) => (container as Record<string, unknown>)[name])
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null

/** The index of the quotation mark that ends the string which begins at `start`, or the end of an invalid text. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return json.length
}

/** A document of another party has fewer levels. Deeper values overflow functions that recurse. */
const DOCUMENT_LEVELS_MAX = 64

/** Undefined if the text is not JSON, is nested too deeply, repeats a name, or has a member `__proto__`. */
export function parseDocument(text: string | Uint8Array): unknown {
  const parsed = parseStrictJson(typeof text === 'string' ? new TextEncoder().encode(text) : text)
  if (parsed.kind !== 'valid') return undefined
  return parsed.levels > DOCUMENT_LEVELS_MAX || parsed.hasPrototype ? undefined : parsed.value
}
