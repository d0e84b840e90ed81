/** Equal operations have the same digest in every encoding, over REST and A2A (contract 10.3). */
import { expect } from 'chai'
import fc from 'fast-check'
import { operationDigest } from '../../store/base/canonical.ts'
import { namesAnotherOperation, resourceUrl, textInput } from '../../agent/operation/resource.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { toNamed, type Operation } from '../../agent/operation/operation.ts'
import { parseStrictJson } from '../../store/base/strict-json.ts'
import { rawQuery, parseQueryString } from '../../rest-facade/query.ts'
import { parseNamed } from '../support/operations.ts'

const digestOf = (asked: Operation) => operationDigest(toNamed(asked))

function operation(name: string, input: unknown): Operation {
  const parsed = parseNamed(name, input)
  if (parsed.kind === 'invalid') throw new Error(parsed.fault.rule)
  return parsed.operation
}

/** Parses a query as the REST facade does. */
function fromQuery(query: string): Operation {
  const read = parseQueryString(query)
  if (read.kind === 'refused') throw new Error(read.refusal.detail)
  return operation('search', textInput(read.fields))
}

/** Parses a body as the REST facade does. */
function fromBody(text: string): Operation {
  const read = parseStrictJson(Buffer.from(text))
  return operation('resolve', read.kind === 'valid' ? read.value : undefined)
}

const letters = fc.constantFrom('a', 'b', 'É', 'ß', '&', '+', '%', '=', "'", '"', '\\', '7', '\u{10348}')
const word = fc.array(letters, { minLength: 2, maxLength: 6 }).map((parts) => `x${parts.join('')}`)
const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
const eircode = fc.constantFrom('D02X285', 'T12AB34')

/** Spellings of a text that are equal after normalisation. */
const equivalentText = (text: string) =>
  fc
    .tuple(fc.constantFrom('', ' ', '  '), fc.constantFrom(' ', '  ', '\u00A0', '\u3000'), fc.boolean())
    .map(
      ([around, between, apart]) =>
        `${around}${(apart ? text.normalize('NFD') : text).replaceAll(' ', between)}${around}`,
    )
const equivalentEircode = (code: string) =>
  fc.constantFrom(code, code.toLowerCase(), `${code.slice(0, 3)} ${code.slice(3)}`, ` ${code} `)

/** Encodings of a text in a query: characters as they are where allowed, or percent-encoded in either case. */
const queryEncoding = (text: string) =>
  fc.array(fc.nat(3), { minLength: 1, maxLength: 20 }).map((choices) =>
    Array.from(text, (character, at) => {
      const choice = choices[at % choices.length] ?? 0
      const bytes = Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
      if (choice === 0) return bytes
      if (choice === 1) return bytes.toUpperCase()
      return character === ' ' && choice === 2 ? '+' : encodeURIComponent(character)
    }).join(''),
  )

/** Encodings of a text in JSON: characters as they are or as escapes. */
const jsonEncoding = (text: string) =>
  fc
    .array(fc.boolean(), { minLength: 1, maxLength: 20 })
    .map((escaped) =>
      Array.from(text, (character, at) =>
        escaped[at % escaped.length] ? escapes(character) : JSON.stringify(character).slice(1, -1),
      ).join(''),
    )

function escapes(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

const search = fc.record(
  { q: name, limit: fc.integer({ min: 1, max: 10 }), status: name, eircode },
  { requiredKeys: ['q'] },
)
const resolution = fc.record(
  { name, company_number: fc.stringMatching(/^[0-9]{1,20}$/), eircode, address: name },
  { requiredKeys: ['name'] },
)

/** The fields of an input in equivalent spellings and any order. */
function respell(
  input: Record<string, unknown>,
  write: (field: string, value: string) => fc.Arbitrary<string>,
): fc.Arbitrary<string[]> {
  const given = Object.entries(input).filter(([, value]) => value !== undefined)
  const fields = given.map(([field, value]) =>
    equivalentValue(field, String(value)).chain((meant) => write(field, meant)),
  )
  return fc.tuple(...fields).chain((parts) => fc.shuffledSubarray(parts, { minLength: parts.length }))
}

function equivalentValue(field: string, value: string): fc.Arbitrary<string> {
  if (field === 'eircode') return equivalentEircode(value)
  return field === 'limit' || field === 'company_number' ? fc.constant(value) : equivalentText(value)
}

const equivalentQuery = (input: Record<string, unknown>) =>
  respell(input, (field, value) =>
    fc.tuple(queryEncoding(field), queryEncoding(value)).map(([left, right]) => `${left}=${right}`),
  ).map((parts) => parts.join('&'))

const equivalentBody = (input: Record<string, unknown>) =>
  respell(input, (field, value) =>
    fc.tuple(jsonEncoding(field), jsonEncoding(value)).map(([left, right]) => ` "${left}" :\n"${right}"`),
  ).map((parts) => `{${parts.join(',')}}`)

/** An input and an equivalent spelling of it. */
function withSpelling<Input extends object>(
  inputs: fc.Arbitrary<Input>,
  spell: (input: Input) => fc.Arbitrary<string>,
): fc.Arbitrary<[input: Input, spelling: string]> {
  return inputs.chain((input) => fc.tuple(fc.constant(input), spell(input)))
}

describe('the same operation', () => {
  it('[10.3] has the same digest in every encoding of a query and over A2A', () => {
    fc.assert(
      fc.property(withSpelling(search, equivalentQuery), ([input, query]) => {
        const overA2a = operation('search', input)
        expect(digestOf(fromQuery(query))).to.equal(digestOf(overA2a))
        // An explicit default is the same search.
        if (input.limit === undefined) expect(fromQuery(`${query}&limit=5`)).to.deep.equal(overA2a)
      }),
      { numRuns: 200 },
    )
  })

  it('[10.4] is named by its canonical URL and by the URL of every encoding', () => {
    fc.assert(
      fc.property(withSpelling(search, equivalentQuery), ([input, query]) => {
        const meant = operation('search', input)
        const url = resourceUrl('http://host.example', meant)
        expect(fromQuery(rawQuery(url))).to.deep.equal(meant)
        for (const each of [url, `http://host.example/api/v1/search?${query}`])
          expect(namesAnotherOperation(each, meant, OPERATIONS)).to.equal(false)
      }),
    )
  })

  it('[10.3] has the same digest in every encoding of a body and over A2A', () => {
    fc.assert(
      fc.property(withSpelling(resolution, equivalentBody), ([input, body]) => {
        expect(digestOf(fromBody(body))).to.equal(digestOf(operation('resolve', input)))
      }),
      { numRuns: 200 },
    )
  })
})
