/** Lookups bought over REST and A2A from the whole service on a real chain (contract 4.1, 5). */
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from '@a2a-js/sdk/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { x402Client } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { expect } from 'chai'
import { companyResponseSchema } from '../../agent/operation/result.ts'
import { resolveResponseSchema } from '../../agent/operation/resolve.ts'
import { searchResponseSchema } from '../../agent/operation/search.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { header, type WirePayment } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import {
  buyOverTransports,
  COMPANY,
  expectCharges,
  messageOf,
  quoteOf,
  RESOLVE,
  SEARCH,
} from '../support/transports.ts'

const PRICE = 1000n

describe('a paid lookup', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  const { lookup, a2a, payFor } = buyOverTransports(() => service)
  const overA2a = (company_number: string, payment?: string) =>
    a2a({ operation: 'lookup', input: { company_number } }, payment)

  const bodyAndReceipt = ({ status, text, headers }: RawReply) => ({
    status,
    text,
    receipt: headers['payment-response'],
  })
  const receiptOf = ({ headers }: RawReply) => decodePaymentResponseHeader(String(headers['payment-response']))
  const reasonOf = ({ headers }: RawReply) => decodePaymentRequiredHeader(String(headers['payment-required'])).error

  it('[5.1.1, 5.1.2, 5.1.4] is quoted with the REST resource, the asset and the price', async () => {
    const unpaid = await lookup('73848')
    expectRefusal(unpaid, 'payment_required')
    const quote = decodePaymentRequiredHeader(String(unpaid.headers['payment-required']))
    expect(unpaid.json['payment_required']).to.deep.equal(quote)
    const { extensions, ...terms } = quote
    expect(Object.keys(extensions ?? {})).to.deep.equal(['bazaar', 'payment-identifier'])
    expect(terms).to.deep.equal({
      x402Version: 2,
      error: 'PAYMENT-SIGNATURE header is required',
      resource: {
        url: `${service.url}/api/v1/company/73848`,
        description:
          'One Irish company record by its number: name, status, dates and address, with source and licence. A missing record is not charged.',
        mimeType: 'application/json',
        serviceName: 'Irish company records',
        tags: ['ireland', 'company', 'registry', 'lookup', 'kyb'],
      },
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:84532',
          amount: '1000',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          payTo: service.payTo,
          maxTimeoutSeconds: 300,
          extra: { name: 'USDC', version: '2' },
        },
      ],
    })
  })

  it('[4.1.3, 5.6.2, 1.3] costs 1000 micro-USDC once and replays the answer byte for byte', async () => {
    const payment = await payFor(lookup('73848'))
    const replies: RawReply[] = []
    await expectCharges(service, [PRICE], async () => {
      for (let attempt = 0; attempt < 3; attempt += 1) replies.push(await lookup('73848', payment))
    })
    const [first] = replies as [RawReply, ...RawReply[]]
    for (const reply of replies) expect(bodyAndReceipt(reply)).to.deep.equal(bodyAndReceipt(first))
    expect(first.status).to.equal(200)
    expect(companyResponseSchema.parse(first.json).company.legal_name).to.equal('PLAIN FIXTURE LIMITED')
    const { transaction, ...receipt } = receiptOf(first)
    expect(receipt).to.include({ success: true, network: 'eip155:84532', payer: service.buyer.address, amount: '1000' })
    expect(transaction).to.match(/^0x[0-9a-f]{64}$/)
  })

  it('[4.5.4, 10.4] is sold over A2A in a direct Message, with the quote of the REST resource', async () => {
    const unpaid = overA2a('1002')
    expect(quoteOf(await unpaid).url).to.equal(`${service.url}/api/v1/company/1002`)
    const payment = await payFor(unpaid)
    await expectCharges(service, [PRICE], async () => {
      const bought = await overA2a('1002', payment)
      const { company } = companyResponseSchema.parse(messageOf(bought).data)
      expect(company).to.deep.include({ legal_name: 'ALÉO FIXTURE TEORANTA', nace_v2_code: '0150', status: 'Normal' })
      expect(receiptOf(bought).success).to.equal(true)
    })
  })

  it('[5.6.3] answers twenty concurrent equal requests from one transfer', async () => {
    const payment = await payFor(lookup('73848'))
    await expectCharges(service, [PRICE], async () => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => lookup('73848', payment)))
      expect(replies[0]?.status).to.equal(200)
      expect(new Set(replies.map((reply) => JSON.stringify(bodyAndReceipt(reply)))).size).to.equal(1)
    })
  })

  it('[5.4.2] answers one of twenty different requests with one payment, and nineteen with 409', async () => {
    // Without `resource` in the payload, only the response log tells the requests apart.
    const payment = await payFor(lookup('5001'))
    const numbers = Array.from({ length: 20 }, (_, index) => String(5001 + index))
    await expectCharges(service, [PRICE], async () => {
      // Twelve over REST, which has no limit of concurrent calls, and eight over A2A, which is its limit.
      const replies = await Promise.all(
        numbers.map((number, index) => (index < 12 ? lookup : overA2a)(number, payment)),
      )
      const refused = replies.filter(({ status }) => status !== 200)
      expect(refused).to.have.lengthOf(19)
      for (const reply of refused) expectRefusal(reply, 'payment_replay_conflict')
    })
  })

  it('[5.6.2, 3.2] replays the stored response after a restart', async () => {
    const payment = await payFor(lookup('1003'))
    const bought = await lookup('1003', payment)
    expect(bought.status).to.equal(200)
    await expectCharges(service, [], async () => {
      await service.restart()
      // The restarted service has another port and base URL.
      expect(bodyAndReceipt(await lookup('1003', payment))).to.deep.equal(bodyAndReceipt(bought))
    })
  })

  const WRITTEN: Record<string, (address: string) => string> = {
    'upper case': (address) => `0x${address.slice(2).toUpperCase()}`,
    'lower case': (address) => address.toLowerCase(),
    'a wrong checksum': (address) =>
      address.replace(/[a-f]/i, (digit) => (/[a-f]/.test(digit) ? digit.toUpperCase() : digit.toLowerCase())),
  }
  for (const [written, write] of Object.entries(WRITTEN)) {
    it(`[5.3.1] sells to a payer whose addresses are in ${written}`, async () => {
      const payment = JSON.parse(Buffer.from(await payFor(lookup('73848')), 'base64').toString()) as WirePayment
      const { authorization } = payment.payload
      authorization.from = write(authorization.from)
      authorization.to = write(authorization.to)
      await expectCharges(service, [PRICE], async () => {
        expect((await lookup('73848', header(payment))).status).to.equal(200)
      })
    })
  }

  it('refuses a payer without funds before step 9', async () => {
    const { headers } = await lookup('1004')
    const poor = await service.pay(String(headers['payment-required']), { key: `0x${'42'.repeat(32)}` })
    const refused = await lookup('1004', poor)
    expectRefusal(refused, 'payment_rejected')
    expect(reasonOf(refused)).to.equal('insufficient_funds')
  })

  describe('with a stock client', () => {
    const payingFetch = () => {
      const client = new x402Client().register('eip155:*', new ExactEvmScheme(service.buyer))
      return wrapFetchWithPayment(fetch, client)
    }

    it('works with @x402/fetch over REST, in its own URL spelling', async () => {
      const pay = payingFetch()
      await expectCharges(service, [PRICE, PRICE, 2000n], async () => {
        const bought = await pay(service.url + COMPANY + '/73848')
        expect(companyResponseSchema.parse(await bought.json()).company.company_number).to.equal('73848')
        expect(decodePaymentResponseHeader(bought.headers.get('PAYMENT-RESPONSE') ?? '').success).to.equal(true)
        const found = await pay(`${service.url}${SEARCH}?limit=3&q=Plain+Fixture%20Limited`)
        const { query } = searchResponseSchema.parse(await found.json())
        expect(query).to.deep.equal({ q: 'Plain Fixture Limited', limit: 3 })
        const headers = { 'Content-Type': 'application/json' }
        const body = ' {"name": "Plain Fixture Limited"}'
        const resolved = await pay(service.url + RESOLVE, { method: 'POST', headers, body })
        expect(resolveResponseSchema.parse(await resolved.json()).match?.company.company_number).to.equal('73848')
      })
    })

    it('[4.7.1] works with @x402/fetch on paths with a trailing slash', async () => {
      const pay = payingFetch()
      await expectCharges(service, [PRICE, PRICE, 2000n], async () => {
        const bought = await pay(`${service.url}${COMPANY}/73848/`)
        expect(companyResponseSchema.parse(await bought.json()).company.company_number).to.equal('73848')
        const found = await pay(`${service.url}${SEARCH}/?q=Plain+Fixture+Limited`)
        expect(searchResponseSchema.parse(await found.json()).candidates).to.have.length.greaterThan(0)
        const headers = { 'Content-Type': 'application/json' }
        const resolved = await pay(`${service.url}${RESOLVE}/`, {
          method: 'POST',
          headers,
          body: '{"company_number":"73848"}',
        })
        expect(resolveResponseSchema.parse(await resolved.json()).match?.company.company_number).to.equal('73848')
      })
    })

    it('works with the SDK’s ClientFactory client over A2A, paying with @x402/fetch', async () => {
      const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new JsonRpcTransportFactory({ fetchImpl: payingFetch() })],
      })
      const client = await new ClientFactory(options).createFromUrl(service.url)
      await expectCharges(service, [PRICE], async () => {
        const result = await client.sendMessage(
          {
            tenant: '',
            metadata: undefined,
            configuration: undefined,
            message: {
              messageId: crypto.randomUUID(),
              contextId: '',
              taskId: '',
              role: 1,
              parts: [
                {
                  content: { $case: 'data', value: { operation: 'lookup', input: { company_number: '73848' } } },
                  metadata: undefined,
                  filename: '',
                  mediaType: 'application/json',
                },
              ],
              metadata: undefined,
              extensions: [],
              referenceTaskIds: [],
            },
          },
          { serviceParameters: ServiceParameters.create(withA2AExtensions(`${service.url}/docs#http-x402-v1`)) },
        )
        const content = 'parts' in result ? result.parts[0]?.content : undefined
        expect(companyResponseSchema.parse(content?.value).company.company_number).to.equal('73848')
      })
    })
  })
})
