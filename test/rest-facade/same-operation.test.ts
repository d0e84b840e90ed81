/** Requests that mean the same are the same operation, however they are spelt and by whichever door they come. */
import { expect } from 'chai'
import fc from 'fast-check'
import { operationDigest } from '../../agent/operation/canonical.ts'
import { namesAnotherOperation, resourceUrl, searchInput } from '../../agent/operation/resource.ts'
import { parseOperation, type Operation, type OperationName } from '../../agent/operation/schema.ts'
import { readJson } from '../../agent/operation/strict-json.ts'
import { queryOf, readQuery } from '../../rest-facade/query.ts'

function operation(name: OperationName, input: unknown): Operation {
  const parsed = parseOperation(name, input)
  if (!parsed.valid) throw new Error(parsed.fault.rule)
  return parsed.operation
}

/** As the REST facade reads a query. */
function byQuery(query: string): Operation {
  const read = readQuery(query)
  if ('code' in read) throw new Error(read.detail)
  return operation('search', searchInput(read))
}

/** As the REST facade reads a body. */
function byBody(text: string): Operation {
  const read = readJson(Buffer.from(text))
  return operation('resolve', read.kind === 'json' ? read.value : undefined)
}

const letters = fc.constantFrom('a', 'b', 'É', 'ß', '&', '+', '%', '=', "'", '"', '\\', '7', '\u{10348}')
const word = fc.array(letters, { minLength: 2, maxLength: 6 }).map((parts) => `x${parts.join('')}`)
const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
const eircode = fc.constantFrom('D02X285', 'T12AB34')

/** Several ways to write one text that are one after normalisation. */
const meaningThe = (text: string) =>
  fc
    .tuple(fc.constantFrom('', ' ', '  '), fc.constantFrom(' ', '  ', '\u00A0', '\u3000'), fc.boolean())
    .map(
      ([around, between, apart]) =>
        `${around}${(apart ? text.normalize('NFD') : text).replaceAll(' ', between)}${around}`,
    )
const meaningTheCode = (code: string) =>
  fc.constantFrom(code, code.toLowerCase(), `${code.slice(0, 3)} ${code.slice(3)}`, ` ${code} `)

/** One character of a query, as itself where that is allowed or in percent signs, with digits of either case. */
const inAQuery = (text: string) =>
  fc.array(fc.nat(3), { minLength: 1, maxLength: 20 }).map((choices) =>
    Array.from(text, (character, at) => {
      const choice = choices[at % choices.length] ?? 0
      const bytes = Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
      if (choice === 0) return bytes
      if (choice === 1) return bytes.toUpperCase()
      return character === ' ' && choice === 2 ? '+' : encodeURIComponent(character)
    }).join(''),
  )

/** The same for a JSON text: any character as itself or as an escape. */
const inJson = (text: string) =>
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

/** The fields of an input, each spelt anew, in another order. */
function respelt(
  input: Record<string, unknown>,
  write: (field: string, value: string) => fc.Arbitrary<string>,
): fc.Arbitrary<string[]> {
  const given = Object.entries(input).filter(([, value]) => value !== undefined)
  const fields = given.map(([field, value]) => meaning(field, String(value)).chain((meant) => write(field, meant)))
  return fc.tuple(...fields).chain((parts) => fc.shuffledSubarray(parts, { minLength: parts.length }))
}

function meaning(field: string, value: string): fc.Arbitrary<string> {
  if (field === 'eircode') return meaningTheCode(value)
  return field === 'limit' || field === 'company_number' ? fc.constant(value) : meaningThe(value)
}

const queryMeaning = (input: Record<string, unknown>) =>
  respelt(input, (field, value) =>
    fc.tuple(inAQuery(field), inAQuery(value)).map(([left, right]) => `${left}=${right}`),
  ).map((parts) => parts.join('&'))

const bodyMeaning = (input: Record<string, unknown>) =>
  respelt(input, (field, value) =>
    fc.tuple(inJson(field), inJson(value)).map(([left, right]) => ` "${left}" :\n"${right}"`),
  ).map((parts) => `{${parts.join(',')}}`)

describe('one search', () => {
  it('has one digest in every spelling of its query, the one that it has over A2A', () => {
    fc.assert(
      fc.property(
        search.chain((input) => fc.tuple(fc.constant(input), queryMeaning(input))),
        ([input, query]) => {
          const overA2a = operation('search', input)
          expect(operationDigest(byQuery(query))).to.equal(operationDigest(overA2a))
          // A stated default is no other search.
          if (input.limit === undefined) expect(byQuery(`${query}&limit=5`)).to.deep.equal(overA2a)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is named by its own URL, and by the URL of each of its spellings', () => {
    fc.assert(
      fc.property(
        search.chain((input) => fc.tuple(fc.constant(input), queryMeaning(input))),
        ([input, query]) => {
          const meant = operation('search', input)
          const url = resourceUrl('http://host.example', meant)
          expect(byQuery(queryOf(url))).to.deep.equal(meant)
          expect(namesAnotherOperation(url, meant)).to.equal(false)
          expect(namesAnotherOperation(`http://host.example/api/v1/search?${query}`, meant)).to.equal(false)
        },
      ),
    )
  })

  it('has another digest than any other search', () => {
    fc.assert(
      fc.property(
        search.chain((input) => fc.tuple(fc.constant(input), queryMeaning(input))),
        search,
        ([one, query], other) => {
          const isSame = JSON.stringify(operation('search', one)) === JSON.stringify(operation('search', other))
          expect(operationDigest(byQuery(query)) === operationDigest(operation('search', other))).to.equal(isSame)
        },
      ),
    )
  })
})

describe('one resolution', () => {
  it('has one digest in every spelling of its body, the one that it has over A2A', () => {
    fc.assert(
      fc.property(
        resolution.chain((input) => fc.tuple(fc.constant(input), bodyMeaning(input))),
        ([input, body]) => {
          expect(operationDigest(byBody(body))).to.equal(operationDigest(operation('resolve', input)))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is never a search or a lookup', () => {
    fc.assert(
      fc.property(name, fc.stringMatching(/^[0-9]{3,20}$/), (text, number) => {
        const digests = [
          operation('resolve', { name: text }),
          operation('search', { q: text }),
          operation('resolve', { company_number: number }),
          operation('lookup', { company_number: number }),
        ].map(operationDigest)
        expect(new Set(digests).size).to.equal(digests.length)
      }),
    )
  })
})
