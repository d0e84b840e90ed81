/** Strict JSON: the values that `JSON.parse` reads, without duplicate member names. */
import { expect } from 'chai'
import fc from 'fast-check'
import { parseStrictJson } from '../../base/strict-json.ts'

const kind = (text: string | Uint8Array) => parseStrictJson(Buffer.from(text)).kind

/**
 * Parsed JSON whose objects are lists of members, because a name can occur twice. `spelling` is the name as written.
 */
type Tree =
  | { kind: 'object'; members: { name: string; spelling: string; value: Tree }[] }
  | { kind: 'array'; items: Tree[] }
  | { kind: 'scalar'; text: string }

/** V8 13 (seen in Node.js 24.21.0) can read the name `\u0061`, one escaped character, as a backslash. */
const READS_ESCAPED_LETTERS = Number(process.versions.v8.split('.')[0]) < 13

/** Each character as itself or as an escape. */
const spell = (name: string, escaped: boolean[]) =>
  Array.from({ length: name.length }, (_, at) =>
    escaped[at] ? `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}` : JSON.stringify(name[at]).slice(1, -1),
  ).join('')

const scalar = fc
  .oneof(
    fc.jsonValue({ maxDepth: 0 }).map((value) => JSON.stringify(value)),
    fc.constantFrom('"\\""', '"\\\\"', '"{\\"a\\":1,\\"a\\":1}"', '"a"'),
  )
  .map((text): Tree => ({ kind: 'scalar', text }))

const { tree } = fc.letrec<{ tree: Tree }>((tie) => {
  const name = fc.constantFrom('a', 'b', '{', '__proto__', '', '":', ...(READS_ESCAPED_LETTERS ? ['"', '\\'] : []))
  const member = fc.tuple(name, fc.array(fc.boolean()), tie('tree')).map(([text, escaped, value]) => ({
    name: text,
    spelling: READS_ESCAPED_LETTERS || text.length > 1 ? spell(text, escaped) : text,
    value,
  }))
  return {
    tree: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('tree'), { maxLength: 4 }).map((items): Tree => ({ kind: 'array', items })),
      fc.array(member, { maxLength: 4 }).map((members): Tree => ({ kind: 'object', members })),
    ),
  }
})

function write(value: Tree, blank: string): string {
  if (value.kind === 'scalar') return value.text
  if (value.kind === 'array') return `[${blank}${value.items.map((item) => write(item, blank)).join(`${blank},`)}]`
  const members = value.members.map((each) => `"${each.spelling}"${blank}:${blank}${write(each.value, blank)}`)
  return `{${members.join(`${blank},${blank}`)}}`
}

function hasDuplicate(value: Tree): boolean {
  if (value.kind === 'scalar') return false
  if (value.kind === 'array') return value.items.some(hasDuplicate)
  const names = value.members.map(({ name }) => name)
  return new Set(names).size < names.length || value.members.some((each) => hasDuplicate(each.value))
}

describe('parseStrictJson', () => {
  it('returns what JSON.parse returns unless an object has a duplicate name', () => {
    const seen = new Set<boolean>()
    fc.assert(
      fc.property(tree, fc.constantFrom('', ' ', '\n\t\r '), (value, blank) => {
        const text = write(value, blank)
        const isDuplicate = hasDuplicate(value)
        seen.add(isDuplicate)
        const valid = { kind: 'valid', value: JSON.parse(text) as unknown }
        expect(parseStrictJson(Buffer.from(text))).to.deep.include(isDuplicate ? { kind: 'duplicate_name' } : valid)
      }),
      { numRuns: 1000 },
    )
    expect(seen.size).to.equal(2)
  })

  it('rejects what JSON.parse rejects', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[{}[\],:"\\a1 ]{0,12}$/), (text) => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        expect(kind(text) === 'invalid').to.equal(!isJson)
      }),
      { numRuns: 1000 },
    )
  })

  it('requires UTF-8 without a byte order mark', () => {
    const invalid = [[0xff], [0x22, 0xc3, 0x28, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0xef, 0xbb, 0xbf, 0x31], []]
    for (const bytes of invalid) expect(kind(Uint8Array.from(bytes)), String(bytes)).to.equal('invalid')
  })

  it('accepts nesting that fills a request body', () => {
    const nested = (open: string, close: string) => open.repeat(4000) + '1' + close.repeat(4000)
    expect(kind(nested('[', ']'))).to.equal('valid')
    expect(kind(nested('{"a":', '}'))).to.equal('valid')
    expect(kind(nested('{"a":0,"a":', '}'))).to.equal('duplicate_name')
  })
})
