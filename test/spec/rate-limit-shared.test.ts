/** Two processes on one data directory share one rate limit and one response log (contract 6.2.1). */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { Hex } from 'viem'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { header, signedPayment } from '../support/payments.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { loadDescription } from '../support/openapi-check.ts'
import { requestOverTransports } from '../support/transports.ts'

const LIMIT = 120
const TIMEOUT_MS = 90_000
const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }

describe('[6.2.1] the rate limit of two processes', function () {
  // Each test starts two services first.
  this.timeout(TIMEOUT_MS)
  let directory: string
  let urls: string[]
  const children: Child[] = []

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'shared-'))
    const environment = {
      DATA_DIR: directory,
      RPC_URL: await testChainUrl(),
      PORT: '0',
      LOG_LEVEL: 'silent',
      RATE_LIMIT_PER_MINUTE: String(LIMIT),
    }
    const start = () => {
      const child = startChild('agent/main.js', ['serve'], environment)
      children.push(child)
      return ready(child)
    }
    // The first process creates the sandbox's accounts and dataset; the second reuses them.
    urls = [await start(), await start()]
    for (const url of urls) await loadDescription(url)
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
  const a2a = (url: string) => at(url).a2a(LOOKUP)

  /** Sends requests to each process and over each transport alternately. */
  const askBy = (index: number) => (Math.floor(index / 2) % 2 === 0 ? rest : a2a)(urls[index % 2] ?? '')

  async function pay(quoted: RawReply): Promise<string> {
    const [requirements] = decodePaymentRequiredHeader(String(quoted.headers['payment-required'])).accepts
    if (!requirements) throw new Error('The quote accepts no payment')
    return header(await signedPayment({ key: children[0]?.said.get('buyer') as Hex, requirements }))
  }

  it('is exact over both processes and transports, and payers still buy at both', async () => {
    const replies: RawReply[] = []
    for (let index = 0; index < LIMIT; index += 1) replies.push(await askBy(index))
    for (const reply of replies) expectRefusal(reply, 'payment_required')
    for (let index = 0; index < 4; index += 1) {
      const reply = await askBy(index)
      expectRefusal(reply, 'rate_limited')
      expect(Number(reply.headers['retry-after'])).to.be.within(1, 60)
    }
    const payments = [await pay(replies[0] as RawReply), await pay(replies[1] as RawReply)]
    for (const [index, url] of urls.entries()) {
      expect((await rest(url, payments[index])).status).to.equal(200)
      // A replay, at the process that did not sell.
      expect((await rest(urls[1 - index] ?? '', payments[index])).status).to.equal(200)
    }
  })

  it('is exact for concurrent requests', async () => {
    const replies = await Promise.all(Array.from({ length: 2 * LIMIT }, (_, index) => askBy(index)))
    const limited = replies.filter(({ status, text }) => status === 429 || text.includes('rate_limited'))
    expect(limited).to.have.lengthOf(LIMIT)
  })

  it('keeps the counts of a killed process', async () => {
    for (let index = 0; index < LIMIT; index += 1) await askBy(0)
    children[0]?.process.kill('SIGKILL')
    await children[0]?.ended
    expectRefusal(await rest(urls[1] ?? ''), 'rate_limited')
  })
})
