/**
 * `GET /testnet-client.py`, downloaded and run against the service on a real chain, through a proxy that changes
 * answers.
 */
import { readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { decodePaymentRequiredHeader, decodePaymentSignatureHeader, encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import { expect } from 'chai'
import { fileEntry } from '../../buyer/library/folder-storage.ts'
import { readPurchase } from '../../buyer/library/purchase-file.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { rootFile } from '../programs/compile-contracts.ts'
import { freePort, listen, type ListeningServer } from '../support/listen.ts'
import { runPython, type PythonResult } from '../support/python.ts'
import { send, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { findClientPython, type ClientPython } from '../support/testnet-client.ts'

const PATH = '/testnet-client.py'
const TEMPLATE = rootFile('docs/served/testnet-client.py')
const LOOKUP = '/api/v1/company/00000000'
const KEYS = '/.well-known/jwks.json'
const OTHER = '0x00000000000000000000000000000000000000d3'

/** httpx of Debian 12 imports `cgi`, which Python 3.11 warns of. */
const OLD_HTTPX = ['-W', "ignore:'cgi' is deprecated:DeprecationWarning"]

/** The response of the proxy: an answer, one that ends after some bytes, or one that never ends. */
type ProxyReply = ({ kind: 'answer' } & Answer) | { kind: 'cut'; bytes: number } | { kind: 'slow' }
interface Answer {
  status: number
  headers?: Record<string, string | string[]>
  body?: string
}
/** Called after the service has answered. */
type Fault = (answer: RawReply) => ProxyReply

describe('the test client', () => {
  let service: TestService
  let proxy: ListeningServer
  let url: string
  /** The URL of the service itself. */
  let serviceUrl: string
  let directory: string
  let file: string
  let client: ClientPython
  /** Every payment that the proxy received, in order. */
  let payments: string[]
  /** The purchase file when the proxy received the first payment. */
  let purchaseAtFirstPayment: unknown
  /** Every path that the proxy received. */
  let paths: string[]
  /** The faults of the next paid requests. Later ones get the answer of the service. */
  let faults: Fault[]
  /** Changes the answers to unpaid requests. */
  let changeUnpaid: (path: string, answer: RawReply) => ProxyReply

  before(async function () {
    client = await findClientPython(this)
    serviceUrl = `http://127.0.0.1:${await freePort()}`
    const server = createServer((request, response) => {
      const path = request.url ?? ''
      const payment = request.headers['payment-signature']
      void (async () => {
        paths.push(path)
        if (typeof payment === 'string') {
          payments.push(payment)
          const [name = ''] = await purchases()
          purchaseAtFirstPayment ??= JSON.parse(await readFile(join(directory, name), 'utf8'))
        }
        const headers = typeof payment === 'string' ? { 'PAYMENT-SIGNATURE': payment } : {}
        const answer = await send({ url: serviceUrl, path, headers })
        const changed = payment === undefined ? changeUnpaid(path, answer) : faults.shift()?.(answer)
        sendReply(response, answer, changed ?? unchanged(answer))
      })()
    })
    proxy = await listen(server)
    url = proxy.url
    service = await startTestService({ environment: { PORT: new URL(serviceUrl).port, BASE_URL: url } })
  })
  after(async () => {
    await service?.stop()
    proxy?.close()
  })

  beforeEach(async () => {
    payments = []
    paths = []
    faults = []
    purchaseAtFirstPayment = undefined
    changeUnpaid = (_, answer) => unchanged(answer)
    directory = await makeTemporaryDirectory()
    file = join(directory, 'testnet-client.py')
    await writeFile(file, (await send({ url: serviceUrl, path: PATH })).text)
    await writeFile(join(directory, 'key'), `${service.buyerKey}\n`)
    await client.prepare(directory)
  })

  const purchases = async () => (await readdir(directory)).filter((name) => name.startsWith('payment-'))
  const purchase = async () => join(directory, (await purchases())[0] ?? '')

  async function run(...args: string[]): Promise<PythonResult> {
    const ended = await runPython([...OLD_HTTPX, file, ...args], { cwd: directory, python: client.python })
    // Warnings are errors, and an unexpected error prints a traceback.
    expect(ended.stderr).to.not.match(/Traceback|Warning/)
    expect(ended.stderr + ended.stdout).to.match(/^[\n\x20-\x7e]*$/)
    expect(ended.stderr + ended.stdout).to.not.contain(service.buyerKey.slice(2))
    return ended
  }
  const buy = () => run('--key-file', 'key')
  const retry = async () => run('--retry', await purchase())

  /** The number of charges of the buyer during `work`. */
  async function chargesDuring(work: () => Promise<void>): Promise<number> {
    const before = await service.paid()
    await work()
    const { transfers, received } = await service.paid()
    expect(received - before.received).to.equal(BigInt(transfers - before.transfers) * 1000n)
    return transfers - before.transfers
  }

  it('is served as Python: the template with another base URL', async () => {
    const { headers, text } = await send({ url: serviceUrl, path: PATH })
    expect(headers['content-type']).to.equal('text/x-python; charset=utf-8')
    const template = (await readFile(TEMPLATE, 'utf8')).split('\n')
    const served = text.split('\n')
    expect(served.length).to.equal(template.length)
    const changed = served.filter((line, number) => line !== template[number])
    expect(changed).to.deep.equal([`BASE_URL = "${url}"  # filled in by the service that serves this file`])
  })

  it('is one script of at most 250 lines that names its packages, and explains its exit codes', async () => {
    const script = await readFile(file, 'utf8')
    expect(script.split('\n').length).to.be.at.most(251)
    const [, metadata = ''] = /^# \/\/\/ script\n(.*?)^# \/\/\/$/ms.exec(script) ?? []
    const modules = [...script.matchAll(/^(?:import|from) (httpx|cryptography|eth_account)\b/gm)].map(
      ([, name]) => name,
    )
    expect(new Set(modules).size).to.equal(3)
    for (const name of ['cryptography', 'eth-account', 'httpx']) expect(metadata).to.contain(`"${name}>=`)
    const help = await run('--help')
    expect(help.code).to.equal(0)
    for (const word of ['--key-file', '--retry', '--url', url, 'exit codes']) expect(help.stdout).to.contain(word)
  })

  it('buys the synthetic company, and writes the payment to a private file before it sends it', async () => {
    let bought: PythonResult | undefined
    expect(await chargesDuring(async () => void (bought = await buy()))).to.equal(1)
    expect(bought?.code).to.equal(0)
    const answer = JSON.parse(bought?.stdout ?? '') as { company: { company_number: string } }
    expect(answer.company.company_number).to.equal('00000000')
    expect(bought?.stderr).to.contain('quote: 1000 micro-USDC to 0x')
    expect(paths).to.deep.equal([LOOKUP, LOOKUP, KEYS])
    expect(bought?.stderr).to.contain('the receipt is signed by the service and fits the answer and the payment')
    expect(purchaseAtFirstPayment).to.include({ payment: payments[0], answer: null })
    expect((await stat(await purchase())).mode & 0o777).to.equal(0o600)
    const kept = await readPurchase(fileEntry(await purchase()))
    expect(JSON.parse(kept.answer?.body ?? '')).to.deep.equal(answer)
    expect(await readdir(directory)).to.have.lengthOf(3 + client.files.length)
  })

  it('[14.18] reports a 402 after a payment as a statement of the service, and proposes no second signature', async () => {
    faults = [() => ({ kind: 'answer', status: 402, body: refusal('payment_failed') })]
    const { code, stderr } = await buy()
    expect(code).to.equal(6)
    const { payload } = decodePaymentSignatureHeader(payments[0] ?? '')
    const { validBefore } = (payload as { authorization: { validBefore: string } }).authorization
    const until = new Date((Number(validBefore) + 60) * 1000).toISOString().replace('.000Z', 'Z')
    expect(stderr.trimEnd().split('\n').at(-1)).to.equal(
      `payment_failed: not sold, certain from ${until} on; other purchases are safe meanwhile`,
    )
  })

  it('gets the stored answer again with the same payment, without a charge', async () => {
    await buy()
    const kept = await readFile(await purchase(), 'utf8')
    const charges = await chargesDuring(async () => {
      const again = await retry()
      expect(again.code).to.equal(0)
    })
    expect(charges).to.equal(0)
    expect(payments[1]).to.equal(payments[0])
    expect(await readFile(await purchase(), 'utf8')).to.equal(kept)
  })

  it('repeats one payment after 429, 502, 503, 504 and no complete answer, and is charged once', async () => {
    const wait = { 'Retry-After': '0' }
    faults = [
      () => ({ kind: 'answer', status: 429, headers: { 'Retry-After': '1' } }),
      () => ({ kind: 'answer', status: 502, headers: wait, body: '<html>\u202E' }),
      () => ({ kind: 'answer', status: 503, headers: wait, body: refusal('payment_outcome_unknown') }),
      () => ({ kind: 'answer', status: 504, headers: wait }),
      () => ({ kind: 'cut', bytes: 0 }),
      () => ({ kind: 'answer', status: 200, body: ' '.repeat(1024 * 1024 + 1) }),
    ]
    const charges = await chargesDuring(async () => {
      const { code, stderr } = await buy()
      expect(code).to.equal(0)
      const waits = [...stderr.matchAll(/again in (\d+) s/g)].map(([, seconds]) => seconds)
      expect(waits).to.deep.equal(['1', '0', '0', '0', '2', '2'])
      expect(stderr).to.contain('HTTP 503').and.contain('no answer: ').and.contain('too long or too slow')
    })
    expect(charges).to.equal(1)
    expect(payments).to.have.lengthOf(7)
    expect(new Set(payments).size).to.equal(1)
    expect(await purchases()).to.have.lengthOf(1)
  })

  const ENDS: [fact: string, answer: Answer, code: number, text: string][] = [
    ['a long Retry-After', { status: 429, headers: { 'Retry-After': '61' } }, 4, 'asks to wait 61 s'],
    ['a redirect', { status: 307, headers: { Location: '/elsewhere' } }, 4, 'HTTP 307'],
    ['a refusal', { status: 402, body: refusal('payment_failed\u001B[2J') }, 6, 'payment_failed\\x1b[2J: not sold'],
    ['a settled payment', { status: 409, body: refusal('payment_already_settled') }, 4, 'contact the operator'],
    ['another request', { status: 409, body: refusal('payment_replay_conflict') }, 4, 'contact the operator'],
    ['a page of a proxy', { status: 404, body: '<h1>Not found</h1>' }, 4, 'HTTP 404'],
    ['an answer without a receipt', { status: 200, body: '{"company":"x"}' }, 4, 'HTTP 200'],
  ]
  for (const [fact, answer, code, text] of ENDS) {
    it(`stops at ${fact} with exit code ${code}`, async () => {
      faults = [() => ({ kind: 'answer', ...answer })]
      const ended = await buy()
      expect(ended.code).to.equal(code)
      expect(ended.stderr).to.contain(text)
      if (code === 4) expect(ended.stderr).to.contain('do not sign another payment')
      expect(new Set(payments).size).to.equal(1)
      expect(paths).to.not.include('/elsewhere')
    })
  }

  /** Changes the decoded settlement response of the bought answer. */
  const withResponse =
    (change: (response: Record<string, unknown>) => object): Fault =>
    (answer) => {
      const response = JSON.parse(
        Buffer.from(String(answer.headers['payment-response']), 'base64').toString(),
      ) as object
      const header = Buffer.from(JSON.stringify(change({ ...response }))).toString('base64')
      return { ...unchanged(answer), headers: { 'PAYMENT-RESPONSE': header } }
    }

  it('[5.9.5] reports a receipt that does not fit, and keeps the answer', async () => {
    const transaction = `0x${'ab'.repeat(32)}`
    faults = [withResponse((response) => ({ ...response, transaction }))]
    const other = await buy()
    expect(other.code).to.equal(4)
    expect(other.stderr).to.contain('THE RECEIPT IS WRONG').and.contain('--retry payment-0x')
    expect(JSON.parse(other.stdout)).to.have.nested.property('company.company_number', '00000000')
    expect((await readPurchase(fileEntry(await purchase()))).answer).to.include({ status: 200 })
  })

  it('[5.9.5] reports a key that is compromised, unknown, another one or not readable', async () => {
    const otherKey = (text: string) => {
      const parsed = JSON.parse(text) as { keys: object[] }
      const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      for (const key of parsed.keys) Object.assign(key, publicKey.export({ format: 'jwk' }))
      return JSON.stringify(parsed)
    }
    const compromised = (text: string) => {
      const { keys } = JSON.parse(text) as { keys: { kid: string }[] }
      return JSON.stringify({ keys, compromised: keys.map(({ kid }) => ({ kid, compromised_at: '' })) })
    }
    const cases: [keys: (text: string) => string, text: string][] = [
      [() => '{"keys":[],"compromised":[]}', 'StopIteration'],
      [otherKey, 'InvalidSignature'],
      [compromised, 'marked as compromised'],
      [() => 'no JSON', 'JSONDecodeError'],
    ]
    await buy()
    for (const [change, text] of cases) {
      changeUnpaid = (path, answer) =>
        path === KEYS ? { ...unchanged(answer), body: change(answer.text) } : unchanged(answer)
      const again = await retry()
      expect([again.code, again.stderr.includes(text)], again.stderr).to.deep.equal([4, true])
    }
  })

  it('keeps a bought answer when a later one differs', async () => {
    await buy()
    const kept = await readFile(await purchase(), 'utf8')
    faults = [() => ({ kind: 'answer', status: 402, body: refusal('payment_failed') })]
    const again = await retry()
    expect([again.code, again.stderr.includes('DIFFERS FROM THE STORED ONE')]).to.deep.equal([4, true])
    expect(await readFile(await purchase(), 'utf8')).to.equal(kept)
  })

  it('asks no proxy of the environment', async () => {
    const script = 'import os, runpy, sys; os.environ["HTTP_PROXY"] = "http://127.0.0.1:1"; sys.argv = sys.argv[1:]; '
    const program = `${script}sys.path.insert(0, "."); runpy.run_path(sys.argv[0], run_name="__main__")`
    const args = [...OLD_HTTPX, '-c', program, file, '--key-file', 'key']
    expect((await runPython(args, { cwd: directory, python: client.python })).code).to.equal(0)
  })

  describe('signs nothing', () => {
    afterEach(async () => {
      expect(payments).to.deep.equal([])
      expect(await purchases()).to.deep.equal([])
    })

    const { network, asset, domain } = DEPLOYMENTS.mainnet
    const OFFERS: [name: string, offer: { terms?: object; resource?: string }, differing: string][] = [
      ['another token', { terms: { asset: OTHER } }, 'asset'],
      ['an expired quote', { terms: { maxTimeoutSeconds: 0 } }, 'lifetime'],
      ['a long authorization', { terms: { maxTimeoutSeconds: 601 } }, 'lifetime'],
      ['another host', { resource: `http://127.0.0.1:1${LOOKUP}` }, 'resource'],
      ['mainnet', { terms: { network, asset, extra: domain } }, 'network, asset, token'],
      ['a price above the limit', { terms: { amount: '1000001' } }, 'amount'],
    ]
    for (const [name, { terms, resource = LOOKUP }, differing] of OFFERS) {
      it(`for ${name}`, async () => {
        const named = { url: new URL(resource, url).href }
        changeUnpaid = (_, answer) => withQuote(answer, { terms, resource: named })
        const { code, stderr } = await buy()
        expect(code).to.equal(1)
        expect(stderr).to.equal(`nothing was sent: ValueError: the quote has a wrong ${differing}\n`)
      })
    }

    it('without a valid quote', async () => {
      const changed: ProxyReply[] = [
        { kind: 'answer', status: 402, headers: { 'PAYMENT-REQUIRED': ['e30=', 'e30='] } },
        { kind: 'answer', status: 429, headers: { 'Retry-After': '5' }, body: refusal('rate_limited') },
        { kind: 'cut', bytes: 10 },
        { kind: 'answer', status: 307, headers: { Location: '/elsewhere' } },
      ]
      for (const each of changed) {
        changeUnpaid = () => each
        expect((await buy()).code, JSON.stringify(each).slice(0, 80)).to.equal(1)
      }
      expect(paths).to.not.include('/elsewhere')
    })

    it('without a quote that ends in time', async () => {
      changeUnpaid = () => ({ kind: 'slow' })
      await writeFile(file, (await readFile(file, 'utf8')).replace(/^TIMEOUT_SECONDS = \d+/m, 'TIMEOUT_SECONDS = 1'))
      const { code, stderr } = await buy()
      expect(code).to.equal(1)
      expect(stderr).to.contain('too long or too slow')
    })

    it('without a valid key file, whose content it does not print', async () => {
      await writeFile(join(directory, 'other'), `0x${'00'.repeat(32)}`)
      for (const path of ['testnet-client.py', 'other']) {
        const { code, stderr } = await run('--key-file', path)
        expect(code).to.equal(1)
        const fault = `${path} is not a file with a private key (0x and 64 hex digits)`
        expect(stderr).to.equal(`nothing was sent: ValueError: ${fault}\n`)
      }
      expect(paths).to.deep.equal([])
    })
  })
})

function unchanged({ status, headers, text }: RawReply) {
  const names = ['content-type', 'cache-control', 'etag', 'allow', 'payment-required', 'payment-response']
  const kept = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]))
  return { kind: 'answer', status, headers: Object.fromEntries(kept) as Record<string, string>, body: text } as const
}

function sendReply(response: ServerResponse, answer: RawReply, changed: ProxyReply): void {
  if (changed.kind === 'answer') {
    const { status, headers = {}, body = '' } = changed
    const isEmpty = response.req.method === 'HEAD' || status === 304
    const length = isEmpty ? answer.headers['content-length'] : Buffer.byteLength(body)
    return void response.writeHead(status, { ...headers, ...(length && { 'Content-Length': length }) }).end(body)
  }
  if (changed.kind === 'slow') {
    const timer = setInterval(() => void response.write('x'), 20)
    return void response.on('close', () => clearInterval(timer))
  }
  if (changed.bytes === 0) return void response.socket?.destroy()
  const { status, headers, body } = unchanged(answer)
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
  response.write(body.slice(0, changed.bytes), () => response.socket?.end())
}

function withQuote(answer: RawReply, { terms, resource }: { terms: object | undefined; resource: object }): ProxyReply {
  const changed = unchanged(answer)
  const quote = decodePaymentRequiredHeader(String(answer.headers['payment-required']))
  const offer = { ...quote, resource, accepts: [{ ...quote.accepts[0], ...terms }] } as PaymentRequired
  return { ...changed, headers: { ...changed.headers, 'payment-required': encodePaymentRequiredHeader(offer) } }
}

function refusal(code: string): string {
  return JSON.stringify({ error: { code, message: 'A sentence.' } })
}
