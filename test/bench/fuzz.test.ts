/** A short run of the fuzz, and that it would notice. */
import { expect } from 'chai'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { send } from '../support/raw-http.ts'
import { judge } from './fuzz/judge.ts'
import { MARK, type FuzzRequest } from './fuzz/requests.ts'
import { fuzz } from './fuzz/run.ts'
import type { WireReply } from './fuzz/wire.ts'

const RUNS = 1_000

describe('generated requests', () => {
  let service: FakedService

  before(async () => {
    service = await startFakedService()
  })
  after(() => service.stop())

  it('get answers of ours, leave nothing behind, and go far into the service', async () => {
    const { requests, replies, faults } = await fuzz(service, { runs: RUNS, seed: 7 })
    expect([...faults]).to.deep.equal([])
    expect([requests, service.counts(), service.lines]).to.deep.equal([RUNS, { recorded: 0, settled: 0 }, []])
    expect([...replies.keys()]).to.include.members([200, 400, 402, 404, 405, 413, 415, 431])
  })

  it('would be seen if they bought something', async () => {
    const path = '/api/v1/company/73848'
    const quote = await send({ url: service.url, path })
    const payment = await service.pay(String(quote.headers['payment-required']))
    expect((await send({ url: service.url, path, headers: { 'PAYMENT-SIGNATURE': payment } })).status).to.equal(200)
    expect(service.counts()).to.deep.equal({ recorded: 1, settled: 1 })
  })

  describe('are judged:', () => {
    const request: FuzzRequest = { method: 'GET', target: '/nothing', bytes: Buffer.of(), isFramed: true }
    const refusal = { code: 'not_found', message: 'There is nothing at this address.' }
    const replied = (body: unknown, change: Partial<WireReply> = {}): string | undefined => {
      const headers = new Map([['content-type', 'application/json; charset=utf-8']])
      const reply = { status: 404, headers, head: 'HTTP/1.1 404 Not Found', text: JSON.stringify(body), ...change }
      return judge({ info: {}, paths: {}, components: { schemas: {}, headers: {}, examples: {} } }, request, reply)
    }

    it('a refusal of the table is well', () => expect(replied({ error: refusal })).to.equal(undefined))

    for (const [fault, body, change] of [
      ['the input is echoed', { error: { ...refusal, message: `${refusal.message} ${MARK.toUpperCase()}` } }],
      ['the input is echoed', { error: refusal }, { head: `HTTP/1.1 404 Not Found\r\nX: ${MARK}` }],
      ['404 the body is not {error: {code, message}}', { error: { ...refusal, stack: '' } }],
      ['404 the body is not {error: {code, message}}', '<html>'],
      ['404 the code is not in the table', { error: { ...refusal, code: 'toString' } }],
      ['404 the code is of 409', { error: { ...refusal, code: 'source_data_conflict' } }],
      ['404 the sentence is not in the table', { error: { ...refusal, message: 'ENOENT' } }],
      ['200 no such path', {}, { status: 200 }],
      [
        'the connection stays open',
        { error: { code: 'request_timeout', message: 'The request did not arrive in time.' } },
        { status: 408 },
      ],
    ] as [string, unknown, Partial<WireReply>?][])
      it(fault, () => expect(replied(body, change)).to.equal(fault))
  })
})
