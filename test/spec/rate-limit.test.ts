/** The shared rate limit on the whole service (contract 6.2). */
import { expect } from 'chai'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { buyOverTransports, messageBody } from '../support/transports.ts'

describe('the shared rate limit', () => {
  let service: TestService
  let ahead = 0

  beforeEach(async () => {
    ahead = 0
    service = await startTestService({
      environment: { RATE_LIMIT_PER_MINUTE: '3', TRUST_PROXY: '1' },
      now: () => new Date(Date.now() + ahead),
    })
  })
  afterEach(() => service.stop())

  const { get, lookup, a2a, mcp, payFor } = buyOverTransports(() => service)
  const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }
  const overRest = (payment?: string) => lookup('00000000', payment)
  const overA2a = (payment?: string) => a2a(LOOKUP, payment)

  function expectLimited(reply: RawReply): void {
    expectRefusal(reply, 'rate_limited')
    expect(reply.headers['retry-after']).to.match(/^[1-9][0-9]*$/)
    expect(Number(reply.headers['retry-after'])).to.be.within(1, 60)
  }

  it('[6.2.1, 6.2.4] counts REST and A2A together and answers both with 429 and Retry-After', async () => {
    for (const reply of [await overRest(), await overA2a(), await overRest()]) expectRefusal(reply, 'payment_required')
    expectLimited(await overRest())
    expectLimited(await overA2a())
    ahead = 60_000
    expectRefusal(await overRest(), 'payment_required')
  })

  it('[6.2.2] lets payers buy while free traffic is refused, up to the limit of paid requests', async () => {
    const unpaid = overRest()
    await unpaid
    await overRest()
    await overA2a()
    expectLimited(await overRest())
    const payments = await Promise.all(Array.from({ length: 4 }, () => payFor(unpaid)))
    const [first, second, third, fourth] = payments as [string, string, string, string]
    expect([
      (await overRest(first)).status,
      (await overA2a(second)).status,
      (await overRest(third)).status,
    ]).to.deep.equal([200, 200, 200])
    const before = await service.paid()
    expectLimited(await overRest(fourth))
    expectLimited(await overA2a(fourth))
    expect(await service.paid()).to.deep.equal(before)
    // Replays do not count.
    for (const payment of [first, second, third]) {
      expect((await overRest(payment)).status).to.equal(200)
      expect((await overA2a(payment)).status).to.equal(200)
    }
    ahead = 60_000
    expect((await overRest(fourth)).status).to.equal(200)
  })

  it('[6.2.5, 6.2.6] counts quotes for each client address, over all transports', async () => {
    const forwarded = (address: string) => ({ 'X-Forwarded-For': `198.51.100.1, ${address}` })
    const restFrom = (address: string) => lookup('00000000', undefined, { headers: forwarded(address) })
    const a2aFrom = (address: string) => a2a(LOOKUP, undefined, 1, forwarded(address))
    const codeOverMcp = async (address: string) =>
      ((await mcp(LOOKUP, undefined, forwarded(address))).json['error'] as { code: string }).code
    for (const reply of [await restFrom('2001:db8::1'), await a2aFrom('2001:db8::2')])
      expectRefusal(reply, 'payment_required')
    expect(await codeOverMcp('2001:db8::3')).to.equal('payment_required')
    expectLimited(await restFrom('2001:db8::4'))
    expectLimited(await a2aFrom('2001:db8::5'))
    expect(await codeOverMcp('2001:db8::6')).to.equal('rate_limited')
    for (const reply of [await restFrom('192.0.2.1'), await a2aFrom('::ffff:192.0.2.1'), await overRest()])
      expectRefusal(reply, 'payment_required')
    expect(await codeOverMcp('192.0.2.1')).to.equal('payment_required')
  })

  it('does not count free documents, help messages and requests with invalid input', async () => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect((await get('/api/v1/meta')).status).to.equal(200)
      expect((await a2a(messageBody({ parts: [{ text: 'hello' }] }))).status).to.equal(200)
      expectRefusal(await lookup('letters'), 'invalid_company_number')
      expectRefusal(await a2a({}), 'invalid_body')
    }
    expectRefusal(await overRest(), 'payment_required')
  })
})
