/** The id of a request: in every answer, whatever the transport, and in the log lines of the request. */
import { expect } from 'chai'
import { REQUEST_ID_CHARACTERS_MAX } from '../../agent/transport/http/request.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { startFakedService } from '../support/faked-service.ts'
import { exchange, type RawReply } from '../support/raw-http.ts'
import { buyOverTransports } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'
import { openIdentities } from '../support/records.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const HOST = 'Host: 127.0.0.1\r\n'
/** The example of a lookup in the register of the tests. */
const NUMBER = '73848'

describe('the request id', () => {
  const { service, get, lookup, search, a2a, mcp, payFor } = useService(() => startFakedService())
  const idOf = ({ headers }: RawReply) => String(headers['x-request-id'])
  const withId = (id: string | string[]) => ({ headers: { 'X-Request-Id': id } })

  const longest = 'a'.repeat(REQUEST_ID_CHARACTERS_MAX)
  const KEPT = ['a', 'A-z_0.9~', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', longest]
  for (const id of KEPT) {
    it(`[7.11] is kept: ${id.slice(0, 20)}, ${id.length} characters`, async () => {
      for (const path of ['/api/v1/meta', `/api/v1/company/${NUMBER}`, '/nowhere'])
        expect(idOf(await get(path, undefined, withId(id)))).to.equal(id)
    })
  }

  const REPLACED: [string, string | string[]][] = [
    ['one character more than allowed', `${longest}a`],
    ['an empty one', ''],
    ['a space', 'a b'],
    ['quotes and braces', '"},{"level":60'],
    ['a tab', 'a\tb'],
    ['a letter outside ASCII', 'caf\u00e9'],
    ['an escape sequence', 'a%0d%0ab'],
    ['two headers', ['a', 'b']],
    ['a list', 'a,b'],
  ]
  for (const [name, id] of REPLACED) {
    it(`[7.11] is replaced by a new one: ${name}`, async () => {
      const ids = [idOf(await get('/attribution', undefined, withId(id)))]
      ids.push(idOf(await get('/attribution', undefined, withId(id))))
      for (const each of ids) expect(each).to.match(UUID)
      expect(ids[0]).not.to.equal(ids[1])
    })
  }

  /** Whole requests whose id is read, although they are refused before a route or break off. */
  const WIRE: [status: number, start: string, rest: string][] = [
    [400, 'GET / HTTP/1.1\r\n', '\r\n'],
    [431, `GET / HTTP/1.1\r\n${HOST}`, `${'X: 1\r\n'.repeat(100)}\r\n`],
    [405, `CONNECT a:1 HTTP/1.1\r\n${HOST}`, '\r\n'],
    [400, `POST /api/v1/resolve HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n`, '\r\nno chunk\r\n'],
  ]
  for (const [status, start, rest] of WIRE) {
    it(`[7.11] is kept in an answer before routing: ${status} to ${start.split(' HTTP')[0]}`, async () => {
      const answer = await exchange(service.url, `${start}X-Request-Id: wire-1\r\n${rest}`)
      expect(answer).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect([...answer.matchAll(/\r\nX-Request-Id: (.*)\r\n/gi)].map(([, id]) => id)).to.deep.equal(['wire-1'])
    })
  }

  it('[7.11] is in answers of A2A and MCP, and in no body', async () => {
    const data = { operation: 'lookup', input: { company_number: NUMBER } }
    const own = (id: string) => ({ 'X-Request-Id': id })
    const broken = { method: 'POST', headers: { 'Content-Type': 'application/json', ...own('over-mcp') }, body: '{' }
    const replies = [
      await a2a(data, undefined, 1, own('over-a2a')),
      await a2a('{', undefined, 1, own('over-a2a')),
      await mcp(data, undefined, own('over-mcp')),
      await get('/mcp', undefined, broken),
    ]
    expect(replies.map(idOf)).to.deep.equal(['over-a2a', 'over-a2a', 'over-mcp', 'over-mcp'])
    for (const { text } of replies) expect(text).not.to.contain('over-')
  })

  it('[7.11] is not stored with an answer: a replay has its own id and the same body', async () => {
    const payment = await payFor(lookup(NUMBER))
    const bought = await lookup(NUMBER, payment, withId('the-sale'))
    const replayed = await lookup(NUMBER, payment, withId('the-replay'))
    expect([bought.status, replayed.status]).to.deep.equal([200, 200])
    expect([idOf(bought), idOf(replayed)]).to.deep.equal(['the-sale', 'the-replay'])
    expect([replayed.text, replayed.headers['payment-response']]).to.deep.equal([
      bought.text,
      bought.headers['payment-response'],
    ])
    const log = new LmdbResponseLog(service.directory, { readOnly: true })
    for (const identity of await openIdentities(log))
      expect(JSON.stringify(await log.read(identity))).not.to.contain('the-sale')
    await log.close()
  })

  describe('in the log', () => {
    beforeEach(() => void service.lines.splice(0))

    it('[14.9] ends a sale with one line, over each transport, which names the payment as `payments show` does', async () => {
      const operation = { operation: 'search', input: { q: 'confidential query' } }
      const payments = await Promise.all([1, 2, 3].map(() => payFor(search('q=confidential%20query'))))
      const replies = [
        await search('q=confidential%20query', payments[0], withId('rest-sale')),
        await a2a(operation, payments[1], 1, { 'X-Request-Id': 'a2a-sale' }),
        await mcp(operation, payments[2], { 'X-Request-Id': 'mcp-sale' }),
      ]
      expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 200])
      const { lines, directory } = service
      expect(lines.map(({ request_id }) => request_id)).to.deep.equal(['rest-sale', 'a2a-sale', 'mcp-sale'])
      const log = new LmdbResponseLog(directory, { readOnly: true })
      for (const { level, time, request_id, payment, durations_ms: durations, ...line } of lines) {
        expect([level, time, request_id]).not.to.include(undefined)
        expect(line).to.deep.equal({ msg: 'sale', operation: 'search', result: 'sold', state: 'settled' })
        const steps = ['chain_observe', 'facilitator_verify', 'log_claim', 'facilitator_settle', 'log_advance', 'total']
        expect(durations).to.include.keys(steps)
        for (const duration of Object.values(durations as object)) expect(duration).to.be.a('number')
        expect((await log.read(String(payment)))?.state).to.equal('settled')
      }
      await log.close()
      const logged = JSON.stringify(lines)
      for (const payment of payments) for (const secret of secretsOf(payment)) expect(logged).not.to.contain(secret)
      expect(logged).not.to.contain('confidential')
    })

    it('[14.9] ends a replay and a refusal with a line that has its reason, and a quote with none', async () => {
      const payment = await payFor(lookup(NUMBER))
      await lookup(NUMBER, payment)
      service.lines.splice(0)
      const replies = [
        await lookup(NUMBER),
        await lookup(NUMBER, payment, withId('again')),
        await lookup(NUMBER, 'bm9uZQ==', withId('unreadable')),
        await search('q=another', payment, withId('guess')),
      ]
      expect(replies.map(({ status }) => status)).to.deep.equal([402, 200, 402, 409])
      const lines = service.lines.map(({ request_id, result, reason, state }) => [request_id, result, reason, state])
      expect(lines).to.deep.equal([
        ['again', 'replayed', undefined, 'settled'],
        ['unreadable', 'refused', 'invalid_payload', undefined],
        ['guess', 'refused', 'payment_replay_conflict', 'settled'],
      ])
    })
  })

  it('[14.9] is in the log lines of failures of concurrent sales, each with its own', async () => {
    const failing = await startFakedService({ beforeSettlement: () => Promise.reject(new Error('down')) })
    try {
      const requests = buyOverTransports(() => failing)
      const payments = await Promise.all(['a', 'b', 'c'].map(() => requests.payFor(requests.lookup(NUMBER))))
      await Promise.all(payments.map((payment, index) => requests.lookup(NUMBER, payment, withId(`sale-${index}`))))
      const unclear = failing.lines.filter(({ msg }) => msg === 'settlement_unclear')
      expect(unclear.map(({ request_id }) => request_id)).to.have.members(['sale-0', 'sale-1', 'sale-2'])
      const sales = failing.lines.filter(({ msg }) => msg === 'sale')
      expect(sales.map(({ request_id, state }) => [request_id, state])).to.have.deep.members(
        [0, 1, 2].map((index) => [`sale-${index}`, 'unknown']),
      )
    } finally {
      await failing.stop()
    }
  })
})

/** The signature of a payment and its encoded form. */
function secretsOf(payment: string): string[] {
  const { payload } = JSON.parse(Buffer.from(payment, 'base64').toString()) as { payload: { signature: string } }
  return [payment, payload.signature, payload.signature.slice(2, 66)]
}
