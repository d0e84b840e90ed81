/** Spec 5: the constants of both deployments as buyers meet them: in the quotes of both doors, the metadata and the card. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { askingOf } from '../support/doors.ts'
import { MAINNET, startFakedService, type FakedService } from '../support/faked-service.ts'
import { testTerms } from '../support/payments.ts'
import { expectRefusal, send } from '../support/raw-http.ts'

/** As the contract has them, with the USDC of each network. */
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
const SYNTHETIC = '/api/v1/company/00000000'

for (const mode of ['mainnet', 'testnet'] as const) {
  describe(`the constants of the ${mode} deployment`, () => {
    const { network, asset, domain, prices } = CONSTANTS[mode]
    const signing = { ...domain, chainId: Number(network.slice('eip155:'.length)), verifyingContract: asset }
    let service: FakedService
    before(async () => {
      service = await startFakedService({ environment: mode === 'mainnet' ? MAINNET : {} })
    })
    after(() => service.stop())

    const { search, resolve, a2a } = askingOf(() => service)
    const get = (path: string, headers: Record<string, string> = {}) => send({ url: service.url, path, headers })

    /** An operation asked for by REST and over A2A. */
    const ASK = {
      lookup: [
        () => get('/api/v1/company/73848'),
        () => a2a({ operation: 'lookup', input: { company_number: '73848' } }),
      ],
      search: [() => search('q=abc'), () => a2a({ operation: 'search', input: { q: 'abc' } })],
      resolve: [() => resolve({ name: 'abc' }), () => a2a({ operation: 'resolve', input: { name: 'abc' } })],
    }

    /** What each door's quote asks for. */
    async function requirementsOf(operation: (typeof OPERATIONS)[number]) {
      const replies = await Promise.all(ASK[operation].map((ask) => ask()))
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

    it(`have the network ${network}`, async () => {
      await expectInQuotes({ scheme: 'exact', network })
      expect(await access()).to.include({ mode, network })
    })

    it(`have the asset ${asset}`, async () => {
      await expectInQuotes({ asset })
      expect(await access()).to.include({ asset })
    })

    it('have the receiver that is configured', async () => {
      await expectInQuotes({ payTo: testTerms.payTo })
      expect(await access()).to.include({ pay_to: testTerms.payTo, payment_required: true })
    })

    it(`have the EIP-712 domain ${domain.name}, ${domain.version}, and take no signature for another`, async () => {
      await expectInQuotes({ extra: domain })
      const quote = String((await get('/api/v1/company/73848')).headers['payment-required'])
      const other = CONSTANTS[mode === 'mainnet' ? 'testnet' : 'mainnet'].domain
      const wrong = await service.pay(quote, { domain: { ...signing, ...other } })
      const reply = await get('/api/v1/company/73848', { 'PAYMENT-SIGNATURE': wrong })
      expect(reply.status).to.equal(402)
      expect(service.counts().settled).to.equal(0)
    })

    for (const operation of OPERATIONS) {
      it(`have the ${operation} price ${prices[operation]}`, async () => {
        for (const requirements of await requirementsOf(operation))
          expect(requirements?.amount).to.equal(String(prices[operation]))
        const { endpoint_prices, price_micro_usdc } = await access()
        const path = operation === 'lookup' ? '/api/v1/company' : `/api/v1/${operation}`
        expect(endpoint_prices).to.have.property(path, prices[operation])
        expect(price_micro_usdc).to.equal(prices.lookup)
      })
    }

    it('are in the card too', async () => {
      const { capabilities } = (await get('/.well-known/agent-card.json')).json as {
        capabilities: { extensions: { uri: string; params: object }[] }
      }
      const [extension, ...more] = capabilities.extensions
      expect(more).to.deep.equal([])
      expect(extension?.params).to.include({ network, asset, receiver: testTerms.payTo })
    })

    it('sell data, and the synthetic company on testnet alone', async () => {
      const buy = async (path: string) => {
        const quote = String((await get(path)).headers['payment-required'])
        return get(path, { 'PAYMENT-SIGNATURE': await service.pay(quote, { domain: signing }) })
      }
      expect((await buy('/api/v1/company/73848')).json['company']).to.include({ company_number: '73848' })
      const { settled } = service.counts()
      const synthetic = await buy(SYNTHETIC)
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
