/** The constants of both modes in quotes, metadata and agent card (contract 5.2). */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { requestOverTransports } from '../support/transports.ts'
import { MAINNET, startFakedService, type FakedService } from '../support/faked-service.ts'
import { testTerms } from '../support/payments.ts'
import { expectRefusal } from '../support/raw-http.ts'

/** The values of contract 5.2.1. */
const CONSTANTS = {
  mainnet: {
    network: 'eip155:8453',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    domain: { name: 'USD Coin', version: '2' },
    prices: { lookup: 10_000, search: 10_000, resolve: 20_000 },
  },
  testnet: {
    network: 'eip155:84532',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    domain: { name: 'USDC', version: '2' },
    prices: { lookup: 1_000, search: 1_000, resolve: 2_000 },
  },
} as const

const OPERATIONS = ['lookup', 'search', 'resolve'] as const

for (const mode of ['mainnet', 'testnet'] as const) {
  describe(`[5.2.1, 1.5] the constants of ${mode}`, () => {
    const { network, asset, domain, prices } = CONSTANTS[mode]
    const signing = { ...domain, chainId: Number(network.slice('eip155:'.length)), verifyingContract: asset }
    let service: FakedService
    before(async () => {
      service = await startFakedService({ environment: mode === 'mainnet' ? MAINNET : {} })
    })
    after(() => service.stop())

    const { get, lookup, rest, a2a } = requestOverTransports(() => service)

    const INPUTS = { lookup: { company_number: '73848' }, search: { q: 'abc' }, resolve: { name: 'abc' } }

    /** The payment requirements in the quote of each transport. */
    async function requirementsOf(operation: (typeof OPERATIONS)[number]) {
      const data = { operation, input: INPUTS[operation] }
      const replies = await Promise.all([rest(data), a2a(data)])
      return replies.map((reply) => {
        expectRefusal(reply, 'payment_required')
        const quote = decodePaymentRequiredHeader(String(reply.headers['payment-required']))
        expect(quote.x402Version).to.equal(2)
        const [requirements, ...more] = quote.accepts
        expect(more).to.deep.equal([])
        return requirements
      })
    }

    const access = async () => (await get('/api/v1/meta')).json['access'] as Record<string, unknown>

    async function expectInQuotes(constant: object): Promise<void> {
      for (const operation of OPERATIONS)
        for (const requirements of await requirementsOf(operation)) expect(requirements).to.deep.include(constant)
    }

    it(`has the network ${network}`, async () => {
      await expectInQuotes({ scheme: 'exact', network })
      expect(await access()).to.include({ mode, network })
    })

    it(`has the asset ${asset}`, async () => {
      await expectInQuotes({ asset })
      expect(await access()).to.include({ asset })
    })

    it('has the configured receiver', async () => {
      await expectInQuotes({ payTo: testTerms.payTo })
      expect(await access()).to.include({ pay_to: testTerms.payTo, payment_required: true })
    })

    it(`has the EIP-712 domain ${domain.name}, ${domain.version}, and refuses a signature for another`, async () => {
      await expectInQuotes({ extra: domain })
      const quote = String((await lookup('73848')).headers['payment-required'])
      const other = CONSTANTS[mode === 'mainnet' ? 'testnet' : 'mainnet'].domain
      const wrong = await service.pay(quote, { domain: { ...signing, ...other } })
      const reply = await lookup('73848', wrong)
      expect(reply.status).to.equal(402)
      expect(service.counts().settled).to.equal(0)
    })

    for (const operation of OPERATIONS) {
      it(`has the ${operation} price ${prices[operation]}`, async () => {
        for (const requirements of await requirementsOf(operation))
          expect(requirements?.amount).to.equal(String(prices[operation]))
        const { endpoint_prices, price_micro_usdc } = await access()
        const path = operation === 'lookup' ? '/api/v1/company' : `/api/v1/${operation}`
        expect(endpoint_prices).to.have.property(path, prices[operation])
        expect(price_micro_usdc).to.equal(prices.lookup)
      })
    }

    it('states the same in the agent card', async () => {
      const { capabilities } = (await get('/.well-known/agent-card.json')).json as {
        capabilities: { extensions: { uri: string; params: object }[] }
      }
      const [extension, ...more] = capabilities.extensions
      expect(more).to.deep.equal([])
      expect(extension?.params).to.include({ network, asset, receiver: testTerms.payTo })
    })

    it('[1.7] sells the synthetic company on testnet only', async () => {
      const buy = async (number: string) => {
        const quote = String((await lookup(number)).headers['payment-required'])
        return lookup(number, await service.pay(quote, { domain: signing }))
      }
      expect((await buy('73848')).json['company']).to.include({ company_number: '73848' })
      const { settled } = service.counts()
      const synthetic = await buy('00000000')
      if (mode === 'testnet') {
        expect(synthetic.json['company']).to.include({ legal_name: 'SYNTHETIC TEST COMPANY LIMITED' })
        expect(synthetic.json['source']).to.include({ synthetic: true })
      } else {
        expect([synthetic.status, synthetic.json['company']]).to.deep.equal([404, null])
        expect(synthetic.json['error']).to.include({ code: 'company_not_found' })
        expect(service.counts().settled).to.equal(settled)
      }
    })
  })
}
