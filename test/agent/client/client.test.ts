/** The buyer's side: what it refuses to sign, what it writes before it sends, and how it repeats without signing again. */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { encodePaymentRequiredHeader, encodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import { signQuote } from '../../../agent/client/buy.ts'
import { clientCommand } from '../../../agent/client/command.ts'
import { readPurchase } from '../../../agent/client/purchase-file.ts'
import { checkQuote, readQuote, type Access } from '../../../agent/client/quote.ts'
import type { Operation } from '../../../agent/operation/schema.ts'
import { requirementsOf } from '../../../agent/payments/terms.ts'
import { testTerms } from '../../support/payments.ts'

const BASE = 'http://127.0.0.1:4021'
const RESOURCE = { url: `${BASE}/api/v1/company/1` }
const OTHER = '0x00000000000000000000000000000000000000d3'
const KEY = `0x${'42'.repeat(32)}` as const

const access: Access = {
  network: testTerms.network,
  asset: testTerms.asset,
  pay_to: testTerms.payTo,
  endpoint_prices: { '/api/v1/company': 1000, '/api/v1/search': 1000, '/api/v1/resolve': 2000 },
}

const LOOKUP: Operation = { operation: 'lookup', input: { company_number: '1' } }
const SEARCH: Operation = { operation: 'search', input: { q: 'foo & bar', limit: 5 } }
const RESOLVE: Operation = { operation: 'resolve', input: { name: 'foo' } }

type Quote = Parameters<typeof encodePaymentRequiredHeader>[0]

const quote = (change: object = {}, resource = RESOURCE): Quote => ({
  x402Version: 2,
  resource,
  accepts: [{ ...requirementsOf(testTerms, 'lookup'), ...change }],
})

describe('the check of a quote', () => {
  const failing = (made: Quote, operation: Operation = LOOKUP) =>
    checkQuote(readQuote(encodePaymentRequiredHeader(made)), { baseUrl: BASE, operation, access })
      .filter(({ holds }) => !holds)
      .map(({ name }) => name)

  it('holds for what the service publishes, in any spelling of its addresses', () => {
    expect(failing(quote())).to.deep.equal([])
    expect(failing(quote({ asset: testTerms.asset.toLowerCase() }))).to.deep.equal([])
  })

  const WRONG: [name: string, made: Quote][] = [
    ['host', quote({}, { url: 'http://127.0.0.1:4022/api/v1/company/1' })],
    ['resource', quote({}, { url: `${BASE}/api/v1/company/2` })],
    ['network', quote({ network: 'eip155:8453' })],
    ['asset', quote({ asset: OTHER })],
    ['receiver', quote({ payTo: OTHER })],
    ['amount', quote({ amount: '1001' })],
    ['expiry', quote({ maxTimeoutSeconds: 601 })],
  ]
  for (const [name, made] of WRONG) it(`names a wrong ${name}`, () => expect(failing(made)).to.deep.equal([name]))

  it('is for the operation that was asked for, at its own price', () => {
    const search = { url: `${BASE}/api/v1/search?q=foo%20%26%20bar&limit=5` }
    const resolve = { url: `${BASE}/api/v1/resolve` }
    expect(failing(quote({}, search), SEARCH)).to.deep.equal([])
    expect(failing(quote({ amount: '2000' }, resolve), RESOLVE)).to.deep.equal([])
    expect(failing(quote({ amount: '2000' }, resolve))).to.deep.equal(['resource', 'amount'])
    expect(failing(quote({}, resolve), RESOLVE)).to.deep.equal(['amount'])
    expect(failing(quote({}, { url: `${BASE}/api/v1/search?q=foo%20` }), SEARCH)).to.deep.equal(['resource'])
    expect(failing(quote({}, { url: `${BASE}/elsewhere` }))).to.deep.equal(['resource'])
    expect(failing(quote({}, { url: 'nonsense' }))).to.deep.equal(['host', 'resource'])
  })

  it('reads nothing but an x402 v2 quote', () => {
    for (const header of ['', 'e30=', '%%%', Buffer.from('{"x402Version":1}').toString('base64')]) {
      expect(() => readQuote(header)).to.throw()
    }
  })
})

describe('the signature of a quote', () => {
  it('is for the way to pay that was checked, and for none of the others', async () => {
    const [checked] = quote().accepts
    const [other] = quote({ payTo: OTHER, amount: '999999' }).accepts
    const several = { ...quote(), accepts: [{ ...checked, scheme: 'upto' }, other] } as Quote
    const signed = await signQuote(readQuote(encodePaymentRequiredHeader(several)), KEY).catch(() => undefined)
    expect(signed).to.equal(undefined)
  })
})

describe('the client', () => {
  let directory: string
  let server: Server
  let url: string
  let requests: { payment: string | undefined; method: string | undefined; url: string | undefined; body: string }[]
  let answers: ((url: string) => { status: number; headers?: Record<string, string>; body?: unknown } | 'cut')[]
  let printed: string[]
  let slept: number[]
  /** What the quotes ask that a lookup's does not. */
  let terms: object
  /** What was on disk when the first paid request arrived. */
  let keptBefore: string | undefined

  const receipt = encodePaymentResponseHeader({
    success: true,
    transaction: `0x${'ab'.repeat(32)}`,
    network: 'eip155:84532',
  })
  const paid = () => ({ status: 200, headers: { 'PAYMENT-RESPONSE': receipt }, body: { company: 'A\u202EB\uFE0F' } })
  const unknown = () => ({ status: 503, headers: { 'Retry-After': '7' }, body: { error: {} } })

  const listener: RequestListener = (request, response) => {
    if (request.url === '/api/v1/meta') return void response.end(JSON.stringify({ access }))
    const payment = request.headers['payment-signature'] as string | undefined
    void (async () => {
      const { method } = request
      requests.push({ payment, method, url: request.url, body: await text(request) })
      if (payment !== undefined && keptBefore === undefined) keptBefore = await newestPurchase()
      const answer = payment === undefined ? 'quote' : (answers.shift() ?? paid)(url)
      if (answer === 'cut') return void request.socket.destroy()
      const {
        status,
        headers = {},
        body = {},
      } = answer === 'quote'
        ? {
            status: 402,
            headers: { 'PAYMENT-REQUIRED': encodePaymentRequiredHeader(quote(terms, { url: `${url}${request.url}` })) },
          }
        : answer
      response.writeHead(status, headers).end(JSON.stringify(body))
    })()
  }

  async function newestPurchase(): Promise<string> {
    const [, path = ''] = /payment kept in (\S+)/.exec(printed.join('\n')) ?? []
    return readFile(path, 'utf8')
  }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'client-'))
    requests = []
    answers = []
    terms = {}
    printed = []
    slept = []
    keptBefore = undefined
    server = createServer(listener)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    server.close()
    await rm(directory, { recursive: true })
  })

  async function client(...args: string[]): Promise<number> {
    const keyFile = join(directory, 'key')
    const { writeFile } = await import('node:fs/promises')
    await writeFile(keyFile, `${KEY}\n`)
    return clientCommand({
      args,
      print: (line) => void printed.push(line),
      now: () => new Date(),
      fetch,
      sleep: async (milliseconds) => void slept.push(milliseconds),
      defaultUrl: url,
      defaultKeyFile: keyFile,
      purchasesDirectory: join(directory, 'purchases'),
    })
  }

  const paymentsSent = () => requests.flatMap(({ payment }) => payment ?? [])
  const purchasePath = () => /payment kept in (\S+)/.exec(printed.join('\n'))?.[1] ?? ''

  it('has the payment on disk, for its owner only, before it is sent', async () => {
    expect(await client('lookup', '1')).to.equal(0)
    const kept = JSON.parse(keptBefore ?? '{}') as { payment: string; answer: unknown }
    expect(kept).to.deep.include({ payment: paymentsSent()[0], answer: null })
    expect((await stat(purchasePath())).mode & 0o777).to.equal(0o600)
    expect(await readPurchase(purchasePath())).to.deep.include({
      answer: { status: 200, body: '{"company":"A\u202EB\uFE0F"}', payment_response: receipt },
    })
  })

  it('repeats the same payment after 429, 500, 502, 503 and a cut connection, and waits as it is told', async () => {
    answers = [() => ({ status: 429, headers: { 'Retry-After': '3' } }), () => ({ status: 502 }), unknown, () => 'cut']
    answers.push(() => ({ status: 500 }))
    expect(await client('lookup', '1')).to.equal(0)
    expect(paymentsSent()).to.have.lengthOf(6)
    expect(new Set(paymentsSent()).size).to.equal(1)
    expect(slept).to.deep.equal([3000, 2000, 7000, 2000, 2000])
  })

  it('gives up after a while with the payment kept, and takes it up again on demand', async () => {
    answers = Array.from({ length: 7 }, () => unknown)
    expect(await client('lookup', '1')).to.equal(1)
    expect(paymentsSent()).to.have.lengthOf(7)
    expect(await client('--retry', purchasePath())).to.equal(0)
    expect(new Set(paymentsSent()).size).to.equal(1)
    expect(await client('--retry', purchasePath())).to.equal(0)
    expect(printed.at(-1)).to.contain('nothing was charged again')
  })

  it('says so when a repeated purchase gets another answer', async () => {
    await client('lookup', '1')
    answers = [() => ({ ...paid(), body: { company: 'other' } })]
    expect(await client('--retry', purchasePath())).to.equal(1)
    expect(printed.at(-1)).to.contain('DIFFERS')
  })

  it('keeps what was bought when a later repetition is refused or answered otherwise', async () => {
    await client('lookup', '1')
    const bought = await readPurchase(purchasePath())
    answers = [() => ({ status: 402, body: {} }), () => ({ ...paid(), body: { company: 'other' } })]
    expect(await client('--retry', purchasePath())).to.equal(1)
    expect(await client('--retry', purchasePath())).to.equal(1)
    expect(await readPurchase(purchasePath())).to.deep.equal(bought)
  })

  it('does not repeat, and does not sign again, after a refusal', async () => {
    for (const status of [400, 402, 404, 409]) {
      requests = []
      answers = [() => ({ status, body: { error: { code: 'x', message: 'y' } } })]
      expect(await client('lookup', '1')).to.equal(1)
      expect(paymentsSent()).to.have.lengthOf(1)
    }
  })

  it('signs nothing when the quote differs from what is published', async () => {
    const published = access.pay_to
    access.pay_to = OTHER
    try {
      expect(await client('lookup', '1')).to.equal(1)
      expect(printed.join('\n')).to.match(/receiver .* DIFFERS/)
      expect(paymentsSent()).to.deep.equal([])
    } finally {
      access.pay_to = published
    }
  })

  it('writes out what is not visible in an answer', async () => {
    await client('lookup', '1')
    expect(printed.join('\n')).to.contain('A\\u{202e}B\\u{fe0f}')
  })

  it('says whether a refusal has cost anything, and what to do', async () => {
    answers = [() => ({ status: 404, body: { error: { code: 'company_not_found', message: 'x' } } })]
    expect(await client('lookup', '1')).to.equal(1)
    expect(printed.at(-1)).to.match(/^charged: no\. /)
    answers = [() => ({ status: 404, body: { error: { code: 'constructor', message: 'x' } } })]
    expect(await client('lookup', '1')).to.equal(1)
    expect(printed.at(-1)).to.not.match(/charged/)
  })

  it('searches with what it is told, in the URL', async () => {
    const args = ['--limit', '3', '--status', 'Normal', '--eircode', 'd02 x285']
    expect(await client('search', ' Foo & Bar', ...args)).to.equal(0)
    const path = '/api/v1/search?q=Foo%20%26%20Bar&limit=3&status=Normal&eircode=D02X285'
    expect(requests.map(({ method, url: asked, body }) => [method, asked, body])).to.deep.equal([
      ['GET', path, ''],
      ['GET', path, ''],
    ])
    expect(await client('--retry', purchasePath())).to.equal(0)
    expect(requests[2]).to.deep.equal(requests[1])
  })

  it('resolves with what it is told, in a body of the same bytes each time', async () => {
    terms = { amount: '2000' }
    const args = ['--number', '007', '--eircode', 'D02X285', '--address', 'Main  Street']
    expect(await client('resolve', 'Foo', ...args)).to.equal(0)
    const body = '{"name":"Foo","company_number":"007","eircode":"D02X285","address":"Main Street"}'
    expect(await client('--retry', purchasePath())).to.equal(0)
    expect(requests.map((request) => [request.method, request.url, request.body])).to.deep.equal(
      Array.from({ length: 3 }, () => ['POST', '/api/v1/resolve', body]),
    )
    requests = []
    expect(await client('resolve', '--number', '7')).to.equal(0)
    expect(requests[0]).to.include({ body: '{"company_number":"7"}' })
  })

  it('says which field is wrong, and asks nobody', async () => {
    const wrong: [args: string[], line: string][] = [
      [['search', 'ab'], 'q must have 3 to 160 characters after normalisation'],
      [['search', 'foo', '--limit', '0'], 'limit must be a whole number from 1 to 10'],
      [['search', 'foo', '--limit', '+1'], 'limit must be a whole number from 1 to 10'],
      [['search', 'foo', '--limit', ''], 'limit must be a whole number from 1 to 10'],
      [['resolve'], 'the request: name or company_number is required'],
      [['resolve', '--address', 'Main Street'], 'the request: name or company_number is required'],
      [['resolve', 'foo', '--number', 'x'], 'company_number must be 1 to 20 ASCII digits'],
      [['lookup', 'abc'], 'company_number must be 1 to 20 ASCII digits'],
    ]
    for (const [args, line] of wrong) {
      expect(await client(...args), args.join(' ')).to.equal(1)
      expect(printed.at(-1)).to.equal(line)
    }
    expect(requests).to.deep.equal([])
  })

  it('says where nobody answers', async () => {
    await new Promise<void>((resolve) => void server.close(() => resolve()))
    for (const args of [['lookup', '1'], ['verify-card']]) {
      const said = await client(...args).catch((cause: unknown) => (cause instanceof Error ? cause.message : ''))
      expect(said).to.equal(`${url} can't be reached: is the service running there?`)
    }
  })

  it('explains itself', async () => {
    for (const args of [
      [],
      ['lookup'],
      ['lookup', '1', '2'],
      ['--nonsense'],
      ['search'],
      ['search', 'foo', 'bar'],
      ['search', 'foo', '--number', '1'],
      ['resolve', 'foo', 'bar'],
      ['resolve', 'foo', '--limit', '1'],
      ['lookup', '1', '--eircode', 'D02X285'],
      ['lookup', '1', '--retry'],
      ['lookup', '1', '--retry', 'FILE'],
      ['--retry', 'FILE', '--limit', '1'],
      ['--retry', 'FILE', '--a2a'],
      ['--retry', 'FILE', '--key-file', 'KEY'],
      ['--retry', 'FILE', '--url', BASE],
      ['verify-card', 'foo'],
    ]) {
      printed = []
      expect(await client(...args), args.join(' ')).to.equal(2)
      expect(printed.join('\n')).to.match(/^usage:/)
    }
    expect(requests).to.deep.equal([])
  })
})
