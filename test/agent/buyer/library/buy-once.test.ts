/** The function `buyOnce` and its documented example, with the real service: one payment, whatever answers are lost. */
import { readFileSync } from 'node:fs'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  decodePaymentResponseHeader,
  decodePaymentSignatureHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import { expect } from 'chai'
import { buyOnce } from '../../../../agent/buyer/library/buy-once.ts'
import { fileEntry } from '../../../../agent/buyer/library/folder-storage.ts'
import { readPurchase } from '../../../../agent/buyer/library/purchase-file.ts'
import { buyCompany } from '../../../examples/buy-company.ts'
import { TESTNET_TERMS } from '../../../support/expected-terms.ts'
import { startTestService, type TestService } from '../../../support/service.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'
import { receiptIn } from '../../../support/unsigned-receipt.ts'

const ROOT = new URL('.', import.meta.resolve('#root/package.json'))
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

describe('buyOnce', () => {
  let service: TestService
  let folder: string

  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())
  beforeEach(async () => {
    folder = await makeTemporaryDirectory()
  })

  const seller = () => ({ url: service.url, payTo: service.payTo })
  it('is documented by an example that this file compiles and runs', () => {
    const example = read('test/examples/buy-company.ts').split('\n').slice(1).join('\n')
    expect(read('docs/payments.md')).to.contain(`\`\`\`ts\n${example.replace('../../agent', './agent')}\`\`\``)
  })

  it('buys once in repeated calls', async () => {
    const paid = await service.transfersOf(async () => {
      const first = await buyCompany(seller(), '73848', service.buyerKey, folder)
      expect(JSON.parse(first)).to.have.nested.property('company.company_number', '73848')
      expect(await buyCompany(seller(), '73848', service.buyerKey, folder)).to.equal(first)
      expect(await readdir(folder)).to.deep.equal(['company-73848.json'])
    })
    expect(paid).to.equal(1)
  })

  /** The options of the example, with a replaceable network. */
  const options = (change: { fetch?: typeof fetch; url?: string } = {}) => ({
    request: { url: change.url ?? `${service.url}/api/v1/company/73848` },
    expected: { ...TESTNET_TERMS, payTo: service.payTo, amount: '1000' },
    file: join(folder, 'purchase.json'),
    privateKey: service.buyerKey,
    runtime: { fetch: change.fetch ?? fetch, sleep: async () => undefined },
  })

  it('[15.1] removes old temporary files of its own purchase file, and no others', async () => {
    const part = '01234567-89ab-cdef-0123-456789abcdef.tmp'
    for (const name of [`purchase.json.${part}`, `other.json.${part}`]) {
      await writeFile(join(folder, name), '{')
      await utimes(join(folder, name), 0, 0)
    }
    expect((await buyOnce(options())).status).to.equal(200)
    expect(await readdir(folder)).to.have.members(['purchase.json', `other.json.${part}`])
  })

  it('[14.7] sends a random payment id, without which the payment cannot be rebuilt from the chain', async () => {
    const ids = new Set<unknown>()
    for (const number of ['73848', '00000000']) {
      const file = join(folder, `${number}.json`)
      expect((await buyOnce({ ...options({ url: `${service.url}/api/v1/company/${number}` }), file })).status).to.equal(
        200,
      )
      const { payment } = await readPurchase(fileEntry(file))
      const payload = decodePaymentSignatureHeader(payment)
      const identifier = payload.extensions?.['payment-identifier'] as { info: { id: string } }
      expect(identifier.info.id).to.match(/^[0-9a-f-]{36}$/)
      ids.add(identifier.info.id)
      // All of this is known from the settlement transaction and from a new quote.
      const { id: _, ...info } = identifier.info
      const rebuilt = {
        ...payload,
        extensions: { ...payload.extensions, 'payment-identifier': { ...identifier, info } },
      }
      const headers = { 'PAYMENT-SIGNATURE': encodePaymentSignatureHeader(rebuilt) }
      const answer = await fetch(`${service.url}/api/v1/company/${number}`, { headers })
      expect(answer.status).to.equal(409)
      expect(await answer.json()).to.have.nested.property('error.code', 'payment_replay_conflict')
    }
    expect(ids.size).to.equal(2)
  })

  const keySetPath = '/.well-known/jwks.json'

  it('[15.4] throws if the receipt is wrong, and returns the answer if the key set cannot be read or is not wanted', async () => {
    const bought = await buyOnce(options())
    const changing =
      (change: (url: string) => Response | undefined): typeof fetch =>
      async (url, init) =>
        change(url as string) ?? fetch(url, init)
    const failureOf = (fetch: typeof globalThis.fetch) =>
      buyOnce(options({ fetch })).then(
        () => 'no failure',
        (cause: unknown) => String(cause),
      )
    const headers = { 'PAYMENT-RESPONSE': bought.paymentResponse ?? '' }
    const otherBody = changing((url) => (url.endsWith('/73848') ? new Response('{}', { headers }) : undefined))
    expect(await failureOf(otherBody)).to.contain('The receipt is wrong: answer, snapshot. The answer is in')
    const otherKeys = changing((url) => (url.endsWith(keySetPath) ? Response.json({ keys: [] }) : undefined))
    expect(await failureOf(otherKeys)).to.contain('The receipt is wrong: signature')
    const unreachable: typeof fetch = (url, init) =>
      (url as string).endsWith(keySetPath) ? Promise.reject(new TypeError('fetch failed')) : fetch(url, init)
    expect(await buyOnce(options({ fetch: unreachable }))).to.include({ status: 200, receipt: 'unchecked' })
    const limited = changing((url) =>
      url.endsWith(keySetPath) ? Response.json({ error: { code: 'rate_limited' } }, { status: 429 }) : undefined,
    )
    expect(await buyOnce(options({ fetch: limited }))).to.include({ status: 200, receipt: 'unchecked' })
    expect(await buyOnce({ ...options({ fetch: unreachable }), receipts: 'ignore' })).to.include({
      receipt: 'unchecked',
    })
    expect((await readPurchase(fileEntry(options().file))).answer?.body).to.equal(bought.body)
  })

  it('returns an answer without a receipt, and adds the receipt to the file when a repetition brings it', async () => {
    const withoutReceipt: typeof fetch = async (url, init) => {
      const response = await fetch(url, init)
      const header = response.headers.get('PAYMENT-RESPONSE')
      if (header === null) return response
      const { extensions: _, ...settlement } = decodePaymentResponseHeader(header)
      const headers = { 'PAYMENT-RESPONSE': Buffer.from(JSON.stringify(settlement)).toString('base64') }
      return new Response(await response.text(), { headers })
    }
    const first = await buyOnce(options({ fetch: withoutReceipt }))
    expect(first).to.include({ status: 200, receipt: 'missing' })
    expect(await buyOnce(options())).to.include({ status: 200, body: first.body, receipt: 'valid' })
    const saved = (await readPurchase(fileEntry(options().file))).answer
    expect(receiptIn(saved?.payment_response ?? '')).to.be.a('string')
    await buyOnce(options({ fetch: withoutReceipt }))
    expect((await readPurchase(fileEntry(options().file))).answer).to.deep.equal(saved)
  })

  it('refuses the purchase file of another request', async () => {
    await buyOnce(options())
    const refusal = await buyOnce(options({ url: `${service.url}/api/v1/company/00000000` })).catch(
      (cause: unknown) => cause,
    )
    expect(refusal).to.be.instanceOf(Error).with.property('message').that.contains('another request')
  })
})
