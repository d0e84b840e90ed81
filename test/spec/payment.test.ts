/** The constants of both modes in quotes, metadata and agent card (contract 5.2). */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { MAINNET, startFakedService } from '../support/faked-service.ts'
import { testTerms } from '../support/payments.ts'
import { expectRefusal } from '../support/raw-http.ts'
import { useService } from '../support/use-service.ts'

/** The values of contract 5.2.1. */
const CONSTANTS = {
  mainnet: {
    network: 'eip155:8453',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    domain: { name: 'USD Coin', version: '2' },
    price: 10_000,
  },
  testnet: {
    network: 'eip155:84532',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    domain: { name: 'USDC', version: '2' },
    price: 1_000,
  },
} as const

const OPERATIONS = [
  { operation: 'lookup', input: { company_number: '73848' }, path: '/api/v1/company', factor: 1 },
  { operation: 'search', input: { q: 'abc' }, path: '/api/v1/search', factor: 1 },
  { operation: 'resolve', input: { name: 'abc' }, path: '/api/v1/resolve', factor: 2 },
  {
    operation: 'history',
    input: { company_number: '73848' },
    path: '/api/v1/company/{company_number}/history',
    factor: 1,
  },
  {
    operation: 'as_of',
    input: { company_number: '73848', date: '2026-01-02' },
    path: '/api/v1/company/{company_number}/as-of/{date}',
    factor: 1,
  },
  { operation: 'changes', input: { since: '2026-01-02' }, path: '/api/v1/changes', factor: 1 },
]

for (const mode of ['mainnet', 'testnet'] as const) {
  describe(`[5.2.1, 1.5] the constants of ${mode}`, () => {
    const { network, asset, domain, price } = CONSTANTS[mode]
    const signing = { ...domain, chainId: Number(network.slice('eip155:'.length)), verifyingContract: asset }
    const { service, get, lookup, rest, a2a, mcp } = useService(() =>
      startFakedService({ environment: mode === 'mainnet' ? MAINNET : {} }),
    )

    for (const { operation, input, path, factor } of OPERATIONS) {
      it(`[1.1] are in every quote of ${operation}, and its price is in the metadata`, async () => {
        for (const ask of [rest, a2a, mcp]) {
          const { headers } = await ask({ operation, input })
          const { x402Version, accepts } = decodePaymentRequiredHeader(String(headers['payment-required']))
          expect(x402Version).to.equal(2)
          const terms = { scheme: 'exact', network, asset, payTo: testTerms.payTo, extra: domain }
          expect(accepts).to.deep.equal([{ ...terms, amount: String(price * factor), maxTimeoutSeconds: 300 }])
        }
        const { access } = (await get('/api/v1/meta')).json as { access: { endpoint_prices: object } }
        expect(access.endpoint_prices).to.have.property(path, price * factor)
      })
    }

    it('are in metadata and agent card', async () => {
      const { access } = (await get('/api/v1/meta')).json
      const terms = { mode, network, asset, pay_to: testTerms.payTo, payment_required: true, price_micro_usdc: price }
      expect(access).to.include(terms)
      const { capabilities } = (await get('/.well-known/agent-card.json')).json as {
        capabilities: { extensions: { params: object }[] }
      }
      expect(capabilities.extensions).to.have.lengthOf(1)
      expect(capabilities.extensions[0]?.params).to.include({ network, asset, receiver: testTerms.payTo })
    })

    const buy = async (number: string, own: object = signing) => {
      const quote = String((await lookup(number)).headers['payment-required'])
      return lookup(number, await service.pay(quote, { domain: { ...signing, ...own } }))
    }

    it('include the EIP-712 domain: a signature for that of the other mode buys nothing', async () => {
      const { settled } = service.counts()
      const refused = await buy('73848', CONSTANTS[mode === 'mainnet' ? 'testnet' : 'mainnet'].domain)
      expect([refused.status, service.counts().settled]).to.deep.equal([402, settled])
    })

    it('[1.7] sell the synthetic company on testnet only', async () => {
      expect((await buy('73848')).json['company']).to.include({ company_number: '73848' })
      const { settled } = service.counts()
      const synthetic = await buy('00000000')
      if (mode === 'testnet') {
        expect(synthetic.json['company']).to.include({ legal_name: 'SYNTHETIC TEST COMPANY LIMITED' })
        expect(synthetic.json['source']).to.include({ synthetic: true })
      } else {
        expectRefusal(synthetic, 'company_not_found')
        expect(service.counts().settled).to.equal(settled)
      }
    })
  })
}
