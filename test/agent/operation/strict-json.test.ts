/** JSON is read in one way only: as `JSON.parse` reads it, and never where that would pass over half of what was sent. */
import { expect } from 'chai'
import fc from 'fast-check'
import { readJson } from '../../../agent/operation/strict-json.ts'

const kind = (text: string | Uint8Array) => readJson(Buffer.from(text)).kind

/** JSON as text, with an object's members as a list, so that a name can be there twice. */
type Tree = { members: [name: string, spelling: string, value: Tree][] } | { items: Tree[] } | { scalar: string }

/** Each character as itself or as an escape: spellings of one name. */
const spelling = (name: string, escaped: boolean[]) =>
  Array.from({ length: name.length }, (_, at) =>
    escaped[at] ? `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}` : JSON.stringify(name[at]).slice(1, -1),
  ).join('')

const name = fc
  .tuple(fc.constantFrom('a', 'b', '"', '\\', '":', '{', '__proto__', ''), fc.array(fc.boolean()))
  .map(([text, escaped]): [string, string] => [text, spelling(text, escaped)])

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 0 }).map((value) => ({ scalar: JSON.stringify(value) })),
    fc.constantFrom('"\\""', '"\\\\"', '"{\\"a\\":1,\\"a\\":1}"', '"a"').map((scalar) => ({ scalar })),
    fc.array(tie('tree'), { maxLength: 4 }).map((items) => ({ items })),
    fc.array(fc.tuple(name, tie('tree')), { maxLength: 4 }).map((members) => ({
      members: members.map(([[text, spelt], value]) => [text, spelt, value]),
    })) as fc.Arbitrary<Tree>,
  ),
}))

function write(value: Tree, blank: string): string {
  if ('scalar' in value) return value.scalar
  if ('items' in value) return `[${blank}${value.items.map((item) => write(item, blank)).join(`${blank},`)}]`
  const members = value.members.map(([, spelt, member]) => `"${spelt}"${blank}:${blank}${write(member, blank)}`)
  return `{${members.join(`${blank},${blank}`)}}`
}

function isTwice(value: Tree): boolean {
  if ('scalar' in value) return false
  if ('items' in value) return value.items.some(isTwice)
  const names = value.members.map(([text]) => text)
  return new Set(names).size < names.length || value.members.some(([, , member]) => isTwice(member))
}

describe('strict JSON', () => {
  it('is what JSON.parse reads, unless an object has two members of one name', () => {
    const seen = new Set<boolean>()
    fc.assert(
      fc.property(tree, fc.constantFrom('', ' ', '\n\t\r '), (value, blank) => {
        const text = write(value, blank)
        seen.add(isTwice(value))
        const expected = isTwice(value)
          ? { kind: 'repeated_name' }
          : { kind: 'json', value: JSON.parse(text) as unknown }
        expect(readJson(Buffer.from(text))).to.deep.equal(expected)
      }),
      { numRuns: 1000 },
    )
    expect(seen.size).to.equal(2)
  })

  it('is nothing that JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[{}[\],:"\\a1 ]{0,12}$/), (text) => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        expect(kind(text) === 'not_json').to.equal(!isJson)
      }),
      { numRuns: 1000 },
    )
  })

  it('finds a name given twice in any spelling, at any depth, and in no other place', () => {
    for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":1}', '[{"b":{"a":1 , "c":{} , "a" :2}}]', '{"":1,"":2}']) {
      expect(kind(text), text).to.equal('repeated_name')
    }
    for (const text of ['["a","a"]', '{"a":{"a":1},"b":{"a":1}}', '{"a":"a:","b":"\\"a\\":"}', '{"a":1,"A":1}']) {
      expect(kind(text), text).to.equal('json')
    }
  })

  it('is UTF-8 without a byte order mark', () => {
    const wrong = [[0xff], [0x22, 0xc3, 0x28, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0xef, 0xbb, 0xbf, 0x31], []]
    for (const bytes of wrong) expect(kind(Uint8Array.from(bytes)), String(bytes)).to.equal('not_json')
  })

  it('may be nested as deep as a body can be', () => {
    const deep = (open: string, close: string) => open.repeat(4000) + '1' + close.repeat(4000)
    expect(kind(deep('[', ']'))).to.equal('json')
    expect(kind(deep('{"a":', '}'))).to.equal('json')
    expect(kind(deep('{"a":0,"a":', '}'))).to.equal('repeated_name')
  })
})
