/** What a payment is bound to: equal requests have equal digests, different ones don't. */
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import fc from 'fast-check'
import { canonicalJson, operationDigest } from '../../../agent/operation/canonical.ts'
import { namesAnotherOperation, resourceUrl } from '../../../agent/operation/resource.ts'
import { parseOperation, type Operation, type OperationName } from '../../../agent/operation/schema.ts'

function operation(name: OperationName, input: unknown): Operation {
  const parsed = parseOperation(name, input)
  if (!parsed.valid) throw new Error(parsed.fault.rule)
  return parsed.operation
}

const BASE = 'http://127.0.0.1:4021'

describe('the digest of an operation', () => {
  it('is the SHA-256 of its RFC 8785 form', () => {
    expect(canonicalJson({ b: 1, a: 'é', c: [true, null] })).to.equal('{"a":"é","b":1,"c":[true,null]}')
    // printf '{"input":{"company_number":"1"},"operation":"lookup"}' | sha256sum
    expect(operationDigest(operation('lookup', { company_number: '1' }))).to.equal(
      '3988dc4305420836cb0ff7bf5d1085a24dd5c683e6c1c87a59e25974b8cc172e',
    )
  })

  it('is that of the reference, for every JSON value of well-formed text', () => {
    const text = fc.string({ unit: 'grapheme' })
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(-0, 1e21, 1e-7, 5e-324),
    )
    // Names that JavaScript would put in an order of its own, and those that sort otherwise by code point.
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

  it('is refused to what has no JSON form', () => {
    const ring: unknown[] = []
    ring.push(ring)
    for (const value of [undefined, Number.NaN, Number.POSITIVE_INFINITY, 1n, { a: () => 1 }, ring]) {
      expect(() => canonicalJson(value)).to.throw()
    }
  })

  it('does not depend on order, spelling or stated defaults', () => {
    const one = operation('search', { q: ' Foo  Bar ', eircode: 'd02 x285' })
    const other = operation('search', { eircode: 'D02X285', limit: 5, q: 'Foo Bar' })
    expect(operationDigest(one)).to.equal(operationDigest(other))
  })

  it('depends on the operation and on every field', () => {
    const digests = [
      operation('lookup', { company_number: '1' }),
      operation('lookup', { company_number: '01' }),
      operation('resolve', { company_number: '1' }),
      operation('search', { q: 'abc' }),
      operation('search', { q: 'abc', limit: 4 }),
      operation('search', { q: 'abc', status: 'Normal' }),
      operation('resolve', { name: 'abc' }),
      operation('resolve', { name: 'abc', address: 'abc' }),
    ].map(operationDigest)
    expect(new Set(digests).size).to.equal(digests.length)
  })
})

describe('the resource of an operation', () => {
  it('is its REST URL, in one spelling', () => {
    expect(resourceUrl(BASE, operation('lookup', { company_number: '007' }))).to.equal(`${BASE}/api/v1/company/007`)
    expect(resourceUrl(BASE, operation('search', { eircode: 'D02X285', q: 'Café & Co', status: 'Normal' }))).to.equal(
      `${BASE}/api/v1/search?q=Caf%C3%A9%20%26%20Co&limit=5&status=Normal&eircode=D02X285`,
    )
    expect(resourceUrl(BASE, operation('resolve', { name: 'abc' }))).to.equal(`${BASE}/api/v1/resolve`)
  })

  it('contradicts another operation, and nothing that it cannot be compared with', () => {
    const lookup = operation('lookup', { company_number: '1' })
    expect(namesAnotherOperation(`${BASE}/api/v1/company/1`, lookup)).to.equal(false)
    expect(namesAnotherOperation('https://proxy.example/api/v1/company/1', lookup)).to.equal(false)
    expect(namesAnotherOperation(`${BASE}/api/v1/company/2`, lookup)).to.equal(true)
    expect(namesAnotherOperation(`${BASE}/api/v1/resolve`, lookup)).to.equal(true)
    expect(namesAnotherOperation(`${BASE}/api/v1/search?q=abc`, lookup)).to.equal(true)
    const search = operation('search', { q: 'abc def' })
    expect(namesAnotherOperation(`${BASE}/api/v1/search?limit=5&q=abc+def`, search)).to.equal(false)
    for (const url of ['', 'nonsense', 'urn:x', `${BASE}/`, `${BASE}/a2a`]) {
      expect(namesAnotherOperation(url, lookup), url).to.equal(false)
    }
  })
})
