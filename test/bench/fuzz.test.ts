/** A short run of the fuzzer, and its checks. */
import { expect } from 'chai'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { send } from '../support/raw-http.ts'
import { findFault } from './fuzz/find-fault.ts'
import { MARKER, type FuzzRequest } from './fuzz/requests.ts'
import { fuzz } from './fuzz/run.ts'
import type { RawResponse } from './fuzz/raw-connection.ts'

const RUNS = 1_000
const QUOTE = { x402Version: 2, resource: { url: MARKER } }

describe('generated requests', () => {
  let service: FakedService

  before(async () => {
    service = await startFakedService()
  })
  after(() => service.stop())

  it('get documented responses of many kinds, and record and sell nothing', async () => {
    const { requests, responses, faults } = await fuzz(service, { runs: RUNS, seed: 7 })
    expect([...faults]).to.deep.equal([])
    expect([requests, service.counts(), service.lines]).to.deep.equal([RUNS, { recorded: 0, settled: 0 }, []])
    expect([...responses.keys()]).to.include.members([200, 400, 402, 404, 405, 413, 415, 431])
  })

  it('are counted if they buy something', async () => {
    const path = '/api/v1/company/73848'
    const quote = await send({ url: service.url, path })
    const payment = await service.pay(String(quote.headers['payment-required']))
    expect((await send({ url: service.url, path, headers: { 'PAYMENT-SIGNATURE': payment } })).status).to.equal(200)
    expect(service.counts()).to.deep.equal({ recorded: 1, settled: 1 })
  })

  describe('have a fault if', () => {
    const request: FuzzRequest = { method: 'GET', target: '/nothing', bytes: Buffer.of(), isFramed: true }
    const refusal = { code: 'not_found', message: 'This path does not exist.' }
    const faultOfResponse = (body: unknown, change: Partial<RawResponse> = {}): string | undefined => {
      const headers = new Map([['content-type', 'application/json; charset=utf-8']])
      const response = { status: 404, headers, head: 'HTTP/1.1 404 Not Found', text: JSON.stringify(body), ...change }
      return findFault(
        { info: {}, paths: {}, components: { schemas: {}, headers: {}, responses: {}, examples: {} } },
        request,
        response,
      )
    }

    it('anything but a refusal of the table is returned', () =>
      expect(faultOfResponse({ error: refusal })).to.equal(undefined))

    it('more than the id and the resource of a quote is repeated over MCP', () => {
      const result = { content: [MARKER, 'error'], structuredContent: QUOTE }
      expect(faultOfResponse({ jsonrpc: '2.0', id: MARKER, result }, { status: 200 })).to.equal('200 unknown path')
    })

    for (const [fault, body, change] of [
      ['the input is echoed', { error: { ...refusal, message: `${refusal.message} ${MARKER.toUpperCase()}` } }],
      ['the input is echoed', { error: refusal }, { head: `HTTP/1.1 404 Not Found\r\nX: ${MARKER}` }],
      ['404 the body is not {error: {code, message}}', { error: { ...refusal, stack: '' } }],
      ['404 the body is not {error: {code, message}}', '<html>'],
      ['404 the code is not in the table', { error: { ...refusal, code: 'toString' } }],
      ['404 the code belongs to 409', { error: { ...refusal, code: 'source_data_conflict' } }],
      ['404 the message is not in the table', { error: { ...refusal, message: 'ENOENT' } }],
      [
        '404 the error of the protocol is not in the table',
        { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'Method x' } },
      ],
      [
        'the input is echoed',
        { jsonrpc: '2.0', id: 1, result: { content: ['quote', MARKER], structuredContent: QUOTE } },
      ],
      ['the input is echoed', { jsonrpc: '2.0', id: 1, result: { content: [MARKER], structuredContent: {} } }],
      ['200 unknown path', {}, { status: 200 }],
      [
        'the connection stays open',
        { error: { code: 'request_timeout', message: 'The request did not arrive in time.' } },
        { status: 408 },
      ],
    ] as [string, unknown, Partial<RawResponse>?][])
      it(fault, () => expect(faultOfResponse(body, change)).to.equal(fault))
  })
})
