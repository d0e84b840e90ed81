/** What a payment is bound to: equal requests have equal digests, different ones don't. */
import { expect } from 'chai'
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
