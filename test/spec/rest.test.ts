/** Spec 4.1 on the wire: what the REST routes answer to every odd request, in JSON, with the headers of each refusal. */
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { expectNoLeak, expectRefusal, send, type RawReply, type RawRequest } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Stands for what a hostile client sends; no answer may repeat it. */
const MARK = 'h0stile'

const COMPANY = '/api/v1/company'
const CORS_EXPOSED = 'PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After'

interface Case {
  path: string
  code: RefusalCode
  name?: string
}

const PATHS: Case[] = [
  { path: `${COMPANY}/0`, code: 'payment_required' },
  { path: `${COMPANY}/${'1'.repeat(20)}`, code: 'payment_required' },
  { path: `${COMPANY}/${'0'.repeat(20)}`, code: 'payment_required' },
  { path: `${COMPANY}/${'1'.repeat(21)}`, code: 'invalid_company_number' },
  { path: `${COMPANY}/`, code: 'invalid_company_number' },
  { path: `${COMPANY}/${MARK}`, code: 'invalid_company_number' },
  { path: `${COMPANY}/-1`, code: 'invalid_company_number' },
  { path: `${COMPANY}/+1`, code: 'invalid_company_number' },
  { path: `${COMPANY}/1.0`, code: 'invalid_company_number' },
  { path: `${COMPANY}/1e3`, code: 'invalid_company_number' },
  { path: `${COMPANY}/0x1`, code: 'invalid_company_number' },
  { path: `${COMPANY}/%31%32`, code: 'invalid_company_number' },
  { path: `${COMPANY}/1%0a`, code: 'invalid_company_number' },
  { path: `${COMPANY}/1%00`, code: 'invalid_company_number' },
  { path: `${COMPANY}/%EF%BC%91`, code: 'invalid_company_number' },
  { path: `${COMPANY}/1%2F2`, code: 'invalid_company_number' },
  { path: `${COMPANY}/..`, code: 'invalid_company_number' },
  { path: `${COMPANY}/%2e%2e`, code: 'invalid_company_number' },
  { path: `${COMPANY}/1;a=b`, code: 'invalid_company_number' },
  { path: `${COMPANY}/1\\2`, code: 'invalid_company_number' },
  // Percent signs that mean nothing
  { path: `${COMPANY}/%`, code: 'invalid_company_number' },
  { path: `${COMPANY}/%zz`, code: 'invalid_company_number' },
  { path: `${COMPANY}/%E0%A4%A`, code: 'invalid_company_number' },
  { path: `${COMPANY}/%FF`, code: 'invalid_company_number' },
  { path: '/%', code: 'not_found' },
  { path: '/%E0%A4%A', code: 'not_found' },
  { path: '/api/%zz/company/1', code: 'not_found' },
  { path: '/.well-known/%FF', code: 'not_found' },
  { path: `/api/v1/%63ompany/1`, code: 'not_found' },
  // Other spellings of the route are other routes.
  { path: COMPANY, code: 'not_found' },
  { path: `${COMPANY}?1`, code: 'not_found' },
  { path: `${COMPANY}/1/`, code: 'not_found' },
  { path: `${COMPANY}//1`, code: 'not_found' },
  { path: `/api/v1//company/1`, code: 'not_found' },
  { path: `//api/v1/company/1`, code: 'not_found' },
  { path: `${COMPANY}/./1`, code: 'not_found' },
  { path: `${COMPANY}/../company/1`, code: 'not_found' },
  { path: `${COMPANY}/1/..`, code: 'not_found' },
  { path: `${COMPANY}/1/2`, code: 'not_found' },
  { path: '/API/V1/COMPANY/1', code: 'not_found' },
  { path: '/api/v1/Company/1', code: 'not_found' },
  { path: `${COMPANY}x/1`, code: 'not_found' },
  { path: `/x${COMPANY}/1`, code: 'not_found' },
  // Nothing at all
  { path: '/', code: 'not_found' },
  { path: `/${MARK}`, code: 'not_found' },
  { path: '/api/v1', code: 'not_found' },
  { path: '/api/v1/meta/', code: 'not_found' },
  { path: '/ATTRIBUTION', code: 'not_found' },
  { path: '/__proto__', code: 'not_found' },
  { path: `/${'a'.repeat(8_000)}`, code: 'not_found' },
  // Anything beside the path
  { path: `${COMPANY}/1?`, code: 'unexpected_input' },
  { path: `${COMPANY}/1?a=${MARK}`, code: 'unexpected_input' },
  { path: `${COMPANY}/1?%zz`, code: 'unexpected_input' },
  { path: `${COMPANY}/1??`, code: 'unexpected_input' },
  { path: `${COMPANY}/1#`, code: 'unexpected_input' },
  { path: `${COMPANY}/1#${MARK}`, code: 'unexpected_input' },
  { path: `${COMPANY}/${MARK}?a`, code: 'unexpected_input' },
]

describe('the REST routes', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  const get = (path: string, change: Partial<RawRequest> = {}) => send({ url: service.url, path, ...change })

  describe('answer a GET of', () => {
    for (const { path, code } of PATHS) {
      it(`${path.length > 60 ? `${path.slice(0, 60)}…` : path}: ${code}`, async () => {
        const reply = await get(path)
        expectRefusal(reply, code)
        expectNoLeak(reply, MARK)
        expect(reply.headers['cache-control']).to.equal('private, no-store')
        expect(reply.headers['access-control-expose-headers']).to.equal(CORS_EXPOSED)
        expect(reply.headers['x-content-type-options']).to.equal('nosniff')
        expect(reply.headers).not.to.have.property('x-powered-by')
      })
    }
  })

  describe('quote the resource under the base URL, whatever the request calls the host', () => {
    const cases: [name: string, request: () => RawRequest][] = [
      ['another Host', () => ({ url: service.url, path: `${COMPANY}/1`, headers: { Host: `${MARK}.example` } })],
      ['X-Forwarded-Host', () => ({ url: service.url, path: `${COMPANY}/1`, headers: { 'X-Forwarded-Host': MARK } })],
      ['an absolute target', () => ({ url: service.url, path: `http://${MARK}.example${COMPANY}/1` })],
    ]
    for (const [name, request] of cases) {
      it(name, async () => {
        const reply = await send(request())
        expectRefusal(reply, 'payment_required')
        expectNoLeak(reply, MARK)
        const quote = decodePaymentRequiredHeader(String(reply.headers['payment-required']))
        expect(quote.resource.url).to.equal(`${service.url}${COMPANY}/1`)
      })
    }
  })

  describe('accept no body with a lookup:', () => {
    const cases: [name: string, change: Partial<RawRequest>][] = [
      ['of known length', { body: MARK }],
      ['in chunks', { body: MARK, chunked: true }],
      ['in chunks and empty', { body: '', chunked: true }],
      ['too large for any route', { body: 'x'.repeat(100_000) }],
    ]
    for (const [name, change] of cases) {
      it(name, async () => {
        const reply = await get(`${COMPANY}/1`, change)
        expectRefusal(reply, 'unexpected_input')
        expectNoLeak(reply, MARK)
      })
    }

    it('but a length of 0 is none', async () => {
      expectRefusal(await get(`${COMPANY}/1`, { headers: { 'Content-Length': '0' } }), 'payment_required')
    })
  })

  describe('refuse other methods with 405 and what is allowed:', () => {
    const cases: [path: string, allow: string, methods: string[]][] = [
      [`${COMPANY}/1`, 'GET', ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE']],
      ['/api/v1/meta', 'GET, HEAD', ['POST', 'PUT', 'DELETE']],
      ['/attribution', 'GET, HEAD', ['POST', 'PUT', 'DELETE']],
      ['/.well-known/jwks.json', 'GET, HEAD', ['POST', 'PUT', 'DELETE']],
      ['/.well-known/agent-card.json', 'GET, HEAD', ['POST', 'PUT', 'DELETE']],
    ]
    for (const [path, allow, methods] of cases) {
      for (const method of methods) {
        it(`${method} ${path}`, async () => {
          const reply = await get(path, { method })
          expect(reply.headers['allow']).to.equal(allow)
          if (method === 'HEAD') expect(reply).to.deep.include({ status: 405, text: '' })
          else expectRefusal(reply, 'method_not_allowed')
        })
      }
    }

    it('before anything else is looked at', async () => {
      expectRefusal(await get(`${COMPANY}/${MARK}?a`, { method: 'POST', body: MARK }), 'method_not_allowed')
    })
  })

  describe('refuse a payment header', () => {
    const cases: [name: string, value: () => string | string[]][] = [
      ['given twice', () => ['e30=', 'e30=']],
      ['of 9 KiB', () => Buffer.from(JSON.stringify({ x402Version: 2, a: 'x'.repeat(6_700) })).toString('base64')],
      ['that is empty', () => ''],
      ['that is not base64', () => MARK],
      ['of JSON that is no payment', () => Buffer.from(JSON.stringify({ a: MARK })).toString('base64')],
      ['of bytes that are no JSON', () => Buffer.from(MARK).toString('base64')],
    ]
    for (const [name, value] of cases) {
      it(`${name}: payment_invalid, with a fresh quote`, async () => {
        const sent = value()
        const reply = await get(`${COMPANY}/1`, { headers: { 'PAYMENT-SIGNATURE': sent } })
        expectRefusal(reply, 'payment_invalid')
        expectNoLeak(reply, MARK)
        const quote = decodePaymentRequiredHeader(String(reply.headers['payment-required']))
        expect(quote.accepts).to.have.lengthOf(1)
        expect(reply.json['payment_required']).to.deep.equal(quote)
      })
    }

    it('given twice, even when both are one good payment', async () => {
      const quote = await get(`${COMPANY}/1004`)
      const payment = await service.pay(String(quote.headers['payment-required']))
      const before = await service.paid()
      const twice = await get(`${COMPANY}/1004`, { headers: { 'PAYMENT-SIGNATURE': [payment, payment] } })
      expectRefusal(twice, 'payment_invalid')
      expect(await service.paid()).to.deep.equal(before)
      const once = await get(`${COMPANY}/1004`, { headers: { 'PAYMENT-SIGNATURE': payment } })
      expect(once.status).to.equal(200)
      expect(once.headers).to.include({
        'cache-control': 'private, no-store',
        'content-type': 'application/json; charset=utf-8',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': CORS_EXPOSED,
      })
    })
  })

  describe('let a browser pay:', () => {
    for (const path of [`${COMPANY}/1`, '/a2a', '/api/v1/meta', `/${MARK}`, '/%']) {
      it(`OPTIONS ${path}`, async () => {
        const reply = await get(path, {
          method: 'OPTIONS',
          headers: { Origin: `https://${MARK}.example`, 'Access-Control-Request-Headers': MARK },
        })
        expect(reply).to.deep.include({ status: 204, text: '' })
        expect(reply.headers).to.include({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
          'access-control-allow-headers': 'PAYMENT-SIGNATURE, Content-Type, A2A-Version, A2A-Extensions',
          'access-control-expose-headers': CORS_EXPOSED,
        })
        expect(reply.headers).not.to.have.property('access-control-allow-credentials')
        expect(JSON.stringify(reply.headers)).not.to.include(MARK)
      })
    }
  })

  it('answer a missing and a contradictory company with a DataError that says no name', async () => {
    const cases: [number: string, status: number, code: string][] = [
      ['999', 404, 'company_not_found'],
      ['2001', 409, 'source_data_conflict'],
    ]
    for (const [number, status, code] of cases) {
      const quote = await get(`${COMPANY}/${number}`)
      const payment = await service.pay(String(quote.headers['payment-required']))
      const reply: RawReply = await get(`${COMPANY}/${number}`, { headers: { 'PAYMENT-SIGNATURE': payment } })
      expect(reply.status).to.equal(status)
      expect(reply.json).to.have.all.keys('company', 'error', 'source', 'snapshot_id')
      expect(reply.json).to.include({ company: null })
      expect(reply.json['error']).to.have.all.keys('code', 'message').and.to.include({ code })
      expect(reply.headers['cache-control']).to.equal('private, no-store')
      expectNoLeak(reply, 'FIXTURE')
    }
  })
})
