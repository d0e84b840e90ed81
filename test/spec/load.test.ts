/** Hanging sales and failing code over A2A and MCP, which accept eight sales at once each (contract 4.5.10, 4.6.6). */
import { expect } from 'chai'
import { RESPONSE_BYTES_MAX } from '../../agent/transport/a2a/route.ts'
import { CALL_MS_MAX } from '../../agent/settlement/rpc/time-limits.ts'
import { CALLS_MAX } from '../../agent/transport/call-limits.ts'
import { header, signedPayment } from '../support/payments.ts'
import { codeOf, expectNoLeak, expectRefusal, type RawReply } from '../support/raw-http.ts'
import { messageBody, requestOverTransports } from '../support/transports.ts'
import { startScriptedApp, type ScriptedApp } from './scripted-app.ts'

const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }
const SECRET = 'a secret of the store'

let app: ScriptedApp
beforeEach(async () => {
  app = await startScriptedApp()
})
afterEach(() => app.stop())

const { get, a2a, mcp } = requestOverTransports(() => app)

const signPayments = (count: number) =>
  Promise.all(Array.from({ length: count }, async () => header(await signedPayment())))

/** Requests that hanging sales do not delay, with their answers. */
const FREE: Record<string, [ask: () => Promise<RawReply>, text: string][]> = {
  A2A: [
    [() => a2a(messageBody({ parts: [{ text: 'hello' }] })), '"messageId":"help-'],
    [() => a2a(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'GetTask', params: { id: 't' } })), '-32001'],
  ],
  MCP: [[() => mcp({ operation: 'service_info', input: {} }), '"attribution"']],
}

for (const [transport, rule, ask] of [
  ['A2A', '4.5.10', a2a],
  ['MCP', '4.6.6', mcp],
] as const) {
  describe(`[${rule}] ${transport} under load`, () => {
    const buy = (payment?: string) => ask(LOOKUP, payment)

    it('answers 502 after 65 s; a retry with the same payment gets the stored response', async () => {
      const { clock, sale } = app
      const settlement = sale.block('settle')
      const [payment] = await signPayments(1)
      const first = buy(payment)
      await settlement.arrived(1)
      expect(CALL_MS_MAX).to.equal(65_000)
      clock.pass(CALL_MS_MAX - 1)
      expect(clock.times()).to.deep.equal([CALL_MS_MAX])
      clock.pass(CALL_MS_MAX)
      expect(codeOf(await first)).to.equal('gateway_unavailable')
      // The sale is still running. A retry waits for it and does not sell again.
      const second = buy(payment)
      while (clock.times().length === 0) await new Promise(setImmediate)
      clock.pass(CALL_MS_MAX)
      expect(codeOf(await second)).to.equal('gateway_unavailable')
      settlement.release()
      expect(codeOf(await buy(payment))).to.equal('answer')
      expect(sale.count('settle')).to.equal(1)
      expect(clock.times()).to.deep.equal([])
    })

    it(`settles ${CALLS_MAX} payments at once; the next one waits, and is not sold after the end of its call`, async () => {
      const settlement = app.sale.block('settle')
      const [surplus, ...payments] = await signPayments(CALLS_MAX + 1)
      const calls = payments.map(buy)
      await settlement.arrived(CALLS_MAX)
      calls.push(buy(surplus))
      while (app.clock.times().length < calls.length) await new Promise(setImmediate)
      app.clock.pass(CALL_MS_MAX)
      for (const reply of await Promise.all(calls)) expect(codeOf(reply)).to.equal('gateway_unavailable')
      expect(app.sale.count('settle')).to.equal(CALLS_MAX)
      const retry = buy(surplus)
      settlement.release()
      for (const payment of payments) expect(codeOf(await buy(payment))).to.equal('answer')
      expect(codeOf(await retry)).to.equal('answer')
      expect(app.sale.count('settle')).to.equal(CALLS_MAX + 1)
    })

    it(`answers quotes, free requests and replays while ${CALLS_MAX} settlements hang`, async () => {
      const [bought, ...others] = await signPayments(CALLS_MAX + 1)
      const first = await buy(bought)
      const settlement = app.sale.block('settle')
      const calls = others.map(buy)
      await settlement.arrived(CALLS_MAX)
      expect(codeOf(await buy())).to.equal('payment_required')
      for (const [free, text] of FREE[transport]!) expect((await free()).text).to.contain(text)
      expect((await buy(bought)).text).to.equal(first.text)
      settlement.release()
      for (const reply of await Promise.all(calls)) expect(codeOf(reply)).to.equal('answer')
    })
  })
}

it('[4.5.10] A2A sends a result of 1 MiB and answers 502 for a larger one', async () => {
  const ask = (help: string) => {
    app.texts.help = () => help
    return a2a(messageBody({ parts: [{ text: 'hello' }] }))
  }
  const left = RESPONSE_BYTES_MAX - Buffer.byteLength((await ask('')).text)
  const reply = await ask('x'.repeat(left))
  expect([reply.status, Buffer.byteLength(reply.text)]).to.deep.equal([200, 1_048_576])
  for (const help of ['x'.repeat(left + 1), `${'x'.repeat(left - 1)}é`])
    expectRefusal(await ask(help), 'gateway_unavailable')
})

describe('[7.1] code that throws', () => {
  const fail = () => {
    throw new Error(SECRET)
  }

  it('is answered with internal_error without the cause over REST', async () => {
    app.sale.now = fail
    const reply = await get('/api/v1/meta')
    expectRefusal(reply, 'internal_error')
    expectNoLeak(reply, SECRET)
    expect(app.reports).to.deep.equal(['request_failed'])
  })

  it('is answered with internal_error without the cause over MCP', async () => {
    app.sale.context.catalog.retrieval = fail
    const reply = await mcp({ operation: 'service_info', input: {} })
    expect(codeOf(reply)).to.equal('internal_error')
    expectNoLeak(reply, SECRET)
    expect(app.reports).to.deep.equal(['mcp_call_failed'])
  })
})
