/**
 * Two processes on one data directory or one PostgreSQL database share one limit of sales and one response log
 * (contract 6.2.1).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequirements } from '@x402/core/types'
import type { Hex } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { header, signedPayment } from '../support/payments.ts'
import { findPostgres, makeEmptyLog } from '../support/postgres.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { loadDescription } from '../support/openapi-check.ts'
import { requestOverTransports } from '../support/transports.ts'

const LIMIT = 12
const TIMEOUT_MS = 240_000
const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }

for (const log of ['LMDB', 'PostgreSQL'])
  describe(`[6.2.1] the limit of sales of two processes with ${log}`, function () {
    // Each test starts two services first.
    this.timeout(TIMEOUT_MS)
    let directory: string
    let urls: string[]
    let requirements: PaymentRequirements | undefined
    const children: Child[] = []

    before(function () {
      if (log === 'PostgreSQL' && findPostgres() === undefined) this.skip()
    })
    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'shared-'))
      const environment = {
        DATA_DIR: directory,
        RPC_URL: await testChainUrl(),
        PORT: '0',
        LOG_LEVEL: 'silent',
        RATE_LIMIT_PER_MINUTE: String(LIMIT),
        ...(log === 'PostgreSQL' && { RESPONSE_LOG: await makeEmptyLog() }),
      }
      const start = () => {
        const child = startChild('agent/main.js', ['serve'], environment)
        children.push(child)
        return ready(child)
      }
      // The first process creates the sandbox's accounts and dataset; the second reuses them.
      urls = [await start(), await start()]
      for (const url of urls) await loadDescription(url)
      // One quote for all payments.
      const quoted = await rest(urls[0] ?? '')
      requirements = decodePaymentRequiredHeader(String(quoted.headers['payment-required'])).accepts[0]
    })
    afterEach(async () => {
      for (const child of children.splice(0)) {
        child.process.kill('SIGKILL')
        await child.ended
      }
      await rm(directory, { recursive: true })
    })

    const at = (url: string) => requestOverTransports(() => ({ url }))
    const rest = (url: string, payment?: string) => at(url).lookup('00000000', payment)
    const a2a = (url: string, payment?: string) => at(url).a2a(LOOKUP, payment)

    const pay = async (key: Hex) => header(await signedPayment({ key, ...(requirements && { requirements }) }))

    /** Sends a payment of the sandbox's buyer to each process and over each transport alternately. */
    async function buyBy(index: number): Promise<RawReply> {
      const payment = await pay(children[0]?.said.get('buyer') as Hex)
      return (Math.floor(index / 2) % 2 === 0 ? rest : a2a)(urls[index % 2] ?? '', payment)
    }

    it('is exact over both processes and transports, and replays are answered at both', async () => {
      const buyer = children[0]?.said.get('buyer') as Hex
      const payment = await pay(buyer)
      expect((await rest(urls[0] ?? '', payment)).status).to.equal(200)
      // Payments that fail do not count.
      for (const url of urls) expectRefusal(await rest(url, await pay(generatePrivateKey())), 'payment_rejected')
      for (let index = 1; index < LIMIT; index += 1) expect((await buyBy(index)).status).to.equal(200)
      for (let index = 0; index < 4; index += 1) {
        const reply = await buyBy(index)
        expectRefusal(reply, 'rate_limited')
        expect(Number(reply.headers['retry-after'])).to.be.within(1, 61)
      }
      // A replay, also at the process that did not sell.
      for (const url of urls) expect((await rest(url, payment)).status).to.equal(200)
    })

    it('keeps the sales of a killed process', async () => {
      for (let index = 0; index < 2 * LIMIT; index += 2) expect((await buyBy(index)).status).to.equal(200)
      const payment = await pay(children[0]?.said.get('buyer') as Hex)
      children[0]?.process.kill('SIGKILL')
      await children[0]?.ended
      expectRefusal(await rest(urls[1] ?? '', payment), 'rate_limited')
    })
  })
