/** Spec 9: the versions that the service, its payments, its agent and its answers say of themselves. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { askingOf } from '../support/doors.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { send, type RawReply } from '../support/raw-http.ts'

describe('the versions of the contract', () => {
  let service: FakedService
  before(async () => {
    service = await startFakedService()
  })
  after(() => service.stop())

  const { search, resolve, a2a } = askingOf(() => service)
  const get = (path: string, payment?: string) =>
    send({ url: service.url, path, headers: payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment } })
  const payFor = async (unpaid: RawReply) => service.pay(String(unpaid.headers['payment-required']))

  it('are 0.1.0 of the service, in metadata, description and card, and 3.1.0 of OpenAPI', async () => {
    const [meta, description, card] = await Promise.all(
      ['/api/v1/meta', '/openapi.json', '/.well-known/agent-card.json'].map((path) => get(path)),
    )
    expect(meta?.json['version']).to.equal('0.1.0')
    expect(description?.json['openapi']).to.equal('3.1.0')
    expect(description?.json['info']).to.include({ version: '0.1.0' })
    expect(card?.json['version']).to.equal('0.1.0')
  })

  it('are v1 in the path of every paid route, and in no other spelling', async () => {
    const { endpoints } = (await get('/api/v1/meta')).json as { endpoints: string[] }
    expect(endpoints).to.have.lengthOf(3)
    for (const endpoint of endpoints) expect(endpoint).to.match(/^(GET|POST) \/api\/v1\//)
    for (const path of ['/api/company/1', '/api/v2/company/1', '/company/1'])
      expect((await get(path)).status).to.equal(404)
  })

  it('are 2 of x402, in the quote and in what is taken', async () => {
    const unpaid = await get('/api/v1/company/73848')
    expect(decodePaymentRequiredHeader(String(unpaid.headers['payment-required'])).x402Version).to.equal(2)
    const payment = await payFor(unpaid)
    const old = { ...(JSON.parse(Buffer.from(payment, 'base64').toString()) as object), x402Version: 1 }
    const refused = await get('/api/v1/company/73848', Buffer.from(JSON.stringify(old)).toString('base64'))
    expect(refused.json['error']).to.include({ code: 'payment_invalid' })
    expect((await get('/api/v1/company/73848', payment)).status).to.equal(200)
  })

  it('are 1.0 of A2A and http-x402-v1 of its payment extension', async () => {
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

  it('are in every answer: of the data, and of the matching where there was some', async () => {
    const { snapshot_id } = (await get('/api/v1/meta')).json
    const lookup = await get('/api/v1/company/73848', await payFor(await get('/api/v1/company/73848')))
    expect(lookup.json).to.include({ snapshot_id }).and.to.not.have.any.keys('matching_version')
    const answers = [
      await search('q=abc', await payFor(await search('q=abc'))),
      await resolve({ name: 'abc' }, await payFor(await resolve({ name: 'abc' }))),
    ]
    for (const { json } of answers) {
      expect(json).to.include({ snapshot_id })
      expect(json['matching_version']).to.match(/^ie-names-[0-9]+$/)
    }
    const part = { operation: 'search', input: { q: 'abc' } }
    const { result } = (await a2a(part, await payFor(await a2a(part)))).json as {
      result: { message: { parts: [{ data: object }] } }
    }
    expect(result.message.parts[0].data).to.deep.equal(answers[0]?.json)
  })
})
