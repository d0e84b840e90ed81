/** Spec 4.1 and 5 on the whole service and a real chain: a lookup bought over REST and over A2A, once. */
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
import { settleDirectly } from '../support/settle-directly.ts'
import { startTestService, type TestService } from '../support/service.ts'

const PRICE = 1000n

interface Bought {
  status: number
  body: string
  json: { error?: { code: string }; company?: { company_number: string }; [name: string]: unknown }
  required: string | null
  response: string | null
}

describe('a paid lookup', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  async function read(response: Response): Promise<Bought> {
    const body = await response.text()
    return {
      status: response.status,
      body,
      json: JSON.parse(body) as Bought['json'],
      required: response.headers.get('PAYMENT-REQUIRED'),
      response: response.headers.get('PAYMENT-RESPONSE'),
    }
  }

  const rest = async (number: string, payment?: string) =>
    read(
      await fetch(`${service.url}/api/v1/company/${number}`, {
        headers: payment ? { 'PAYMENT-SIGNATURE': payment } : {},
      }),
    )

  const a2a = async (number: string, payment?: string, id: string | number = 1) =>
    read(
      await fetch(`${service.url}/a2a`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'A2A-Version': '1.0',
          'A2A-Extensions': `${service.url}/docs#http-x402-v1`,
          ...(payment && { 'PAYMENT-SIGNATURE': payment }),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id,
          method: 'SendMessage',
          params: {
            message: {
              messageId: `m-${id}`,
              role: 'ROLE_USER',
              parts: [{ data: { operation: 'lookup', input: { company_number: number } } }],
            },
          },
        }),
      }),
    )

  const messageOf = (bought: Bought) =>
    (bought.json['result'] as { message: { messageId: string; role: string; parts: { data: unknown }[] } }).message

  const quoteAndPay = async (number: string) => service.pay((await rest(number)).required)

  /** Runs the work and says what it cost. */
  async function cost(work: () => Promise<void>) {
    const before = await service.paid()
    await work()
    const after = await service.paid()
    return {
      spent: before.left - after.left,
      earned: after.received - before.received,
      transfers: after.transfers - before.transfers,
    }
  }

  const ONCE = { spent: PRICE, earned: PRICE, transfers: 1 }
  const NOTHING = { spent: 0n, earned: 0n, transfers: 0 }

  it('is quoted with the REST resource, the true asset and the price', async () => {
    const unpaid = await rest('73848')
    expect(unpaid.status).to.equal(402)
    expect(unpaid.json.error?.code).to.equal('payment_required')
    const quote = decodePaymentRequiredHeader(unpaid.required ?? '')
    expect(unpaid.json['payment_required']).to.deep.equal(quote)
    const { extensions, ...terms } = quote
    expect(Object.keys(extensions ?? {})).to.deep.equal(['bazaar', 'payment-identifier'])
    expect(terms).to.deep.equal({
      x402Version: 2,
      error: 'PAYMENT-SIGNATURE header is required',
      resource: {
        url: `${service.url}/api/v1/company/73848`,
        description: 'One Irish company record by its number.',
        mimeType: 'application/json',
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

  it('costs the buyer 1000 micro-USDC once and answers the retry byte for byte', async () => {
    const payment = await quoteAndPay('73848')
    const answers: Bought[] = []
    expect(
      await cost(async () => {
        for (let attempt = 0; attempt < 3; attempt += 1) answers.push(await rest('73848', payment))
      }),
    ).to.deep.equal(ONCE)
    const [first] = answers
    for (const answer of answers) expect(answer).to.deep.equal(first)
    expect(first?.status).to.equal(200)
    const response = companyResponseSchema.parse(first?.json)
    expect(response.company.legal_name).to.equal('PLAIN FIXTURE LIMITED')
    const settlement = decodePaymentResponseHeader(first?.response ?? '')
    expect(settlement).to.include({
      success: true,
      network: 'eip155:84532',
      payer: service.buyer.address,
      amount: '1000',
    })
    expect(settlement.transaction).to.match(/^0x[0-9a-f]{64}$/)
  })

  it('is sold over A2A as data of a direct Message, with the quote of the REST resource', async () => {
    const unpaid = await a2a('1002')
    expect(unpaid.status).to.equal(402)
    expect(decodePaymentRequiredHeader(unpaid.required ?? '').resource.url).to.equal(
      `${service.url}/api/v1/company/1002`,
    )
    const payment = await service.pay(unpaid.required)
    let bought: Bought | undefined
    expect(await cost(async () => void (bought = await a2a('1002', payment)))).to.deep.equal(ONCE)
    const message = messageOf(bought as Bought)
    expect(message.role).to.equal('ROLE_AGENT')
    const { company } = companyResponseSchema.parse(message.parts[0]?.data)
    expect(company).to.deep.include({ legal_name: 'ALÉO FIXTURE TEORANTA', nace_v2_code: '0150', status: 'Normal' })
    expect(decodePaymentResponseHeader(bought?.response ?? '').success).to.equal(true)
  })

  it('is the same Message for every replay; only the JSON-RPC id is the request’s own', async () => {
    const payment = await quoteAndPay('1002')
    const first = await a2a('1002', payment, 'one')
    const again = await a2a('1002', payment, 2)
    expect(first.json['id']).to.equal('one')
    expect(again.json['id']).to.equal(2)
    expect(messageOf(again)).to.deep.equal(messageOf(first))
    expect(again.response).to.equal(first.response)
  })

  it('paid on REST is replayed on A2A with the same data, and the other way round', async () => {
    const payment = await quoteAndPay('1004')
    const other = await quoteAndPay('1005')
    const total = await cost(async () => {
      const bought = await rest('1004', payment)
      const replayed = await a2a('1004', payment)
      expect(messageOf(replayed).parts[0]?.data).to.deep.equal(bought.json)
      expect(replayed.response).to.equal(bought.response)
      const asMessage = await a2a('1005', other)
      expect((await rest('1005', other)).json).to.deep.equal(messageOf(asMessage).parts[0]?.data)
    })
    expect(total).to.deep.equal({ spent: 2n * PRICE, earned: 2n * PRICE, transfers: 2 })
  })

  it('gives no data of another company for the same payment', async () => {
    const payment = await quoteAndPay('1004')
    await rest('1004', payment)
    const total = await cost(async () => {
      for (const answer of [await rest('1005', payment), await a2a('1005', payment), await rest('99', payment)]) {
        expect(answer.status).to.equal(409)
        expect(answer.json).to.have.all.keys('error')
        expect(answer.json.error?.code).to.equal('payment_replay_conflict')
      }
    })
    expect(total).to.deep.equal(NOTHING)
  })

  it('answers twenty identical requests at once from one transfer', async () => {
    const payment = await quoteAndPay('73848')
    let answers: Bought[] = []
    const total = await cost(async () => {
      answers = await Promise.all(Array.from({ length: 20 }, () => rest('73848', payment)))
    })
    expect(total).to.deep.equal(ONCE)
    expect(answers.map(({ status }) => status)).to.deep.equal(Array<number>(20).fill(200))
    for (const answer of answers) expect(answer).to.deep.equal(answers[0])
  })

  it('answers one of twenty different requests with one payment, and 409 to nineteen', async () => {
    // Without `resource` in the payload nothing but the log stands between the twenty.
    const payment = await quoteAndPay('5001')
    const numbers = Array.from({ length: 20 }, (_, index) => String(5001 + index))
    let answers: Bought[] = []
    const total = await cost(async () => {
      // Twelve by REST, and the eight that A2A takes at once.
      answers = await Promise.all(numbers.map((number, index) => (index < 12 ? rest : a2a)(number, payment)))
    })
    expect(total).to.deep.equal(ONCE)
    expect(answers.filter(({ status }) => status === 200)).to.have.lengthOf(1)
    expect(answers.filter(({ json }) => json.error?.code === 'payment_replay_conflict')).to.have.lengthOf(19)
  })

  it('charges nothing for a missing company, and the same payment then buys another', async () => {
    const payment = await quoteAndPay('999')
    const total = await cost(async () => {
      const missing = await rest('999', payment)
      expect(missing.status).to.equal(404)
      expect(missing.json).to.have.all.keys('company', 'error', 'source', 'snapshot_id')
      expect(missing.json).to.deep.include({ company: null })
      expect(missing.json.error?.code).to.equal('company_not_found')
      expect(missing.response).to.equal(null)
    })
    expect(total).to.deep.equal(NOTHING)
    const bought = await cost(async () => {
      expect((await rest('1004', payment)).status).to.equal(200)
    })
    expect(bought).to.deep.equal(ONCE)
  })

  it('charges nothing for a quarantined number', async () => {
    const payment = await quoteAndPay('2001')
    const total = await cost(async () => {
      const conflict = await rest('2001', payment)
      expect(conflict.status).to.equal(409)
      expect(conflict.json).to.have.all.keys('company', 'error', 'source', 'snapshot_id')
      expect(conflict.json.error?.code).to.equal('source_data_conflict')
      expect((await a2a('2001', payment)).body).to.equal(conflict.body)
    })
    expect(total).to.deep.equal(NOTHING)
  })

  it('quotes a missing company like any other: existence is what is sold', async () => {
    const missing = await rest('999')
    expect(missing.status).to.equal(402)
    expect((await rest('2001')).status).to.equal(402)
  })

  it('answers a retry after a restart and after a newer snapshot with what was bought', async () => {
    const payment = await quoteAndPay('1003')
    const bought = await rest('1003', payment)
    expect(
      await cost(async () => {
        await service.restart()
        // The service has another port and so another base URL now; the payment and its answer stay.
        expect(await rest('1003', payment)).to.deep.equal(bought)
      }),
    ).to.deep.equal(NOTHING)
  })

  it('refuses a payment that was burned before, without a record of ours', async () => {
    const payment = await quoteAndPay('1004')
    const { payload } = JSON.parse(Buffer.from(payment, 'base64').toString()) as { payload: Record<string, unknown> }
    await settleDirectly({ rpcUrl: service.rpcUrl, payload })
    const refused = await rest('1004', payment)
    expect(refused.status).to.equal(402)
    expect(refused.json.error?.code).to.equal('payment_rejected')
    expect(decodePaymentRequiredHeader(refused.required ?? '').error).to.equal('authorization_used')
  })

  it('refuses a payer without money before anything is prepared', async () => {
    const stranger = await service.pay((await rest('1004')).required, { key: `0x${'42'.repeat(32)}` })
    const refused = await rest('1004', stranger)
    expect(refused.status).to.equal(402)
    expect(decodePaymentRequiredHeader(refused.required ?? '').error).to.equal('insufficient_funds')
  })

  describe('by a stock client', () => {
    const payingFetch = () => {
      const client = new x402Client().register('eip155:*', new ExactEvmScheme(service.buyer))
      return wrapFetchWithPayment(fetch, client)
    }

    it('works with @x402/fetch over REST', async () => {
      const total = await cost(async () => {
        const bought = await read(await payingFetch()(`${service.url}/api/v1/company/73848`))
        expect(bought.status).to.equal(200)
        expect(companyResponseSchema.parse(bought.json).company.company_number).to.equal('73848')
        expect(decodePaymentResponseHeader(bought.response ?? '').success).to.equal(true)
      })
      expect(total).to.deep.equal(ONCE)
    })

    it('works with the SDK’s ClientFactory client over A2A, paying with @x402/fetch', async () => {
      const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new JsonRpcTransportFactory({ fetchImpl: payingFetch() })],
      })
      const client = await new ClientFactory(options).createFromUrl(service.url)
      const total = await cost(async () => {
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
      expect(total).to.deep.equal(ONCE)
    })
  })
})
