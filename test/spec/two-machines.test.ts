/** Two services with their own data directories, on one response log in PostgreSQL. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { verifyReceipt } from '../../agent/payment/receipt/verify.ts'
import type { Externals } from '../../agent/service/externals.ts'
import { KEYS_REFRESH_MS, PUBLISHED_MS } from '../../keys/keyring.ts'
import type { Timer } from '../../base/runtime.ts'
import { migrateDatabase } from '../../store/log/postgres/schema.ts'
import { findPostgres, makeEmptyLog, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { buyOverTransports, expectCharges } from '../support/transports.ts'
import { receiptIn } from '../support/unsigned-receipt.ts'
import { shortTimers } from '../support/timers.ts'
import { needProgram } from '../support/programs.ts'

const REQUESTS = 8
const LOOKUP_AMOUNT = 1_000n
/** A buyer repeats a 503 with the same payment. Far more often than needed. */
const TRIES_MAX = 50

/** A settlement lasts a second longer, so that the other machine gets the same payment meanwhile. */
const slowly = ({ facilitator, ...externals }: Externals): Externals => ({
  ...externals,
  facilitator: {
    verify: (...call) => facilitator.verify(...call),
    settle: async (...call) => {
      await sleep(1_000)
      return facilitator.settle(...call)
    },
  },
})

/** Ends the wait of a machine that joins, until the others publish its key. */
const endsWaits: Timer = (callback, milliseconds) =>
  shortTimers(callback, milliseconds > KEYS_REFRESH_MS && milliseconds <= PUBLISHED_MS ? 0 : milliseconds)

describe('two machines with one response log', function () {
  this.timeout(240_000)
  let services: TestService[]

  before(async function () {
    needProgram(this, 'PostgreSQL', findPostgres())
    const environment = { RESPONSE_LOG: await makeEmptyLog() }
    const first = await startTestService({ environment, replaceExternals: slowly, timer: endsWaits })
    const { payTo } = first
    const replaceExternals = (own: Externals) => ({ ...slowly(own), payTo })
    services = [first, await startTestService({ environment, replaceExternals, timer: endsWaits })]
  })
  after(async () => {
    await Promise.all((services ?? []).map((service) => service.stop()))
  })

  const node = (index: number) => {
    const service = services[index % services.length]
    if (!service) throw new Error('There are two services')
    return service
  }
  const requestsTo = (index: number) => buyOverTransports(() => node(index))

  async function untilAnswered(ask: () => Promise<RawReply>): Promise<RawReply> {
    let reply = await ask()
    for (let tries = 1; reply.status === 503 && tries < TRIES_MAX; tries += 1) reply = await ask()
    return reply
  }

  it('[5.6.3] settle equal requests to both once, and give each the same answer', async () => {
    const payment = await requestsTo(0).payFor(requestsTo(0).lookup('00000000'))
    await expectCharges(node(0), [LOOKUP_AMOUNT], async () => {
      const replies = await Promise.all(
        Array.from({ length: REQUESTS }, (_, index) =>
          untilAnswered(() => requestsTo(index).lookup('00000000', payment)),
        ),
      )
      expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([200]))
      expect(new Set(replies.map(({ text }) => text)).size).to.equal(1)
      expect(new Set(replies.map(({ headers }) => headers['payment-response'])).size).to.equal(1)
    })
  })

  it('[5.6.2] answer every payment of a rolling restart under load, and wait for settlements of each other', async () => {
    /** What a payment gets that is sent to both machines at once, until each has answered it. */
    const askBoth = (payment: string) =>
      Promise.all(
        services.map(async (_, index) => {
          const codes: string[] = []
          for (let tries = 0; tries < TRIES_MAX; tries += 1) {
            const reply = await requestsTo(index)
              .lookup('00000000', payment)
              .catch(() => undefined)
            if (reply?.status === 200) return codes
            if (reply) codes.push((reply.json as { error: { code: string } }).error.code)
            await sleep(100)
          }
          return [...codes, 'no answer']
        }),
      )
    const codes = new Set<string>()
    const restarted = new AbortController()
    let sold = 0
    const buy = async (index: number) => {
      while (!restarted.signal.aborted) {
        const quote = await requestsTo(index)
          .lookup('00000000')
          .catch(() => undefined)
        if (quote?.status !== 402) await sleep(100)
        else {
          const payment = await requestsTo(0).payFor(Promise.resolve(quote))
          for (const code of (await askBoth(payment)).flat()) codes.add(code)
          sold += 1
        }
      }
    }
    const transfers = await node(0).transfersOf(async () => {
      const buyers = Array.from({ length: 12 }, (_, index) => buy(index))
      for (const service of services) await service.restart()
      restarted.abort()
      await Promise.all(buyers)
    })
    // A machine that stops begins no sale.
    codes.delete('overloaded')
    expect([[...codes], transfers]).to.deep.equal([[], sold])
    expect(sold).to.be.above(0)
  })

  it('[5.6.1, 5.9.3] return answer and receipt that the other machine has sold, also after a restart', async () => {
    const payment = await requestsTo(0).payFor(requestsTo(0).lookup('00000000'))
    const sold = await requestsTo(0).lookup('00000000', payment)
    await node(1).restart()
    const repeated = await requestsTo(1).lookup('00000000', payment)
    expect([repeated.status, repeated.text]).to.deep.equal([200, sold.text])
    expect(receiptIn(String(sold.headers['payment-response']))).to.be.a('string')
    expect(repeated.headers['payment-response']).to.equal(sold.headers['payment-response'])
  })
})

describe('two machines with their own keys', function () {
  this.timeout(240_000)

  before(function () {
    needProgram(this, 'PostgreSQL', findPostgres())
  })

  it('[13.2, 14.21] both sell after first starts, and each publishes the keys of both, also after restarts', async () => {
    const environment = { RESPONSE_LOG: await makeEmptyLog() }
    const refresh = new Map<string, () => void>()
    const timerOf =
      (name: string): Timer =>
      (callback, milliseconds) => {
        if (milliseconds === KEYS_REFRESH_MS) refresh.set(name, callback)
        return endsWaits(callback, milliseconds)
      }
    const first = await startTestService({ environment, timer: timerOf('first') })
    const { payTo } = first
    const replaceExternals = ({ facilitator, chain }: Externals) => ({ facilitator, chain, payTo })
    const second = await startTestService({ environment, replaceExternals, timer: timerOf('second') })
    expect(second.reports.map(([event]) => event)).to.include('key_not_published_yet')
    try {
      const keySetOf = async ({ url }: TestService) => (await fetch(`${url}/.well-known/jwks.json`)).text()
      const before = await keySetOf(first)
      refresh.get('first')?.()
      while ((await keySetOf(first)) === before) await new Promise(setImmediate)
      for (const round of ['first start', 'restart']) {
        const kids = new Set<string>()
        for (const service of [first, second]) {
          const { lookup, buy } = buyOverTransports(() => service)
          const { headers, json: answer } = await buy((payment) => lookup('00000000', payment))
          const receipt = receiptIn(String(headers['payment-response'])) ?? expect.fail('the answer has no receipt')
          for (const other of [first, second]) {
            const keySet: unknown = JSON.parse(await keySetOf(other))
            const { isValid } = await verifyReceipt({ receipt, answer, keySet })
            expect(isValid, round).to.equal(true)
          }
          kids.add(decodeProtectedHeader(receipt).kid ?? '')
        }
        expect(kids.size).to.equal(2)
        for (const service of [first, second]) await service.restart()
      }
    } finally {
      await first.stop()
      await second.stop()
    }
  })
})

describe('a machine whose database is lost', function () {
  this.timeout(240_000)
  let server: PostgresServer
  let service: TestService

  before(async function () {
    needProgram(this, 'PostgreSQL', findPostgres())
    server = await startPostgres()
    const url = await server.createDatabase()
    await migrateDatabase(url)
    service = await startTestService({ environment: { RESPONSE_LOG: url, ADMIN_PORT: '0' } })
  })
  after(async () => {
    await service?.stop()
    await server?.stop()
  })

  it('still quotes and answers free routes, refuses payments with 503, and sells again after a restart of the database', async () => {
    const { lookup, payFor } = buyOverTransports(() => service)
    const payment = await payFor(lookup('00000000'))
    await server.kill()
    await expectCharges(service, [], async () => {
      expect((await lookup('00000000')).status).to.equal(402)
      expect((await fetch(`${service.url}/api/v1/meta`)).status).to.equal(200)
      expectRefusal(await lookup('00000000', payment), 'payment_outcome_unknown')
      const metrics = await fetch(`${service.adminUrl}/metrics`)
      expect(await metrics.text()).to.contain('company_agent_events_total{event="sale_failed"} 1')
    })
    await server.start()
    await expectCharges(service, [LOOKUP_AMOUNT], async () => {
      expect((await lookup('00000000', payment)).status).to.equal(200)
    })
  })
})
