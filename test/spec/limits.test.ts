/**
 * Limits in a minute and the age limit of the dataset, on the whole service: quotes and sales a minute, and the age of
 * the dataset.
 */
import { expect } from 'chai'
import { buyOverTransports } from '../support/transports.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { expectRefusal } from '../support/raw-http.ts'

const HOUR_MS = 3_600_000

const LOOKUP = { operation: 'lookup', input: { company_number: '1' } }

describe('the limits over time', () => {
  let time = 0
  let service: FakedService
  beforeEach(async () => {
    time = 0
    const began = Date.now()
    const environment = { RATE_LIMIT_PER_MINUTE: undefined }
    service = await startFakedService({ environment, clock: () => time, now: () => new Date(began + time) })
  })
  afterEach(() => service.stop())

  const { get, lookup, search, resolve, a2a, payFor } = buyOverTransports(() => service)
  const requests = [() => lookup('73848'), () => search('q=abc'), () => resolve({ name: 'abc' }), () => a2a(LOOKUP)]

  it('[6.2.2] admit 384 quotes a minute of an address over all routes, then answer 429', async () => {
    for (let round = 0; round < 96; round += 1)
      for (const ask of requests) expectRefusal(await ask(), 'payment_required')
    for (const ask of requests) {
      const reply = await ask()
      expectRefusal(reply, 'rate_limited')
      expect(reply.headers['retry-after']).to.equal('61')
    }
    time = 60_999
    expectRefusal(await lookup('73848'), 'rate_limited')
    time = 61_000
    expectRefusal(await lookup('73848'), 'payment_required')
  })

  it('[6.2.1] admit 120 sales a minute, then answer 429', async () => {
    const unpaid = lookup('73848')
    const buy = async () => (await lookup('73848', await payFor(unpaid))).status
    for (let sale = 1; sale <= 120; sale += 1) expect([sale, await buy()]).to.deep.equal([sale, 200])
    expect(await buy()).to.equal(429)
    expect(service.counts()).to.deep.equal({ settled: 120, recorded: 121 })
  })

  it('[2.9, 3.1] sell data until 72 hours after the last retrieval', async () => {
    const status = async () => (await get('/api/v1/meta')).json['dataset_status']
    for (const [age, code, state] of [
      [72 * HOUR_MS, 'payment_required', 'ready'],
      [72 * HOUR_MS + 1, 'dataset_stale', 'stale'],
    ] as const) {
      time = age
      for (const ask of requests) expectRefusal(await ask(), code)
      expect(await status()).to.equal(state)
    }
  })
})
