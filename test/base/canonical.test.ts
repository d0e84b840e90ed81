/** Operation digests and canonical URLs: equal for requests that mean the same, different otherwise. */
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import fc from 'fast-check'
import { canonicalJson, operationDigest } from '../../base/canonical.ts'
import { namesAnotherOperation } from '../../agent/operation/resource.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { toNamed, type Operation } from '../../agent/operation/operation.ts'
import { parseNamed } from '../support/operations.ts'

function operation(name: string, input: unknown): Operation {
  const parsed = parseNamed(name, input)
  if (parsed.kind === 'invalid') throw new Error(parsed.fault.rule)
  return parsed.operation
}

const BASE = 'http://127.0.0.1:4021'

describe('the digest of an operation', () => {
  it('[10.3] is the SHA-256 of its RFC 8785 form', () => {
    expect(canonicalJson({ b: 1, a: 'é', c: [true, null] })).to.equal('{"a":"é","b":1,"c":[true,null]}')
    // printf '{"input":{"company_number":"1"},"operation":"lookup"}' | sha256sum
    expect(operationDigest(toNamed(operation('lookup', { company_number: '1' })))).to.equal(
      '3988dc4305420836cb0ff7bf5d1085a24dd5c683e6c1c87a59e25974b8cc172e',
    )
  })

  it('uses the same canonical JSON as the reference implementation', () => {
    const text = fc.string({ unit: 'grapheme' })
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(-0, 1e21, 1e-7, 5e-324),
    )
    // Includes names that JavaScript reorders, and names that sort differently by code point.
    const names = fc.oneof(text, fc.nat().map(String), fc.constantFrom('\u{1f600}', '\ufb33', '\r', '"', 'toString'))
    const { value } = fc.letrec((of) => ({
      value: fc.oneof(text, number, fc.boolean(), fc.constant(null), of('list'), of('members')),
      list: fc.array(of('value'), { maxLength: 4 }),
      members: fc.dictionary(names, of('value'), { maxKeys: 12 }),
    }))
    fc.assert(
      fc.property(value, (json) => canonicalJson(json) === canonicalize(json)),
      { numRuns: 2_000 },
    )
    const many = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [String((at * 7919) % 1000), at]))
    expect(canonicalJson(many)).to.equal(canonicalize(many))
  })
})

describe('the canonical URL of an operation', () => {
  it('[5.3.2] differs from the URLs of other operations, and accepts unknown URLs and other hosts', () => {
    const lookup = operation('lookup', { company_number: '1' })
    const search = operation('search', { q: 'abc def' })
    const cases: [url: string, operation: Operation, isOther: boolean][] = [
      [`${BASE}/api/v1/company/1`, lookup, false],
      ['https://proxy.example/api/v1/company/1', lookup, false],
      [`${BASE}/api/v1/company/2`, lookup, true],
      [`${BASE}/api/v1/resolve`, lookup, true],
      [`${BASE}/api/v1/search?q=abc`, lookup, true],
      [`${BASE}/api/v1/search?limit=5&q=abc+def`, search, false],
    ]
    for (const [url, other, isOther] of cases)
      expect(namesAnotherOperation(url, other, OPERATIONS), url).to.equal(isOther)
    for (const url of ['', 'nonsense', 'urn:x', `${BASE}/`, `${BASE}/a2a`]) {
      expect(namesAnotherOperation(url, lookup, OPERATIONS), url).to.equal(false)
    }
  })
})
