/**
 * `GET /testnet-client.py`, downloaded and run as a stranger runs it: it buys from the whole service on a real chain,
 * through a door that loses, delays and forges answers.
 */
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodePaymentRequiredHeader, encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { expect } from 'chai'
import { readPurchase } from '../../agent/client/purchase-file.ts'
import { CompanyAgentExecutor } from '../../agent/executor/agent-executor.ts'
import { DEPLOYMENTS, termsOf } from '../../agent/payments/terms.ts'
import { createApp } from '../../rest-facade/app.ts'
import { testnetClient } from '../../rest-facade/testnet-client.ts'
import { rootFile } from '../support/compile-contracts.ts'
import { python, skipWithoutPython, type Ended } from '../support/python.ts'
import { expectRefusal, send, type RawReply } from '../support/raw-http.ts'
import { TestSeller } from '../support/seller.ts'
import { startTestService, type TestService } from '../support/service.ts'

const PATH = '/testnet-client.py'
const LOOKUP = '/api/v1/company/00000000'
const META = '/api/v1/meta'
const OTHER = '0x00000000000000000000000000000000000000d3'

/** What the door sends instead of the service's answer: an answer, or the connection's end after so many bytes. */
type Forged = { status: number; headers?: Record<string, string | string[]>; body?: string } | { bytes: number }
/** Made of the service's own answer, which has been given by then. */
type Forge = (answer: RawReply) => Forged

describe('the test client on mainnet', () => {
  it('is 404 not_found', async () => {
    const opened = await TestSeller.open()
    const { seller } = opened
    const baseUrl = 'http://127.0.0.1:4021'
    const executor = new CompanyAgentExecutor({ seller, baseUrl, help: 'help' })
    const { catalog } = seller
    const now = () => new Date()
    const terms = termsOf('mainnet', OTHER)
    const facts = { version: '0.1.0', terms, onSale: executor.onSale, rateLimitPerMinute: 120, catalog, now }
    const file = await testnetClient('mainnet', baseUrl)
    const house = { executor, baseUrl, facts, jwks: {}, pages: new Map(), report: () => undefined }
    const server = createServer(createApp({ ...house, testnetClient: file }))
    const port = await listen(server)
    try {
      expectRefusal(await send({ url: `http://127.0.0.1:${port}`, path: PATH }), 'not_found')
    } finally {
      server.close()
      await opened.close()
    }
  })
})

describe('the test client as it is served', () => {
  let service: TestService
  let door: Server
  let url: string
  /** The service's own address, behind the door. */
  let behind: string
  let directory: string
  let file: string
  /** Every payment that came through the door, in order. */
  let payments: string[]
  /** The purchase on disk when the first payment came. */
  let keptBefore: unknown
  /** Every path that came through the door. */
  let paths: string[]
  /** What happens to paid requests, one after another; then nothing. */
  let faults: Forge[]
  /** What happens to every answer without payment. */
  let forgeUnpaid: (path: string, answer: RawReply) => Forged

  before(async function () {
    await skipWithoutPython(this)
    const port = await freePort()
    behind = `http://127.0.0.1:${port}`
    door = createServer((request, response) => {
      const path = request.url ?? ''
      const payment = request.headers['payment-signature']
      void (async () => {
        paths.push(path)
        if (typeof payment === 'string') {
          payments.push(payment)
          const [name = ''] = await purchases()
          keptBefore ??= JSON.parse(await readFile(join(directory, name), 'utf8'))
        }
        const headers = typeof payment === 'string' ? { 'PAYMENT-SIGNATURE': payment } : {}
        const answer = await send({ url: behind, path, headers })
        const forged = payment === undefined ? forgeUnpaid(path, answer) : faults.shift()?.(answer)
        reply(response, answer, forged ?? untouched(answer))
      })()
    })
    url = `http://127.0.0.1:${await listen(door)}`
    service = await startTestService({ environment: { PORT: String(port), BASE_URL: url } })
  })
  after(async () => {
    await service?.stop()
    door?.closeAllConnections()
    door?.close()
  })

  beforeEach(async () => {
    payments = []
    paths = []
    faults = []
    keptBefore = undefined
    forgeUnpaid = (_, answer) => untouched(answer)
    directory = await mkdtemp(join(tmpdir(), 'testnet-client-'))
    file = join(directory, 'testnet-client.py')
    await writeFile(file, (await send({ url: behind, path: PATH })).text)
    await writeFile(join(directory, 'key'), `${service.buyerKey}\n`)
  })
  afterEach(() => rm(directory, { recursive: true }))

  const purchases = async () => (await readdir(directory)).filter((name) => name.startsWith('payment-'))
  const purchase = async () => join(directory, (await purchases())[0] ?? '')

  async function run(...args: string[]): Promise<Ended> {
    const ended = await python([file, ...args], { cwd: directory })
    // A warning would be an error here, and an error that nobody expected is a traceback.
    expect(ended.stderr).to.not.match(/Traceback|Warning/)
    expect(ended.stderr + ended.stdout).to.match(/^[\n\x20-\x7e]*$/)
    expect(ended.stderr + ended.stdout).to.not.contain(service.buyerKey.slice(2))
    return ended
  }
  const buy = () => run('--key-file', 'key')
  const retry = async () => run('--retry', await purchase())

  /** How many times the buyer has been charged while something was done. */
  async function chargesDuring(work: () => Promise<void>): Promise<number> {
    const before = await service.paid()
    await work()
    const { transfers, received } = await service.paid()
    expect(received - before.received).to.equal(BigInt(transfers - before.transfers) * 1000n)
    return transfers - before.transfers
  }

  describe('as a document', () => {
    it('is Python with an ETag, a short time in caches, and 304', async () => {
      const { status, headers, text } = await send({ url: behind, path: PATH })
      expect(status).to.equal(200)
      expect(headers['content-type']).to.equal('text/x-python; charset=utf-8')
      expect(headers['cache-control']).to.equal('public, max-age=60')
      const etag = String(headers['etag'])
      expect(etag).to.match(/^"/)
      const { status: unchanged } = await send({ url: behind, path: PATH, headers: { 'If-None-Match': etag } })
      expect(unchanged).to.equal(304)
      const head = await send({ url: behind, path: PATH, method: 'HEAD' })
      expect(head).to.deep.include({ status: 200, text: '' })
      expect(head.headers['content-length']).to.equal(String(Buffer.byteLength(text)))
      expect((await send({ url: behind, path: PATH, method: 'POST' })).headers['allow']).to.equal('GET, HEAD')
    })

    it('is the file in docs but for the line with the base URL', async () => {
      const served = (await readFile(file, 'utf8')).split('\n')
      const template = (await readFile(rootFile('docs/served/testnet-client.py'), 'utf8')).split('\n')
      const changed = served.filter((line, number) => line !== template[number])
      expect(served.length).to.equal(template.length)
      expect(changed).to.deep.equal([`BASE_URL = "${url}"  # filled in by the service that serves this file`])
    })

    it('parses as Python 3.9, as the template does', async () => {
      const parse =
        'import ast,pathlib,sys; [ast.parse(pathlib.Path(p).read_text(), feature_version=(3, 9)) for p in sys.argv[1:]]'
      const ended = await python(['-c', parse, file, rootFile('docs/served/testnet-client.py')])
      expect(ended).to.deep.equal({ code: 0, stdout: '', stderr: '' })
    })

    it('explains itself, its exit codes too', async () => {
      const help = await run('--help')
      expect(help.code).to.equal(0)
      for (const word of ['--key-file', '--print-quote', '--retry', '--url', url, 'exit codes'])
        expect(help.stdout).to.contain(word)
    })
  })

  it('buys the made-up company, and the payment is on disk, for its owner only, before it is sent', async () => {
    let bought: Ended | undefined
    expect(await chargesDuring(async () => void (bought = await buy()))).to.equal(1)
    expect(bought?.code).to.equal(0)
    const answer = JSON.parse(bought?.stdout ?? '') as { company: { company_number: string } }
    expect(answer.company.company_number).to.equal('00000000')
    expect(bought?.stderr).to.contain(`quote for ${url}${LOOKUP}`)
    expect(bought?.stderr.match(/ ok$/gm)).to.have.lengthOf(9)
    expect(bought?.stderr).to.match(/amount +1000 micro-USDC +ok/)

    expect(paths).to.deep.equal([LOOKUP, META, LOOKUP])
    expect(keptBefore).to.include({ payment: payments[0], answer: null })
    expect((await stat(await purchase())).mode & 0o777).to.equal(0o600)
    const kept = await readPurchase(await purchase())
    expect(JSON.parse(kept.answer?.body ?? '')).to.deep.equal(answer)
    expect(await readdir(directory)).to.have.lengthOf(3)
  })

  it('gets the same bytes again with the same payment, for nothing', async () => {
    await buy()
    const kept = await readFile(await purchase(), 'utf8')
    const charges = await chargesDuring(async () => {
      const again = await retry()
      expect(again.code).to.equal(0)
      expect(again.stderr).to.contain('nothing was charged again')
    })
    expect(charges).to.equal(0)
    expect(payments[1]).to.equal(payments[0])
    expect(await readFile(await purchase(), 'utf8')).to.equal(kept)
  })

  it('sends one payment again after 429, 500, 502, 503 and a cut, and is charged once', async () => {
    const wait = { 'Retry-After': '0' }
    faults = [
      () => ({ status: 429, headers: { 'Retry-After': '1' } }),
      () => ({ status: 500, headers: wait }),
      () => ({ status: 502, headers: wait, body: '<html>\u202E' }),
      () => ({ status: 503, headers: wait, body: refusal('payment_outcome_unknown') }),
      () => ({ bytes: 0 }),
    ]
    const charges = await chargesDuring(async () => {
      const { code, stderr } = await buy()
      expect(code).to.equal(0)
      const waits = [...stderr.matchAll(/again in (\d+) s/g)].map(([, seconds]) => seconds)
      expect(waits).to.deep.equal(['1', '0', '0', '0', '2'])
      expect(stderr).to.contain('HTTP 503 payment_outcome_unknown')
    })
    expect(charges).to.equal(1)
    expect(payments).to.have.lengthOf(6)
    expect(new Set(payments).size).to.equal(1)
    expect(await purchases()).to.have.lengthOf(1)
  })

  it('gives up after six repetitions, and goes on with the same payment on demand', async () => {
    faults = Array.from({ length: 7 }, () => () => ({
      status: 503,
      headers: { 'Retry-After': '0' },
      body: refusal('payment_outcome_unknown'),
    }))
    const charges = await chargesDuring(async () => {
      const open = await buy()
      expect(open).to.include({ code: 4, stdout: '' })
      expect(open.stderr).to.match(
        /sign no other payment; repeat this one with --retry payment-0x[0-9a-f]{64}\.json\n$/,
      )
      expect(open.stderr.match(/again in 0 s/g)).to.have.lengthOf(6)
      expect(payments).to.have.lengthOf(7)
      expect((await retry()).code).to.equal(0)
    })
    expect(charges).to.equal(1)
    expect(new Set(payments).size).to.equal(1)
  })

  it('leaves a long wait to the person', async () => {
    faults = [() => ({ status: 429, headers: { 'Retry-After': '61' }, body: refusal('rate_limited') })]
    const { code, stderr } = await buy()
    expect(code).to.equal(4)
    expect(stderr).to.contain('asks to wait 61 s')
    expect(payments).to.have.lengthOf(1)
  })

  it('follows no redirect, neither for the quote nor with the payment', async () => {
    const away = { status: 307, headers: { Location: '/elsewhere' } }
    faults = [() => away]
    expect((await buy()).code).to.equal(4)
    forgeUnpaid = () => away
    expect((await buy()).code).to.equal(3)
    expect(payments).to.have.lengthOf(1)
    expect(paths).to.not.include('/elsewhere')
  })

  it('ends at a refusal of the service, and at nobody else’s', async () => {
    faults = [() => ({ status: 402, body: refusal('payment_failed\u001B[2J') })]
    const refused = await buy()
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.contain('HTTP 402 payment_failed\\x1b[2J')
    expect(payments).to.have.lengthOf(1)

    faults = [() => ({ status: 404, body: '<h1>Not found</h1>' })]
    expect((await buy()).code).to.equal(4)
    faults = [() => ({ status: 200, body: '{"company":"without a receipt"}' })]
    expect((await buy()).code).to.equal(4)
  })

  it('keeps what was bought when the same payment is later answered otherwise', async () => {
    await buy()
    const kept = await readFile(await purchase(), 'utf8')
    faults = [
      (answer) => ({ ...untouched(answer), body: '{"company":"other"}' }),
      () => ({ status: 402, body: refusal('payment_failed') }),
    ]
    for (const _ of [1, 2]) {
      const { code, stderr } = await retry()
      expect(code).to.equal(5)
      expect(stderr).to.contain('NOT THE ANSWER OF BEFORE')
    }
    expect(await readFile(await purchase(), 'utf8')).to.equal(kept)
  })

  it('prints what it bought with everything but plain ASCII escaped', async () => {
    faults = [(answer) => ({ ...untouched(answer), body: '{"company":"A\u202E\u007F\u009B\u{1F600}"}' })]
    const { code, stdout } = await buy()
    expect(code).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal({ company: 'A\u202E\u007F\u009B\u{1F600}' })
  })

  it('shows the quote for another wallet to sign, and sends nothing', async () => {
    const { code, stdout, stderr } = await run('--print-quote')
    expect(code).to.equal(0)
    const { headers } = await send({ url, path: LOOKUP })
    expect(JSON.parse(stdout)).to.deep.equal(decodePaymentRequiredHeader(String(headers['payment-required'])))
    expect(stderr).to.contain(`chainId 84532, verifyingContract ${DEPLOYMENTS.testnet.asset}`)
    expect(payments).to.deep.equal([])
    expect(await purchases()).to.deep.equal([])
  })

  describe('signs nothing', () => {
    afterEach(async () => {
      expect(payments).to.deep.equal([])
      expect(await purchases()).to.deep.equal([])
    })

    const wrongTerms: [name: string, change: object, differing: string[]][] = [
      ['another receiver', { payTo: OTHER }, ['receiver']],
      ['another amount', { amount: '1001' }, ['amount']],
      ['an amount that is a number', { amount: 1000 }, ['amount']],
      ['another token', { asset: OTHER }, ['asset']],
      ['another scheme', { scheme: 'upto' }, ['scheme']],
      ['another name of the token', { extra: { name: 'USD Coin', version: '2' } }, ['token']],
      ['a quote that has expired', { maxTimeoutSeconds: 0 }, ['expiry']],
      ['a quote without end', { maxTimeoutSeconds: 1e9 }, ['expiry']],
      ['terms of the wrong types', { payTo: 1, amount: null, extra: [] }, ['token', 'receiver', 'amount']],
    ]
    for (const [name, change, differing] of wrongTerms) {
      it(`for ${name}`, async () => {
        forgeUnpaid = onQuote((quote) => ({ ...quote, accepts: [{ ...quote.accepts[0], ...change }] }))
        expect(await differences()).to.deep.equal(differing)
      })
    }

    it('for another resource or host', async () => {
      for (const [named, differing] of [
        [`${url}/api/v1/company/1`, 'resource'],
        [`${url}${LOOKUP}?`, 'resource'],
        [`http://127.0.0.1:1${LOOKUP}`, 'host'],
      ]) {
        forgeUnpaid = onQuote((quote) => ({ ...quote, resource: { url: named } }))
        expect(await differences()).to.deep.equal([differing])
      }
    })

    it('on mainnet, though quote and metadata agree', async () => {
      const { network, asset, domain } = DEPLOYMENTS.mainnet
      const quoted = onQuote((quote) => ({
        ...quote,
        accepts: [{ ...quote.accepts[0], network, asset, extra: domain }],
      }))
      forgeUnpaid = (path, answer) =>
        path === META ? onAccess({ mode: 'mainnet', network, asset })(answer) : quoted(path, answer)
      expect(await differences()).to.deep.equal(['network', 'asset', 'token'])
    })

    it('when the metadata asks for as much as the quote, and both for too much', async () => {
      const quoted = onQuote((quote) => ({ ...quote, accepts: [{ ...quote.accepts[0], amount: '1000001' }] }))
      forgeUnpaid = (path, answer) =>
        path === META ? onAccess({ endpoint_prices: { '/api/v1/company': 1_000_001 } })(answer) : quoted(path, answer)
      expect(await differences()).to.deep.equal(['amount'])
    })

    it('for what is not a quote, or not metadata', async () => {
      const forged: [path: string, forged: Forged][] = [
        [LOOKUP, { status: 402, headers: { 'PAYMENT-REQUIRED': ['e30=', 'e30='] } }],
        [LOOKUP, { status: 429, headers: { 'Retry-After': '5' }, body: refusal('rate_limited') }],
        [LOOKUP, { bytes: 10 }],
        [META, { status: 200, body: ' '.repeat(1024 * 1024 + 1) }],
      ]
      for (const [wrong, each] of forged) {
        forgeUnpaid = (path, answer) => (path === wrong ? each : untouched(answer))
        expect((await buy()).code, JSON.stringify(each).slice(0, 80)).to.equal(3)
      }
    })

    it('without a key, or with something else in its file, which it does not show', async () => {
      await writeFile(join(directory, 'other'), `0x${'00'.repeat(32)}`)
      for (const path of ['testnet-client.py', 'other']) {
        const { code, stderr } = await run('--key-file', path)
        expect(code).to.equal(3)
        expect(stderr).to.equal(`${path} is not a file with a private key (0x and 64 hex digits)\n`)
      }
      expect(paths).to.deep.equal([])
    })

    it('when told nothing, too much, or an address that is none', async () => {
      const wrong = [
        [],
        ['--key-file', 'key', '--print-quote'],
        ['--retry', 'x', '--url', url],
        ['--print-quote', '--url', `${url}/path`],
      ]
      for (const args of wrong) expect((await run(...args)).code, args.join(' ')).to.equal(2)
      await writeFile(join(directory, 'not-a-purchase'), '{"request":{"url":"http://127.0.0.1:1"}}')
      expect((await run('--retry', 'not-a-purchase')).code).to.equal(3)
      expect(paths).to.deep.equal([])
    })

    it('when nobody answers', async () => {
      const { code, stderr } = await run('--key-file', 'key', '--url', `http://127.0.0.1:${await freePort()}`)
      expect(code).to.equal(3)
      expect(stderr).to.contain('ConnectionRefusedError')
    })

    /** What the client says differs, having refused. */
    async function differences(): Promise<string[]> {
      const { code, stderr } = await buy()
      expect(code).to.equal(3)
      return [...stderr.matchAll(/^ {2}(\w+) .*DIFFERS/gm)].map(([, name]) => name ?? '')
    }
  })
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

function untouched({ status, headers, text }: RawReply) {
  const names = ['content-type', 'cache-control', 'etag', 'allow', 'payment-required', 'payment-response']
  const kept = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]))
  return { status, headers: Object.fromEntries(kept) as Record<string, string>, body: text }
}

function reply(response: ServerResponse, answer: RawReply, forged: Forged): void {
  if (!('bytes' in forged)) {
    const { status, headers = {}, body = '' } = forged
    const isEmpty = response.req.method === 'HEAD' || status === 304
    const length = isEmpty ? answer.headers['content-length'] : Buffer.byteLength(body)
    return void response.writeHead(status, { ...headers, ...(length && { 'Content-Length': length }) }).end(body)
  }
  if (forged.bytes === 0) return void response.socket?.destroy()
  const { status, headers, body } = untouched(answer)
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
  response.write(body.slice(0, forged.bytes), () => response.socket?.end())
}

function onQuote(change: (quote: PaymentRequired) => object) {
  return (path: string, answer: RawReply): Forged => {
    const forged = untouched(answer)
    if (path !== LOOKUP) return forged
    const quote = decodePaymentRequiredHeader(String(answer.headers['payment-required']))
    const header = encodePaymentRequiredHeader(change(quote) as PaymentRequired)
    return { ...forged, headers: { ...forged.headers, 'payment-required': header } }
  }
}

function onAccess(change: object) {
  return (answer: RawReply): Forged => {
    const access = { ...(answer.json['access'] as object), ...change }
    return { status: 200, body: JSON.stringify({ ...answer.json, access }) }
  }
}

function refusal(code: string): string {
  return JSON.stringify({ error: { code, message: 'A sentence.' } })
}
