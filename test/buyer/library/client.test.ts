/**
 * The buyer's side: what it refuses to sign, what it writes before it sends, and how it repeats without signing again.
 */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { decodePaymentSignatureHeader, encodePaymentRequiredHeader, encodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import { signPurchase } from '../../../buyer/library/buy.ts'
import { signerOf } from '../../../buyer/library/signer.ts'
import { fileEntry } from '../../../buyer/library/folder-storage.ts'
import { describeOutcome, toMoment } from '../../../buyer/library/outcome.ts'
import { readPurchase } from '../../../buyer/library/purchase-file.ts'
import { compareQuote, decodeQuote } from '../../../buyer/library/quote.ts'
import { requestedOperation } from '../../../buyer/library/purchase-request.ts'
import { buildRequirements, DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { jsonDigest, RECEIPT_EXTENSION, type ReceiptClaims } from '../../../agent/payment/receipt/claims.ts'
import { runCommand } from '../../support/cli.ts'
import { testTerms } from '../../support/payments.ts'
import { keySetOf, makeReceiptKey, receiptFor, type TestKey } from '../../support/signed-receipt.ts'
import { priceOf } from '../../support/operations.ts'
import { toItem } from '../../../agent/operation/batch.ts'
import { lookup } from '../../../agent/operation/lookup.ts'
import { itemsOf, toNamed, type Operation } from '../../../agent/operation/operation.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { REFUSALS } from '../../../agent/operation/refusal.ts'
import { SYNTHETIC_COMPANY, type SYNTHETIC_PROVENANCE } from '../../../store/dataset/synthetic.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const BASE = 'http://127.0.0.1:4021'
const RESOURCE = { url: `${BASE}/api/v1/company/1` }
const OTHER = '0x00000000000000000000000000000000000000d3'
const KEY = `0x${'42'.repeat(32)}` as const
const SNAPSHOT_ID = `sha256:${'5a'.repeat(32)}`
const KEY_OF_STEP = 'mbx2k9a0mbx2k9a0'
const unknownIn = (file: string) => `${describeOutcome({ kind: 'unknown' })} Or: --retry ${file}`

const access = { pay_to: testTerms.payTo }

type Quote = Parameters<typeof encodePaymentRequiredHeader>[0]

const quote = (change: object = {}, resource = RESOURCE): Quote => ({
  x402Version: 2,
  resource,
  accepts: [{ ...buildRequirements(testTerms, priceOf('lookup')), ...change }],
})

describe('a quote check', () => {
  const expected = { ...DEPLOYMENTS.testnet, resource: RESOURCE.url, payTo: testTerms.payTo }
  const failing = (made: Quote) =>
    compareQuote(decodeQuote(encodePaymentRequiredHeader(made)), expected, 1000)
      .filter(({ passed }) => !passed)
      .map(({ name }) => name)

  it('passes for the published terms, in any letter case of the addresses', () => {
    expect(failing(quote())).to.deep.equal([])
    expect(failing(quote({ asset: testTerms.asset.toLowerCase() }))).to.deep.equal([])
  })

  const WRONG: [name: string, made: Quote][] = [
    ['host', quote({}, { url: 'http://127.0.0.1:4022/api/v1/company/1' })],
    ['resource', quote({}, { url: `${BASE}/api/v1/company/2` })],
    ['resource', quote({}, { url: `${BASE}/api/v1/company/1?q=foo` })],
    ['scheme', quote({ scheme: 'upto' })],
    ['network', quote({ network: 'eip155:8453' })],
    ['token', quote({ extra: { name: 'USD Coin', version: '2' } })],
    ['token', quote({ extra: { name: 'USDC', version: '1' } })],
    ['token', quote({ extra: { name: 'USDC', version: '2', assetTransferMethod: 'permit2' } })],
    ['token', quote({ extra: {} })],
    ['asset', quote({ asset: OTHER })],
    ['receiver', quote({ payTo: OTHER })],
    ['expiry', quote({ maxTimeoutSeconds: 601 })],
  ]
  for (const [name, made] of WRONG) {
    const [terms] = made.accepts
    it(`reports a wrong ${name}: ${JSON.stringify(terms?.extra)}`, () => expect(failing(made)).to.deep.equal([name]))
  }

  it('[15.2] limits the amount to whole micro-USDC above 0 up to the maximum of the buyer', () => {
    const wrong = (amount: string) => failing(quote({ amount })).join()
    expect(['1', '999', '1000'].map(wrong)).to.deep.equal(['', '', ''])
    expect(['1001', '99999999999999999999'].map(wrong)).to.deep.equal(['limit', 'limit'])
    const NO_AMOUNT = ['0', '', '00', '01', '-1', '+1', '1e3', '0x1', '1.0', ' 1', '1\n', 'NaN', 'Infinity', '٣']
    for (const amount of NO_AMOUNT) expect(wrong(amount), amount).to.match(/^amount/)
  })

  it('rejects a header that is not an x402 v2 quote', () => {
    for (const header of ['', 'e30=', '%%%', Buffer.from('{"x402Version":1}').toString('base64')]) {
      expect(() => decodeQuote(header)).to.throw(/^The quote is not a valid x402 v2 quote. Nothing was signed$/)
    }
  })
})

describe('a signed quote', () => {
  it('uses only the payment requirements that were checked', async () => {
    const [checked] = quote().accepts
    const [other] = quote({ payTo: OTHER, amount: '999999' }).accepts
    const several = { ...quote(), accepts: [checked, other] } as Quote
    const request = { ...RESOURCE, method: 'GET', headers: {}, body: null } as const
    const decoded = decodeQuote(encodePaymentRequiredHeader(several))
    const purchase = await signPurchase(request, decoded, { signer: await signerOf(KEY), now: new Date() })
    const { accepted, payload } = decodePaymentSignatureHeader(purchase.payment)
    expect(accepted).to.deep.equal(checked)
    expect(payload).to.have.nested.property('authorization.to', checked?.payTo)
    expect(payload).to.have.nested.property('authorization.value', checked?.amount)
  })
})

type Answer = { status: number; headers?: Record<string, string>; body?: unknown; text?: string } | 'no answer'

describe('the client', () => {
  let directory: string
  let requests: { payment: string | null; method: string; url: string; body: string }[]
  /** The answers to the next paid requests; then `paid`. */
  let answers: Answer[]
  /** Stdout and stderr. */
  let printed: string[]
  let stdout: string[]
  let slept: number[]
  /** Changes to the terms of a lookup quote. */
  let terms: object
  /** What the service says about itself. */
  let meta: unknown
  let card: unknown
  /** The purchase file when the first paid request arrived. */
  let keptBefore: string | undefined
  let key: TestKey
  /** The key set, or null if it cannot be read. */
  let keys: object | null
  let receipts: Map<string, string>

  const transaction = `0x${'ab'.repeat(32)}`
  const paid: Exclude<Answer, string> = { status: 200 }
  const other = { status: 200, body: { company: 'other', snapshot_id: SNAPSHOT_ID } }

  /** An answer to the request, with the form of its operation. */
  function answerTo({ definition, input }: Operation): object {
    const example = definition.exampleAnswer('testnet')
    const { company_number = '7', q, limit, status, eircode } = input
    const company = { ...SYNTHETIC_COMPANY, company_number, legal_name: 'A\u202EB\uFE0F' }
    const forms: Record<string, () => object> = {
      history: () => ({ ...example, company_number, versions: [] }),
      search: () => ({ ...example, query: { q, limit }, filters: { status, eircode }, candidates: [] }),
      resolve: () => ({ ...example, status: 'no_match', match: null, query: input, candidates: [] }),
      changes: () => ({ ...example, changes: [] }),
      batch: () => ({
        ...example,
        results: itemsOf({ definition, input }).map((item) => {
          const answer = { kind: 'computed', answer: answerTo(item) } as const
          return toItem(item, answer, example as unknown as typeof SYNTHETIC_PROVENANCE)
        }),
      }),
    }
    return forms[definition.name]?.() ?? { ...example, company }
  }
  const unknown = { status: 503, headers: { 'Retry-After': '7' }, body: { error: {} } }

  /** The header for a sale, the same each time. */
  function settle(
    { method, url, body, payment }: { method: string; url: string; body: string; payment: string },
    answer: object,
  ) {
    const { accepted, payload } = decodePaymentSignatureHeader(payment)
    const { from, to, value: amount, nonce } = (payload as { authorization: Record<string, string> }).authorization
    const { network, asset } = accepted
    const asked = requestedOperation({ method: method as 'GET', url: BASE + url, headers: {}, body }, OPERATIONS)
    const operation = asked && toNamed(asked)
    const claims = {
      iss: BASE,
      jti: [network, asset, from, nonce].join('/').toLowerCase(),
      operation,
      operation_digest: jsonDigest(operation),
      payment: { network, asset, payer: from, pay_to: to, amount, nonce, transaction },
    } as Partial<ReceiptClaims>
    const receipt = receiptFor(key, answer as { snapshot_id: string }, claims)
    const extensions = { [RECEIPT_EXTENSION]: { info: { receipt } } }
    const settlement = { success: true, transaction, network, payer: from, amount, extensions }
    const header = encodePaymentResponseHeader(settlement as never)
    const id = payment + JSON.stringify(answer)
    receipts.set(id, receipts.get(id) ?? header)
    return receipts.get(id) ?? ''
  }

  const service: typeof fetch = async (input, init) => {
    const { url } = new Request(input)
    if (url === `${BASE}/api/v1/meta`) return Response.json(meta)
    if (url === `${BASE}/.well-known/agent-card.json`) return Response.json(card)
    if (url === `${BASE}/.well-known/jwks.json`) return keys ? Response.json(keys) : Response.error()
    const { payment, ...request } = {
      payment: new Headers(init?.headers).get('PAYMENT-SIGNATURE'),
      method: init?.method ?? '',
      url: url.slice(BASE.length),
      body: typeof init?.body === 'string' ? init.body : '',
    }
    requests.push({ payment, ...request })
    if (payment === null) {
      const header = encodePaymentRequiredHeader(quote(terms, { url }))
      return Response.json({}, { status: 402, headers: { 'PAYMENT-REQUIRED': header } })
    }
    keptBefore ??= await readFile(purchasePath(), 'utf8')
    const answer = answers.shift() ?? paid
    if (answer === 'no answer') throw new TypeError('fetch failed')
    const asked = requestedOperation({ ...request, url, method: 'GET', headers: {} }, OPERATIONS)
    const { status, body = answer.status === 200 && asked ? answerTo(asked) : {}, text } = answer
    const headers =
      answer.headers ?? (status === 200 ? { 'PAYMENT-RESPONSE': settle({ payment, ...request }, body as object) } : {})
    return text === undefined ? Response.json(body, { status, headers }) : new Response(text, { status, headers })
  }

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    await mkdir(join(directory, 'sandbox'))
    await writeFile(join(directory, 'sandbox', 'buyer.key'), `${KEY}\n`, { mode: 0o600 })
    ;[requests, answers, printed, stdout, slept] = [[], [], [], [], []]
    key = await makeReceiptKey()
    keys = keySetOf(key)
    receipts = new Map()
    terms = {}
    meta = { access }
    card = {}
    keptBefore = undefined
    change = {}
  })

  /** What the next commands get in place of the usual context. */
  let change: Parameters<typeof runCommand>[1]

  async function client(...args: string[]): Promise<number> {
    const stderr = new Writable({
      write(chunk: Buffer, _encoding, done) {
        printed.push(...chunk.toString().trimEnd().split('\n'))
        done()
      },
    })
    const { code } = await runCommand(['client', ...args], {
      environment: { DATA_DIR: directory, BASE_URL: BASE },
      print: (line) => void (printed.push(line), stdout.push(line)),
      stderr,
      sleep: async (milliseconds) => void slept.push(milliseconds),
      fetch: service,
      ...change,
    })
    return code
  }

  const paymentsSent = () => requests.flatMap(({ payment }) => payment ?? [])
  const purchasePath = () => /payment is saved in (\S+)/.exec(printed.join('\n'))?.[1] ?? ''

  it('saves the payment, readable by the owner only, before sending it, and prints the answer escaped', async () => {
    expect(await client('lookup', '1')).to.equal(0)
    expect(JSON.parse(keptBefore ?? '{}')).to.deep.include({ payment: paymentsSent()[0], answer: null })
    expect((await stat(purchasePath())).mode & 0o777).to.equal(0o600)
    const [header] = receipts.values()
    const body = JSON.stringify(answerTo({ definition: lookup, input: { company_number: '1' } }))
    const answer = { status: 200, body, payment_response: header }
    expect(await readPurchase(fileEntry(purchasePath()))).to.deep.include({ answer })
    expect(printed.at(-1)).to.equal('The receipt is valid.')
    expect(stdout.join('\n')).to.contain(String.raw`"legal_name": "A\u202eB\ufe0f"`)
    expect(JSON.parse(stdout.join('\n'))).to.deep.equal(JSON.parse(body))
  })

  it('repeats the same payment after 429, 500, 502, 503, 504 and a lost connection, after Retry-After', async () => {
    const limited = { status: 429, headers: { 'Retry-After': '3' } }
    // A proxy can answer 504 to a long sale.
    answers = [limited, { status: 502 }, unknown, 'no answer', { status: 500 }, { status: 504 }]
    expect(await client('lookup', '1')).to.equal(0)
    expect(paymentsSent()).to.have.lengthOf(7)
    expect(new Set(paymentsSent()).size).to.equal(1)
    expect(slept).to.deep.equal([3000, 2000, 7000, 2000, 2000, 2000])
  })

  it('[14.8] exits with status 4 after seven attempts, and repeats the saved payment with --retry', async () => {
    answers = Array.from({ length: 7 }, (_, index) => (index < 6 ? unknown : 'no answer'))
    expect(await client('lookup', '1')).to.equal(4)
    expect(printed.at(-1)).to.equal(
      `No answer to the payment arrived, or it could not be saved. ${unknownIn(purchasePath())}`,
    )
    expect(paymentsSent()).to.have.lengthOf(7)
    expect(await client('--retry', purchasePath())).to.equal(0)
    expect(new Set(paymentsSent()).size).to.equal(1)
    expect(await client('--retry', purchasePath())).to.equal(0)
    expect(printed.at(-1)).to.contain('nothing was charged again')
  })

  const reject = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }))

  for (const retry of [false, true])
    it(`[14.5, 14.16] exits with 5 if stdout does not take the answer, and prints it again free (--retry: ${retry})`, async () => {
      change = { flush: reject('ENOSPC') }
      expect(await client('lookup', '1')).to.equal(5)
      const file = purchasePath()
      expect(printed.at(-1)).to.equal(
        `The answer could not be written (ENOSPC). It is in ${file}. It is sold: the same command prints it again, ` +
          'and nothing is charged.',
      )
      if (retry) expect(await client('--retry', file)).to.equal(5)
      change = {}
      ;[printed, stdout] = [[], []]
      const before = paymentsSent().length
      expect(await client('lookup', '1')).to.equal(0)
      expect(paymentsSent()).to.have.length(before)
      expect(printed[0]).to.match(/^This answer was bought at \S+ \S+ UTC and not printed\. It is printed now/)
      expect(JSON.parse(stdout.join('\n'))).to.have.nested.property('company.company_number', '1')
      await client('lookup', '1')
      expect(new Set(paymentsSent()).size).to.equal(2)
    })

  it('[14.18] says after a signal what is known of the money, and continues with the same payment', async () => {
    const stopping = new AbortController()
    change = {
      interrupted: () => stopping.signal,
      fetch: async (...input) => (stopping.abort('SIGINT'), service(...input)),
    }
    expect(await client('lookup', '1')).to.equal(1)
    expect(paymentsSent()).to.deep.equal([])
    expect(printed.at(-1)).to.equal('Interrupted before a payment was signed. Not charged. You can try again now.')
    const later = new AbortController()
    const paying: typeof fetch = async (input, init) => {
      if (new Headers(init?.headers).has('PAYMENT-SIGNATURE')) later.abort('SIGINT')
      return service(input, init)
    }
    change = { interrupted: () => later.signal, fetch: paying }
    expect(await client('lookup', '1')).to.equal(4)
    expect(stdout).to.deep.equal([])
    expect(printed.at(-1)).to.equal(
      `Interrupted after a payment was signed, which is in ${purchasePath()}. ${unknownIn(purchasePath())}`,
    )
    change = {}
    expect(await client('lookup', '1')).to.equal(0)
    expect(new Set(paymentsSent()).size).to.equal(1)
  })

  it('[14.16] says that the same command sends the payment of an earlier run again', async () => {
    answers = Array.from({ length: 7 }, () => 'no answer')
    await client('lookup', '1')
    const { signed_at } = await readPurchase(fileEntry(purchasePath()))
    const resumed = `The earlier payment of ${toMoment(new Date(signed_at))} in ${purchasePath()} is sent again, and charged at most once.`
    expect(printed).to.not.include(resumed)
    expect(await client('lookup', '1')).to.equal(0)
    expect(printed.filter((line) => line === resumed)).to.have.length(1)
    expect(new Set(paymentsSent()).size).to.equal(1)
  })

  const INSUFFICIENT = {
    status: 402,
    headers: { 'PAYMENT-REQUIRED': btoa(JSON.stringify({ error: 'insufficient_funds' })) },
    body: {
      error: {
        code: 'payment_rejected',
        message: 'The verification of the payment failed: the wallet has 250 micro-USDC, the price is 1000.',
      },
    },
  }

  it('[14.16] signs with --new-payment only beside a payment that its account cannot pay, with another key', async () => {
    const otherKey = join(directory, 'otherKey.key')
    await writeFile(otherKey, `0x${'43'.repeat(32)}`, { mode: 0o600 })
    expect(await client('lookup', '1', '--new-payment')).to.equal(1)
    answers = [INSUFFICIENT, INSUFFICIENT, unknown]
    expect(await client('lookup', '1')).to.equal(6)
    expect(printed.join('\n')).to.match(
      /0x\w+ on eip155:84532 has 0\.00025 USDC, which is less than the price of 0\.001 USDC\. .* Until \S+ \S+ UTC the same command sends/,
    )
    expect(await client('lookup', '1', '--key-file', otherKey)).to.equal(6)
    expect(printed.join('\n')).to.contain('to pay with it now, add --new-payment')
    expect(await client('lookup', '1', '--new-payment')).to.equal(6)
    expect(new Set(paymentsSent()).size).to.equal(1)
    expect(await client('lookup', '1', '--key-file', otherKey, '--new-payment')).to.equal(0)
    expect(new Set(paymentsSent()).size).to.equal(2)
    // A sold one is not replaced.
    expect(await client('lookup', '1', '--new-payment')).to.equal(1)
    expect(new Set(paymentsSent()).size).to.equal(2)
  })

  const NODE = 'http://127.0.0.1:8545'
  /** The node shows every authorization as used. */
  const withNode: typeof service = async (input, init) => {
    if (new Request(input).url !== `${NODE}/`) return service(input, init)
    const isCall = typeof init?.body === 'string' && init.body.includes('eth_call')
    const word = `0x${'1'.padStart(64, '0')}`
    return Response.json({ result: isCall ? word : { number: '0x1', timestamp: '0x1' } })
  }

  it('[14.8] exits with 4 if a node shows the charge of a payment that the service refused', async () => {
    change = { fetch: withNode }
    answers = [INSUFFICIENT]
    expect(await client('lookup', '1', '--rpc', NODE)).to.equal(4)
    expect(printed.at(-1)).to.match(/ The chain shows the charge\. Run the same command again/)
    expect(await client('lookup', '1', '--rpc', NODE)).to.equal(0)
    expect(new Set(paymentsSent()).size).to.equal(1)
  })

  it('[14.8, 15.6] asks the node of --rpc for --retry too', async () => {
    answers = [INSUFFICIENT]
    expect(await client('lookup', '1')).to.equal(6)
    change = { fetch: withNode }
    answers = [INSUFFICIENT]
    expect(await client('--retry', purchasePath(), '--rpc', NODE)).to.equal(4)
    expect(printed.at(-1)).to.match(/ The chain shows the charge\./)
    expect(new Set(paymentsSent()).size).to.equal(1)
  })

  it('[15.2] pays at most --max-per-day for all commands of the folder, and nothing after a damaged reservation', async () => {
    const limited = (number: string) => client('lookup', number, '--max-per-day', '0.002')
    expect([await limited('1'), await limited('2'), await limited('3')]).to.deep.equal([0, 0, 1])
    expect(printed.at(-1)).to.match(
      /^The payment would exceed the limit of 0\.002 USDC for a UTC day\. .* wait until \S+ 00:00:00 UTC\.$/,
    )
    const names = await readdir(join(directory, 'purchases'))
    const reservation = names.find((name) => name.startsWith('spending-')) ?? ''
    await writeFile(join(directory, 'purchases', reservation), '')
    expect(await client('lookup', '3', '--max-per-day', '1.00')).to.equal(1)
    expect(printed.at(-1)).to.contain(`${reservation} is missing or damaged. Nothing was signed`)
    expect(new Set(paymentsSent()).size).to.equal(2)
  })

  it('[14.5] exits with 2 for a path that cannot be that of a purchase, and says why', async () => {
    expect(await client('--retry', directory)).to.equal(2)
    expect(printed.at(-1)).to.contain(`${directory} (EISDIR)`)
    expect(await client('--retry', join(directory, 'sandbox', 'buyer.key'))).to.equal(2)
    expect(printed.at(-1)).to.contain('is a key file, not a purchase')
    await writeFile(join(directory, 'purchases'), '')
    expect(await client('lookup', '1')).to.equal(2)
    expect(printed.at(-1)).to.match(/purchases\/\S+ \(ENOTDIR\)\. Nothing was sent/)
    expect(paymentsSent()).to.deep.equal([])
  })

  it('[14.5] keeps the bought answer if a repetition is refused or has another answer, and exits with 4', async () => {
    await client('lookup', '1')
    const bought = await readPurchase(fileEntry(purchasePath()))
    answers = [{ status: 402 }, { status: 200, headers: {} }, other]
    for (let retry = 0; retry < 3; retry += 1) {
      expect(await client('--retry', purchasePath())).to.equal(4)
      expect(printed.at(-1)).to.contain('THE ANSWER DIFFERS from the saved one')
    }
    expect(await readPurchase(fileEntry(purchasePath()))).to.deep.equal(bought)
  })

  for (const [exit, status, code, advice] of [
    [6, 402, 'payment_failed', undefined],
    [6, 404, 'company_not_found', REFUSALS.company_not_found.advice],
    [4, 409, 'payment_already_settled', undefined],
    [4, 501, 'x', undefined],
  ] as const) {
    it(`[14.5, 14.8, 14.18, 15.20] exits with ${exit} after ${status} ${code} to a payment, and proposes no second signature`, async () => {
      answers = [{ status, body: { error: { code, message: 'sign again' } } }]
      expect(await client('lookup', '1')).to.equal(exit)
      expect(paymentsSent()).to.have.lengthOf(1)
      const { payload } = decodePaymentSignatureHeader(paymentsSent()[0] ?? '')
      const { validBefore, from } = (payload as { authorization: { validBefore: string; from: string } }).authorization
      const certainFrom = new Date((Number(validBefore) + 60) * 1000)
      // What the register has is an answer, also if it is that it has no such company.
      if (code === 'company_not_found')
        expect(JSON.parse(stdout.join('\n'))).to.deep.include({
          error: { code, message: printed.at(-1) },
          outcome: 'not_sold_later',
        })
      else expect(stdout).to.deep.equal([])
      expect(printed.length - stdout.length).to.equal(3)
      const end =
        exit === 6
          ? describeOutcome({ kind: 'not_sold_later', certainFrom })
          : code === 'payment_already_settled'
            ? 'Do not sign another payment. Keep this one and contact the operator.'
            : unknownIn(purchasePath())
      expect(printed.at(-1)).to.match(new RegExp(`^${status}.*, with a payment of ${from} on eip155:84532: `))
      expect(printed.at(-1)?.endsWith([advice, end].filter(Boolean).join(' '))).to.equal(true)
    })
  }

  it('[14.5] prints no answer and exits with 1 if the URL is not that of the service', async () => {
    const environment = { DATA_DIR: directory, BASE_URL: BASE }
    for (const status of [200, 404]) {
      const foreign = async () => Response.json({ company: {} }, { status })
      const { code, text, stderr } = await runCommand(['client', 'lookup', '1'], { environment, fetch: foreign })
      expect([code, text]).to.deep.equal([1, ''])
      expect(stderr).to.match(/asks for no payment\. Check --url|no answer of the service\. Check its URL/)
    }
  })

  it('[15.6] lists the purchases with their states, and names damaged ones, which it does not buy again', async () => {
    expect(await client('purchases', join(directory, 'none'))).to.equal(0)
    expect(printed.at(-1)).to.match(/none has no purchases\.$/)
    answers = [paid, { status: 402 }]
    await client('lookup', '1')
    await client('resolve', 'Foo', '--max-amount', '0.005')
    printed = []
    expect(await client('purchases')).to.equal(0)
    expect(stdout.slice(-3).map((line) => line.split(/ {2,}/).slice(1, 5))).to.deep.equal([
      ['operation', 'for', 'amount', 'outcome'],
      ['lookup', String.raw`1 A\u{202e}B\u{fe0f}`, '0.001 USDC', 'sold'],
      ['resolve', 'Foo', '0.001 USDC', 'unknown'],
    ])
    ;[printed, answers] = [[], [{ status: 501 }]]
    await client('lookup', '2')
    const file = purchasePath()
    await writeFile(file, '{}')
    for (const args of ['lookup 2', `--retry ${file}`]) {
      expect(await client(...args.split(' '))).to.equal(4)
      expect(printed.at(-1)).to.match(/is not the file of a purchase\. Keep the file: it may hold a payment/)
    }
    expect(await client('purchases')).to.equal(0)
    expect(printed.at(-1)).to.equal(`${file} cannot be read. It may hold a payment that was sent.`)
  })

  it('creates a key file that does not exist, and prints the address that pays', async () => {
    const file = join(directory, 'new.key')
    expect(await client('address', '--key-file', file)).to.equal(1)
    expect(printed.at(-1)).to.contain(`The key file ${file} does not exist`)
    expect(await client('address', '--key-file', file, '--new')).to.equal(0)
    expect(stdout.at(-1)).to.match(/^0x[0-9a-fA-F]{40}$/)
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(await client('address', '--key-file', file, '--new')).to.equal(1)
  })

  const SETTLED = { success: true, transaction, network: 'eip155:84532' } as const
  const HEADERS: Record<string, string | undefined> = {
    'no settlement response': undefined,
    'one that is not base64 JSON': '\u00ff',
    'one without a receipt': encodePaymentResponseHeader(SETTLED),
  }
  for (const [name, header] of Object.entries(HEADERS)) {
    it(`[14.5] exits with 4 after a 200 with ${name}, and keeps the payment`, async () => {
      answers = [{ status: 200, headers: header === undefined ? {} : { 'PAYMENT-RESPONSE': header } }]
      expect(await client('lookup', '1')).to.equal(4)
      expect(printed.at(-1)).to.equal(
        `The answer has no receipt. Keep the file, and contact the operator. ${unknownIn(purchasePath())}`,
      )
    })
  }

  it('[14.5] exits with 4 after an answer with a wrong receipt, which it keeps, and names the checks that failed', async () => {
    keys = keySetOf(await makeReceiptKey())
    expect(await client('lookup', '1')).to.equal(4)
    expect(printed.at(-1)).to.match(/^The receipt is wrong: signature\. The answer is in \S+\. Keep the file, and/)
    expect((await readPurchase(fileEntry(purchasePath()))).answer?.status).to.equal(200)
  })

  describe('with a service that publishes false data', () => {
    const MAINNET = DEPLOYMENTS.mainnet
    const mainnetTerms = { network: MAINNET.network, asset: MAINNET.asset, extra: MAINNET.domain }
    const pricedAt = (amount: number) => {
      terms = { ...mainnetTerms, amount: String(amount) }
    }

    it('[14.7] signs nothing for mainnet without --mode mainnet, and with it up to the usual price', async () => {
      pricedAt(1_000_000)
      expect(await client('lookup', '1', '--max-amount', '1.00')).to.equal(1)
      expect(paymentsSent()).to.deep.equal([])
      expect(printed.slice(-2)).to.deep.equal([
        'The service sells on mainnet: to pay there, use --mode mainnet.',
        'The quote has an unexpected network, asset, token. Nothing was signed. Check --url and --mode.',
      ])
      pricedAt(10_000)
      expect(await client('lookup', '1', '--mode', 'mainnet')).to.equal(0)
      expect(paymentsSent()).to.have.lengthOf(1)
      pricedAt(10_001)
      expect(await client('lookup', '1', '--mode', 'mainnet')).to.equal(1)
      expect(paymentsSent()).to.have.lengthOf(1)
      expect(printed.at(-1)).to.equal(
        'The price is above the limit of 0.01 USDC. Nothing was signed. To pay more, set a higher --max-amount.',
      )
      pricedAt(0)
      expect(await client('lookup', '1', '--mode', 'mainnet')).to.equal(1)
      expect(paymentsSent()).to.have.lengthOf(1)
      expect(printed.at(-1)).to.match(/^The quote has an unexpected amount\. Nothing was signed/)
    })

    const cardOf = (url: string) => ({
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { extensions: [{ uri: `${BASE}/docs#http-x402-v1` }] },
    })

    it('[14.11] sends nothing to an A2A URL of another host, unless it is named', async () => {
      const others = ['http://127.0.0.1:4022/a2a', 'https://127.0.0.1:4021/a2a', 'http://127.0.0.1.example:4021/a2a']
      for (const url of others) {
        card = cardOf(url)
        expect(await client('lookup', '1', '--a2a')).to.equal(1)
        expect(printed.at(-1)).to.equal(
          `The agent card names an A2A URL of another host, ${url}. Nothing was sent. To use it, add --a2a-url`,
        )
      }
      expect(requests).to.deep.equal([])
      card = cardOf('http://127.0.0.1:4022/a2a')
      await client('lookup', '1', '--a2a-url', `${BASE}/elsewhere`)
      expect(requests.map(({ url }) => url)).to.include('/elsewhere')
    })

    it('prints one clear line for documents of another form', async () => {
      for (const value of [null, 'text', {}, { access: { pay_to: 1 } }]) {
        meta = value
        expect(await client('lookup', '1')).to.equal(1)
        expect(printed.at(-1)).to.match(/^The answer of \/api\/v1\/meta does not have the expected form\./)
        card = value
        expect(await client('lookup', '1', '--a2a')).to.equal(1)
        expect(printed.at(-1)).to.equal('The answer of /.well-known/agent-card.json does not have the expected form')
      }
      expect(paymentsSent()).to.deep.equal([])
    })
  })

  it('[14.5] escapes every control character that the service sends', async () => {
    const evil = '\u001B]0;x\u0007\u009B2J\r\n\u202E'
    answers = [
      { status: 404, body: { error: { code: evil, message: evil } } },
      { status: 418, text: evil },
      { status: 200, body: { [evil]: evil }, headers: { 'PAYMENT-RESPONSE': Buffer.from(evil).toString('base64') } },
    ]
    for (const _ of answers.slice()) await client('lookup', '1')
    terms = { network: `eip155:1${evil}`, payTo: evil, asset: evil, extra: { name: evil } }
    await client('lookup', '1')
    meta = { access: { pay_to: evil } }
    await client('lookup', '1')
    await client('lookup', evil)
    await client('--retry', join(directory, evil))
    await client(evil)
    expect(printed).to.have.length.above(30)
    expect(printed.filter((line) => /[\p{C}\p{Zl}\p{Zp}]/u.test(line))).to.deep.equal([])
    expect(printed.join(' ')).to.contain(String.raw`\u{1b}`)
  })

  const changes =
    'changes --since 2026-01-01 --until 2026-01-31 --kind changed --field status --status Normal --limit 9 --cursor '
  for (const [args, path, body = ''] of [
    [
      ['search', ' Foo & Bar', '--limit', '3', '--status', 'Normal', '--eircode', 'd02 x285'],
      '/api/v1/search?q=Foo%20%26%20Bar&limit=3&status=Normal&eircode=D02X285',
    ],
    [['history', '3,357', '--before', KEY_OF_STEP], `/api/v1/company/3357/history?before=${KEY_OF_STEP}`],
    [['as-of', '007', '2026-01-31'], '/api/v1/company/007/as-of/2026-01-31'],
    [
      `${changes}${KEY_OF_STEP}-7`.split(' '),
      `/api/v1/changes?since=2026-01-01&until=2026-01-31&kind=changed&field=status&status=Normal&limit=9&cursor=${KEY_OF_STEP}-7`,
    ],
    [
      ['resolve', 'Foo', '--number', '007', '--eircode', 'D02X285', '--address', 'Main  Street'],
      '/api/v1/resolve',
      '{"name":"Foo","company_number":"007","eircode":"D02X285","address":"Main Street"}',
    ],
    [['resolve', '--number', '7'], '/api/v1/resolve', '{"company_number":"7"}'],
  ] as const) {
    it(`sends ${args.join(' ')} with the same bytes each time, also with --retry`, async () => {
      expect(await client(...args)).to.equal(0)
      expect(await client('--retry', purchasePath())).to.equal(0)
      expect(requests.map((request) => [request.method, request.url, request.body])).to.deep.equal(
        Array.from({ length: 3 }, () => [body === '' ? 'GET' : 'POST', path, body]),
      )
    })
  }

  it('[12.20] buys a batch from a file with numbers as people type them, after a notice of what is charged', async () => {
    terms = { amount: '2000' }
    const file = join(directory, 'inputs.json')
    const body = '{"operation":"lookup","inputs":[{"company_number":"335801"},{"company_number":"8"}]}'
    await writeFile(file, body.replace('335801', '335,801').replace('"8"', '8'))
    expect(await client('batch', file, '--dry-run')).to.equal(0)
    expect([printed.at(-1), requests]).to.deep.equal(['2 items cost 0.002 USDC on eip155:84532.', []])
    expect(await client('batch', file)).to.equal(0)
    expect(requests.map((request) => [request.url, request.body])).to.deep.equal([
      ['/api/v1/batch', body],
      ['/api/v1/batch', body],
    ])
    const placeOf = (text: string) => printed.findIndex((line) => line.includes(text))
    const notice = placeOf('Missing and contradictory records are results and are charged')
    expect(notice).to.be.within(0, placeOf('The payment is saved'))
    await writeFile(file, '{"operation":"lookup","inputs":[{"company_number":"x"}]}')
    expect(await client('batch', file)).to.equal(2)
    expect(printed.at(-1)).to.match(/^error: inputs\[0\]\.company_number must be 1 to 20 ASCII digits/)
    expect(requests).to.have.length(2)
  })
})
