/** Spec 8 on a deployment: two processes of the service on one data directory are one service, with one limit. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { Hex } from 'viem'
import { testChainUrl } from '../support/chain.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { header, signedPayment } from '../support/payments.ts'
import { expectRefusal, send, type RawReply } from '../support/raw-http.ts'
import { describeService } from '../support/described.ts'

const LIMIT = 120
const TIMEOUT_MS = 90_000
const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }

describe('the shared limit of two processes', function () {
  // Two starts of the whole service before each.
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
    // The first makes the sandbox's accounts and dataset, which the second finds.
    urls = [await start(), await start()]
    for (const url of urls) await describeService(url)
  })
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.process.kill('SIGKILL')
      await child.ended
    }
    await rm(directory, { recursive: true })
  })

  const rest = (url: string, payment?: string) =>
    send({
      url,
      path: '/api/v1/company/00000000',
      headers: payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment },
    })

  const a2a = (url: string) =>
    send({
      url,
      method: 'POST',
      path: '/a2a',
      headers: {
        'Content-Type': 'application/json',
        'A2A-Version': '1.0',
        'A2A-Extensions': `${url}/docs#http-x402-v1`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: LOOKUP }] } },
      }),
    })

  /** By each process and each door in turn. */
  const askBy = (turn: number) => (Math.floor(turn / 2) % 2 === 0 ? rest : a2a)(urls[turn % 2] ?? '')

  async function pay(quoted: RawReply): Promise<string> {
    const [requirements] = decodePaymentRequiredHeader(String(quoted.headers['payment-required'])).accepts
    if (!requirements) throw new Error('The quote accepts no payment')
    return header(await signedPayment({ key: children[0]?.said.get('buyer') as Hex, requirements }))
  }

  it('is reached at the last place, whichever process and door is asked, and payers buy on at both', async () => {
    const replies: RawReply[] = []
    for (let turn = 0; turn < LIMIT; turn += 1) replies.push(await askBy(turn))
    for (const reply of replies) expectRefusal(reply, 'payment_required')
    for (let turn = 0; turn < 4; turn += 1) {
      const reply = await askBy(turn)
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

  it('is reached at the last place also by requests that come at once', async () => {
    const replies = await Promise.all(Array.from({ length: 2 * LIMIT }, (_, turn) => askBy(turn)))
    const limited = replies.filter(({ status, text }) => status === 429 || text.includes('rate_limited'))
    expect(limited).to.have.lengthOf(LIMIT)
  })

  it('goes on when one of the processes is killed, with what that had let in', async () => {
    for (let turn = 0; turn < LIMIT; turn += 1) await askBy(0)
    children[0]?.process.kill('SIGKILL')
    await children[0]?.ended
    expectRefusal(await rest(urls[1] ?? ''), 'rate_limited')
  })
})
