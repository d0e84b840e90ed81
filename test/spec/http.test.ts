/** What HTTP clients, proxies and browsers rely on, on every route: headers, paths, and a stop of the service. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { A2A_PATH, FREE_PATHS, TESTNET_PATHS } from '../../agent/operation/endpoints.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { header, signedPayment } from '../support/payments.ts'
import { exchange, expectRefusal, send, type RawReply } from '../support/raw-http.ts'
import { COMPANY, requestOverTransports, RESOLVE, SEARCH } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

const HOST = 'Host: 127.0.0.1\r\n'
const LAST = `${HOST}Connection: close\r\n`

/** Requests that get every kind of answer, with its status. */
const REQUESTS: [status: number, request: string][] = [
  [200, `GET /api/v1/meta HTTP/1.1\r\n${LAST}\r\n`],
  [200, `GET /docs HTTP/1.1\r\n${LAST}\r\n`],
  [200, `HEAD /openapi.json HTTP/1.1\r\n${LAST}\r\n`],
  [200, `GET /.well-known/agent-card.json HTTP/1.1\r\n${LAST}\r\n`],
  [200, `POST /a2a HTTP/1.1\r\n${LAST}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{`],
  [204, `OPTIONS /docs HTTP/1.1\r\n${LAST}\r\n`],
  [400, `GET /api/v1/company/none HTTP/1.1\r\n${LAST}\r\n`],
  [400, `nonsense\r\n\r\n`],
  [400, `HEAD /docs HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n`],
  [400, `POST /docs HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip\r\n\r\n`],
  [402, `GET /api/v1/company/1 HTTP/1.1\r\n${LAST}\r\n`],
  [404, `GET /nowhere HTTP/1.1\r\n${LAST}\r\n`],
  [405, `PUT /docs HTTP/1.1\r\n${LAST}\r\n`],
  [405, `CONNECT a:1 HTTP/1.1\r\n${LAST}\r\n`],
  [413, `POST /api/v1/resolve HTTP/1.1\r\n${LAST}Content-Length: 5000\r\n\r\n`],
  [431, `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`],
]

describe('the headers of every answer', () => {
  for (const [scheme, policy] of [
    ['https', 'max-age=31536000'],
    ['http', undefined],
  ] as const) {
    describe(`with an ${scheme} BASE_URL`, () => {
      const environment = { BASE_URL: `${scheme}://companies.example` }
      const { service } = useService(() => startFakedService({ environment }))

      for (const [status, request] of REQUESTS) {
        it(`[7.8] restrict browsers: ${status} to ${request.slice(0, 40).split(' HTTP')[0]}`, async () => {
          const [head = '', body] = (await exchange(service.url, request)).split('\r\n\r\n')
          if (request.startsWith('HEAD')) expect(body).to.equal('')
          const [first = '', ...lines] = head.split('\r\n')
          expect(first).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
          const headers = new Map(
            lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.replace(/^[^:]*: /, '')]),
          )
          expect(headers.size).to.equal(lines.length)
          expect(Date.parse(headers.get('date') ?? '')).to.be.closeTo(Date.now(), 60_000)
          expect(headers.get('content-security-policy')).to.match(/^default-src 'none';.* frame-ancestors 'none'$/)
          expect(headers.get('x-content-type-options')).to.equal('nosniff')
          expect(headers.get('access-control-allow-origin')).to.equal('*')
          expect(headers.get('strict-transport-security')).to.equal(policy)
        })
      }
    })
  }
})

describe('the paths', () => {
  const { service, get } = useService(() => startFakedService())
  /** A payment that names the URL as its resource, as stock clients do. */
  async function payFor({ headers }: RawReply, url: string): Promise<string> {
    const [requirements] = decodePaymentRequiredHeader(String(headers['payment-required'])).accepts
    return header({ ...(await signedPayment({ requirements: requirements! })), resource: { url } })
  }
  const body = { method: 'POST', headers: { 'Content-Type': 'application/json' } }
  const ROUTES: [path: string, query: string, change: Parameters<typeof get>[2]][] = [
    [`${COMPANY}/73848`, '', {}],
    [SEARCH, '?q=abc', {}],
    [RESOLVE, '', { ...body, body: '{"company_number":"73848"}' }],
    [A2A_PATH, '', { ...body, body: '{' }],
    // The path of the index has no name before the slash.
    ...Object.values(FREE_PATHS)
      .filter((path) => path !== FREE_PATHS.index)
      .map((path): [string, string, object] => [path, '', {}]),
    ...Object.values(TESTNET_PATHS).map((path): [string, string, object] => {
      return [path, path === TESTNET_PATHS.reputation ? `?client=0x${'a'.repeat(40)}` : '', {}]
    }),
  ]

  for (const [path, query, change] of ROUTES) {
    it(`[4.7.1] accept one trailing slash and not two: ${path}`, async () => {
      const [exact, slash, two] = await Promise.all(
        ['', '/', '//'].map((end) => get(`${path}${end}${query}`, undefined, change)),
      )
      expect(exact?.status).to.be.oneOf([200, 402])
      expect([slash?.status, slash?.text]).to.deep.equal([exact?.status, exact?.text])
      expectRefusal(two!, 'not_found')
    })
  }

  it('[4.7.1, 5.1.2] name the resource without the slash in a quote, and sell one stored answer for both', async () => {
    for (const [path, query, change] of ROUTES.slice(0, 3)) {
      const quoted = await get(`${path}/${query}`, undefined, change)
      const { resource } = decodePaymentRequiredHeader(String(quoted.headers['payment-required']))
      expect(resource.url).to.equal(service.url + path + query)
      const payment = await payFor(quoted, resource.url)
      const before = service.counts().settled
      const bought = await get(`${path}/${query}`, payment, change)
      expect(bought.status).to.equal(200)
      expect((await get(path + query, payment, change)).text).to.equal(bought.text)
      expect(service.counts().settled).to.equal(before + 1)
    }
  })

  it('[4.7.1, 5.3.2] compare the resource of a payment without its slash', async () => {
    const quote = await get(`${COMPANY}/73848`)
    const other = await payFor(quote, `${service.url}${COMPANY}/1004/`)
    expectRefusal(await get(`${COMPANY}/73848`, other), 'payment_invalid')
    const same = await payFor(quote, `${service.url}${COMPANY}/73848/`)
    expect((await get(`${COMPANY}/73848`, same)).status).to.equal(200)
  })

  /** rest.test.ts has those in a company number. */
  const BAD_PERCENT: [target: string, code: string][] = [
    [`${COMPANY}/1/%`, 'malformed_request'],
    [`${SEARCH}%?q=abc`, 'malformed_request'],
    ['/api/v1/reputation?client=%zz', 'invalid_query'],
    ['/agent.json?%', 'invalid_query'],
    ...['/%', '/%zz', '/docs%', '/docs?%', '/api/v1/meta?a=%2', '/openapi.json/%', '/.well-known/%1'].map(
      (target): [string, string] => [target, 'malformed_request'],
    ),
  ]
  for (const [target, code] of BAD_PERCENT) {
    it(`[4.7.2] answer 400 to an invalid percent sign: ${target}`, async () => {
      const { status, headers, json } = await send({ url: service.url, path: target })
      expect([status, headers['content-type']]).to.deep.equal([400, 'application/json; charset=utf-8'])
      expect(json).to.have.all.keys('error')
      expect(json['error']).to.have.all.keys('code', 'message', 'charged', 'next').and.have.property('code', code)
    })
  }
})

describe('a stop of the service', () => {
  it('[14.4] finishes sales in progress and begins no other', async () => {
    let settle: () => void = () => undefined
    const settling = new Promise<void>((resolve) => void (settle = resolve))
    let began: () => void = () => undefined
    const begun = new Promise<void>((resolve) => void (began = resolve))
    let isHeld = false
    const service = await startFakedService({
      beforeSettlement: async () => {
        if (!isHeld) return
        began()
        await settling
      },
    })
    const { resolve } = requestOverTransports(() => service)
    const ask = (payment?: string) => resolve({ company_number: '73848' }, payment)
    const quote = String((await ask()).headers['payment-required'])
    const [bought, selling, late] = [await service.pay(quote), await service.pay(quote), await service.pay(quote)]
    const first = await ask(bought)
    isHeld = true
    const sale = ask(selling)
    await begun

    // A request without its body keeps its connection open during the stop.
    const input = '{"company_number":"73848"}'
    const requests = [
      openRequest(service, { path: RESOLVE, payment: late, body: input }),
      openRequest(service, { path: RESOLVE, body: input }),
      openRequest(service, { path: RESOLVE, payment: bought, body: input }),
      openRequest(service, { path: A2A_PATH, body: '{' }),
    ]
    const open = await Promise.all(requests)
    const stopped = service.stop()
    const answers: string[] = []
    for (const each of open) answers.push(await each())

    for (const answer of answers) expect(answer).to.match(/\r\nConnection: close\r\n/)
    for (const answer of answers.slice(0, 2)) {
      expect(answer).to.match(/^HTTP\/1\.1 503 /)
      expect(answer).to.match(/\r\nRetry-After: [1-9][0-9]*\r\n/)
      expect(answer).to.include('"code":"overloaded"')
    }
    expect(answers[2]?.endsWith(first.text)).to.equal(true)
    expect(answers[3]).to.match(/^HTTP\/1\.1 200 /)
    settle()
    expect((await sale).status).to.equal(200)
    expect((await sale).headers['connection']).to.equal('close')
    await stopped
    expect(service.counts()).to.deep.equal({ settled: 2, recorded: 2 })
  })
})

/**
 * Sends a request without its body, after another one, whose answer shows that the service has read both. The result
 * sends the body and resolves with the answer, after which the service has closed the connection.
 */
async function openRequest(
  { url }: FakedService,
  { path, payment, body }: { path: string; payment?: string; body: string },
): Promise<() => Promise<string>> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  let heard = ''
  socket.on('data', (bytes: Buffer) => void (heard += bytes.toString('latin1')))
  const signed = payment === undefined ? '' : `PAYMENT-SIGNATURE: ${payment}\r\n`
  const headers = `${HOST}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${signed}`
  socket.write(`GET /robots.txt HTTP/1.1\r\n${HOST}\r\nPOST ${path} HTTP/1.1\r\n${headers}\r\n`)
  while (!heard.includes('\r\n\r\n')) await once(socket, 'data')
  return async () => {
    const closed = once(socket, 'close')
    socket.write(body)
    await closed
    return heard.slice(heard.lastIndexOf('HTTP/1.1 '))
  }
}
