/** Spec 8 on the whole service: one limit for all clients and both doors, that payers and replays get past. */
import { expect } from 'chai'
import { expectRefusal, send, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

describe('the shared limit', () => {
  let service: TestService
  let ahead = 0

  beforeEach(async () => {
    ahead = 0
    service = await startTestService({
      environment: { RATE_LIMIT_PER_MINUTE: '3' },
      now: () => new Date(Date.now() + ahead),
    })
  })
  afterEach(() => service.stop())

  const rest = (payment?: string, number = '00000000') =>
    send({
      url: service.url,
      path: `/api/v1/company/${number}`,
      headers: payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment },
    })

  const a2a = (
    payment?: string,
    part: object = { data: { operation: 'lookup', input: { company_number: '00000000' } } },
  ) =>
    send({
      url: service.url,
      method: 'POST',
      path: '/a2a',
      headers: {
        'Content-Type': 'application/json',
        'A2A-Version': '1.0',
        'A2A-Extensions': `${service.url}/docs#http-x402-v1`,
        ...(payment !== undefined && { 'PAYMENT-SIGNATURE': payment }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } },
      }),
    })

  const quoteOf = (reply: RawReply) => String(reply.headers['payment-required'])

  function expectLimited(reply: RawReply): void {
    expectRefusal(reply, 'rate_limited')
    expect(reply.headers['retry-after']).to.match(/^[1-9][0-9]*$/)
    expect(Number(reply.headers['retry-after'])).to.be.within(1, 60)
    expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
  }

  it('counts REST and A2A together, and answers both with 429 and Retry-After', async () => {
    for (const reply of [await rest(), await a2a(), await rest()]) expectRefusal(reply, 'payment_required')
    expectLimited(await rest())
    expectLimited(await a2a())
    ahead = 60_000
    expectRefusal(await rest(), 'payment_required')
  })

  it('lets payers buy while free traffic is refused, up to the limit of their own', async () => {
    const quote = quoteOf(await rest())
    await rest()
    await a2a()
    expectLimited(await rest())
    const payments = await Promise.all(Array.from({ length: 4 }, () => service.pay(quote)))
    const [first, second, third, fourth] = payments as [string, string, string, string]
    expect([(await rest(first)).status, (await a2a(second)).status, (await rest(third)).status]).to.deep.equal([
      200, 200, 200,
    ])
    const before = await service.paid()
    expectLimited(await rest(fourth))
    expectLimited(await a2a(fourth))
    expect(await service.paid()).to.deep.equal(before)
    // What was bought stays there for the asking.
    for (const payment of [first, second, third]) {
      expect((await rest(payment)).status).to.equal(200)
      expect((await a2a(payment)).status).to.equal(200)
    }
    ahead = 60_000
    expect((await rest(fourth)).status).to.equal(200)
  })

  it('counts neither free documents, nor help, nor what is refused for its form', async () => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect((await send({ url: service.url, path: '/api/v1/meta' })).status).to.equal(200)
      expect((await a2a(undefined, { text: 'hello' })).status).to.equal(200)
      expectRefusal(await rest(undefined, 'letters'), 'invalid_company_number')
      expectRefusal(await a2a(undefined, { data: {} }), 'invalid_body')
    }
    expectRefusal(await rest(), 'payment_required')
  })
})
