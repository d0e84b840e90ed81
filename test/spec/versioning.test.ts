/** The versions that the service states (contract 9). */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { buyOverTransports, messageOf } from '../support/transports.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { header } from '../support/payments.ts'

describe('the versions of the contract', () => {
  let service: FakedService
  before(async () => {
    service = await startFakedService()
  })
  after(() => service.stop())

  const { get, lookup, search, resolve, a2a, payFor, buy } = buyOverTransports(() => service)

  it('[9.1] are 0.1.0 in metadata, OpenAPI description and card, and 3.1.0 of OpenAPI', async () => {
    const [meta, description, card] = await Promise.all(
      ['/api/v1/meta', '/openapi.json', '/.well-known/agent-card.json'].map((path) => get(path)),
    )
    expect(meta?.json['version']).to.equal('0.1.0')
    expect(description?.json['openapi']).to.equal('3.1.0')
    expect(description?.json['info']).to.include({ version: '0.1.0' })
    expect(card?.json['version']).to.equal('0.1.0')
  })

  it('[9.1] are v1 in the path of every paid route', async () => {
    const { endpoints } = (await get('/api/v1/meta')).json as { endpoints: string[] }
    expect(endpoints).to.have.lengthOf(7)
    for (const endpoint of endpoints) expect(endpoint).to.match(/^(GET|POST) \/api\/v1\//)
    for (const path of ['/api/company/1', '/api/v2/company/1', '/company/1'])
      expect((await get(path)).status).to.equal(404)
  })

  it('[9.1] are 2 of x402, in quotes and accepted payments', async () => {
    const unpaid = await lookup('73848')
    expect(decodePaymentRequiredHeader(String(unpaid.headers['payment-required'])).x402Version).to.equal(2)
    const payment = await payFor(lookup('73848'))
    const old = { ...(JSON.parse(Buffer.from(payment, 'base64').toString()) as object), x402Version: 1 }
    const refused = await lookup('73848', header(old))
    expect(refused.json['error']).to.include({ code: 'payment_invalid' })
    expect((await lookup('73848', payment)).status).to.equal(200)
  })

  it('[9.1] are 1.0 of A2A and http-x402-v1 of its payment extension', async () => {
    const { supportedInterfaces, capabilities } = (await get('/.well-known/agent-card.json')).json as {
      supportedInterfaces: object[]
      capabilities: { extensions: { uri: string; required: boolean }[] }
    }
    expect(supportedInterfaces).to.deep.equal([
      { url: `${service.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ])
    expect(capabilities.extensions.map(({ uri, required }) => [uri, required])).to.deep.equal([
      [`${service.url}/docs#http-x402-v1`, true],
    ])
    expect((await get('/docs')).text).to.contain('id="http-x402-v1"')
  })

  it('[1.4] are in every answer: snapshot_id, and matching_version for search and resolve', async () => {
    const { snapshot_id } = (await get('/api/v1/meta')).json
    const { json: company } = await buy((payment) => lookup('73848', payment))
    expect(company).to.include({ snapshot_id }).and.to.not.have.any.keys('matching_version')
    const answers = [
      await buy((payment) => search('q=abc', payment)),
      await buy((payment) => resolve({ name: 'abc' }, payment)),
    ]
    for (const { json } of answers) {
      expect(json).to.include({ snapshot_id })
      expect(json['matching_version']).to.match(/^ie-names-[0-9]+$/)
    }
    const bought = await buy((payment) => a2a({ operation: 'search', input: { q: 'abc' } }, payment))
    expect(messageOf(bought).data).to.deep.equal(answers[0]?.json)
  })
})
