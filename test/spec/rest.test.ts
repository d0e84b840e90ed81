/** The REST routes over raw HTTP: malformed and unusual requests, and the headers of each refusal (contract 4.1, 7). */
import { expect } from 'chai'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { expectNoLeak, expectRefusal, type RawRequest } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { COMPANY, quoteOf, RESOLVE, SEARCH } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

/** Marks input of a hostile client. No answer may contain it. */
const MARK = 'h0stile'

const CORS_EXPOSED = 'PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After, X-Request-Id'

/** Request targets by the answer to GET. */
const TARGETS: Partial<Record<RefusalCode, string[]>> = {
  payment_required: ['0', '1'.repeat(20), '0'.repeat(20)].map((number) => `${COMPANY}/${number}`),
  invalid_company_number: [
    ['1'.repeat(21), '', MARK, '-1', '+1', '1.0', '1e3', '0x1', '%31%32', '1%0a', '1%00', '%EF%BC%91', '1%2F2'],
    ['..', '%2e%2e', '1;a=b', '1\\2', '%', '%z', '%2', '%zz', '1%', '%E0%A4%A', '%FF'],
  ]
    .flat()
    .map((number) => `${COMPANY}/${number}`),
  unexpected_input: [`1?a=${MARK}`, '1?%zz', '1??', '1#', `1#${MARK}`, `${MARK}?a`].map(
    (number) => `${COMPANY}/${number}`,
  ),
  not_found: [
    // Valid percent-encoding
    ['/.well-known/%FF', '/api/v1/%63ompany/1'],
    // A path that is spelt differently is not the route.
    ['', '?1', '/1//', '//1', '//', '//1/', '/./1', '/../company/1', '/1/..', '/1/2', 'x/1'].map(
      (rest) => COMPANY + rest,
    ),
    ['/api/v1//company/1', '//api/v1/company/1', '/API/V1/COMPANY/1', '/api/v1/Company/1', `/x${COMPANY}/1`],
    ['/search//', '//search', '//search/', '/Search', '/%73earch'].map((path) => `/api/v1${path}?q=abc`),
    '/API/v1/search?q=abc',
    // Unknown paths
    ['//', `/${MARK}`, '/api/v1', '/api/v1/meta//', '/ATTRIBUTION', '/__proto__', `/${'a'.repeat(8_000)}`],
  ].flat(),
}

/** Targets that differ from a POST route in their spelling. */
const MISSPELT_POST_TARGETS = [
  ['/api/v1/resolve//', '/API/v1/resolve', '/api/v1/%72esolve', '/api/v1//resolve'],
  ['/a2a//', '//a2a/', '/A2A', '/a2a/x', '/a2a%2f', '//a2a', '/%612a'],
].flat()

const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE', 'TRACE']

/** Targets with the allowed method and some that are not. The input is invalid, because the method is checked first. */
const METHODS: [target: string, allow: string, methods: string[]][] = [
  [`${COMPANY}/${MARK}?a`, 'GET', ['HEAD', 'POST', ...OTHER_METHODS]],
  [`${SEARCH}?q=%zz&q=${MARK}`, 'GET', ['HEAD', 'POST', ...OTHER_METHODS]],
  [`${RESOLVE}?${MARK}`, 'POST', ['HEAD', 'GET', ...OTHER_METHODS]],
  ['/a2a', 'POST', ['HEAD', 'GET', ...OTHER_METHODS]],
]

describe('the REST routes', () => {
  const { service, get, lookup, payFor } = useService(() => startTestService())

  describe('[4.1.1, 4.7.1, 4.7.2, 7.7] answer GET requests', () => {
    for (const [code, targets] of Object.entries(TARGETS)) {
      for (const target of targets) {
        it(`${target.slice(0, 60)}: ${code}`, async () => {
          const reply = await get(target)
          expectRefusal(reply, code as RefusalCode)
          expectNoLeak(reply, MARK)
          expect(reply.headers['cache-control']).to.equal('private, no-store')
          expect(reply.headers['access-control-expose-headers']).to.equal(CORS_EXPOSED)
          expect(reply.headers['x-content-type-options']).to.equal('nosniff')
          expect(reply.headers).not.to.have.property('x-powered-by')
        })
      }
    }
  })

  describe('[4.7.1] answer 404 to GET and POST at', () => {
    for (const target of MISSPELT_POST_TARGETS) {
      it(target, async () => {
        for (const method of ['GET', 'POST']) expectRefusal(await get(target, undefined, { method }), 'not_found')
      })
    }
  })

  describe('[5.1.2, 10.4] quote the resource under BASE_URL for', () => {
    const FORGED: [name: string, prefix: string, headers: Record<string, string>][] = [
      ['another Host', '', { Host: `${MARK}.example` }],
      ['X-Forwarded-Host', '', { 'X-Forwarded-Host': MARK }],
      ['an absolute target', `http://${MARK}.example`, {}],
    ]
    for (const [name, prefix, headers] of FORGED) {
      it(name, async () => {
        for (const target of [`${COMPANY}/1`, `${SEARCH}?q=abc`]) {
          const reply = await get(prefix + target, undefined, { headers })
          expectNoLeak(reply, MARK)
          expect(quoteOf(reply).url).to.equal(service.url + target)
        }
      })
    }
  })

  describe('[4.1.1, 4.2.2] refuse a GET request with a body', () => {
    const BODIES: Record<string, Partial<RawRequest>> = {
      'of known length': { body: MARK },
      'in chunks': { body: MARK, chunked: true },
      'in chunks and empty': { body: '', chunked: true },
      'too large for any route': { body: 'x'.repeat(100_000) },
    }
    for (const target of [`${COMPANY}/1`, `${SEARCH}?q=abc`]) {
      for (const [name, change] of Object.entries(BODIES)) {
        it(`${name} to ${target}`, async () => {
          const reply = await get(target, undefined, change)
          expectRefusal(reply, 'unexpected_input')
          expectNoLeak(reply, MARK)
        })
      }

      it(`but accept Content-Length: 0 to ${target}`, async () => {
        expectRefusal(await get(target, undefined, { headers: { 'Content-Length': '0' } }), 'payment_required')
      })
    }
  })

  it('[4.1.1] take a bare ? as no query string, and quote the URL without it', async () => {
    const reply = await get(`${COMPANY}/1?`)
    expectRefusal(reply, 'payment_required')
    expect(quoteOf(reply).url).to.equal(`${service.url}${COMPANY}/1`)
  })

  describe('[4.7.5] refuse other methods with 405 and Allow, before other checks', () => {
    for (const [target, allow, methods] of METHODS) {
      for (const method of methods) {
        it(`${method} ${target}`, async () => {
          const reply = await get(target, undefined, { method })
          expect(reply.headers['allow']).to.equal(allow)
          if (method === 'HEAD') expect(reply).to.deep.include({ status: 405, text: '' })
          else expectRefusal(reply, 'method_not_allowed')
        })
      }
    }
  })

  describe('[5.1.1, 5.3.1] refuse a malformed payment header', () => {
    it('refuses two payment headers, even with the same valid payment', async () => {
      const payment = await payFor(lookup('1004'))
      const before = await service.paid()
      const headers = { 'PAYMENT-SIGNATURE': [payment, payment] }
      expectRefusal(await lookup('1004', undefined, { headers }), 'payment_invalid')
      expect(await service.paid()).to.deep.equal(before)
      const once = await lookup('1004', payment)
      expect(once.status).to.equal(200)
      expect(once.headers).to.include({
        'cache-control': 'private, no-store',
        'content-type': 'application/json; charset=utf-8',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': CORS_EXPOSED,
      })
    })
  })

  describe('[7.7] answer CORS preflight requests', () => {
    // A client may mark the headers of answers as headers of its request, and others have headers of their own.
    const names = 'payment-signature,access-control-expose-headers, idempotency-key,x-own~1'
    for (const path of [`${COMPANY}/1`, '/a2a', '/api/v1/meta', `/${MARK}`, '/%']) {
      it(`OPTIONS ${path}`, async () => {
        const reply = await get(path, undefined, {
          method: 'OPTIONS',
          headers: { Origin: `https://${MARK}.example`, 'Access-Control-Request-Headers': names },
        })
        expect(reply).to.deep.include({ status: 204, text: '' })
        expect(reply.headers).to.include({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
          'access-control-allow-headers': 'payment-signature, access-control-expose-headers, idempotency-key, x-own~1',
          'access-control-expose-headers': CORS_EXPOSED,
        })
        expect(reply.headers).not.to.have.property('access-control-allow-credentials')
        expect(JSON.stringify(reply.headers)).not.to.include(MARK)
      })
    }

    it('allow up to 64 names in 4 KiB, and for a longer list only the headers that the service reads', async () => {
      const allowed = async (asked: string[]) => {
        const headers = { 'Access-Control-Request-Headers': asked.join() }
        const reply = await get('/a2a', undefined, { method: 'OPTIONS', headers })
        return String(reply.headers['access-control-allow-headers'])
      }
      const some = (count: number) => Array.from({ length: count }, (_, at) => `x-${at}`)
      // The comma and the space between two names count.
      const long = (bytes: number) => ['payment-signature', 'x'.repeat(bytes - 'payment-signature, '.length)]
      for (const asked of [some(63), some(64), long(4_095), long(4_096)])
        expect(await allowed(asked)).to.equal(asked.join(', '))
      for (const asked of [some(65), some(2_000), long(4_097)])
        expect(await allowed(asked)).to.equal(
          'PAYMENT-SIGNATURE, Content-Type, A2A-Version, A2A-Extensions, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
        )
    })

    it('allow no header for names that are no token', async () => {
      for (const value of ['', ' , ', '"<>"']) {
        const headers = { 'Access-Control-Request-Headers': value }
        const reply = await get('/docs', undefined, { method: 'OPTIONS', headers })
        expect(reply.headers).not.to.have.property('access-control-allow-headers')
      }
    })
  })
})
