/** Spec 2.9, 2.10 and 4.4: the free documents: metadata, attribution, public keys, and a card that anyone can verify. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { ClientFactory } from '@a2a-js/sdk/client'
import { expect } from 'chai'
import { verifyCard } from '../../agent/client/verify-card.ts'
import { CompanyAgentExecutor } from '../../agent/executor/agent-executor.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { createApp } from '../../rest-facade/app.ts'
import { sourceSchema } from '../../store/source.ts'
import { header, signedPayment, testTerms } from '../support/payments.ts'
import { expectRefusal, send } from '../support/raw-http.ts'
import { TestSeller } from '../support/seller.ts'
import { startTestService, type TestService } from '../support/service.ts'

const META = '/api/v1/meta'
const ATTRIBUTION = '/attribution'
const JWKS = '/.well-known/jwks.json'
const CARD = '/.well-known/agent-card.json'

type Json = Record<string, unknown>

/** A message of one part over A2A. */
function rpc(url: string, part: Json) {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [part] }
  const headers = {
    'Content-Type': 'application/json',
    'A2A-Version': '1.0',
    'A2A-Extensions': `${url}/docs#http-x402-v1`,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  return send({ url, method: 'POST', path: '/a2a', headers, body })
}

/** Every place in a JSON value that holds nothing: `""`, `[]`, `{}` or null. */
function emptyPlaces(value: unknown, place = '$'): string[] {
  if (value === null || value === '') return [place]
  if (typeof value !== 'object') return []
  const members = Object.entries(value)
  return members.length === 0 ? [place] : members.flatMap(([name, member]) => emptyPlaces(member, `${place}.${name}`))
}

/** The card once for every text and boolean in it, with that one changed in one place. */
function tampered(card: Json): Json[] {
  const changes: Json[] = []
  const walk = (value: unknown, put: (next: unknown) => unknown): void => {
    if (typeof value === 'boolean') changes.push(put(!value) as Json)
    else if (typeof value === 'string')
      changes.push(put(`${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}`) as Json)
    else if (Array.isArray(value)) value.forEach((each, index) => walk(each, (next) => put(value.with(index, next))))
    else
      for (const [name, each] of Object.entries(value as Json))
        walk(each, (next) => put({ ...(value as Json), [name]: next }))
  }
  const { signatures, ...body } = card
  walk(body, (next) => ({ ...(next as Json), signatures }))
  return changes
}

describe('the free documents', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ environment: { RATE_LIMIT_PER_MINUTE: '77' } })
  })
  after(() => service.stop())

  const get = (path: string, headers: Record<string, string> = {}) => send({ url: service.url, path, headers })

  describe('metadata', () => {
    it('has every field of the contract, and no other', async () => {
      const { status, json } = await get(META)
      expect(status).to.equal(200)
      const { source, snapshot_id, imported_at, ...rest } = json
      expect(sourceSchema.parse(source)).to.include({ license_url: 'https://creativecommons.org/licenses/by/4.0/' })
      expect(snapshot_id).to.match(/^sha256:[0-9a-f]{64}$/)
      expect(Date.parse(String(imported_at))).to.be.within(Date.now() - 60_000, Date.now())
      expect(rest).to.deep.equal({
        service: 'irish-company-agent',
        version: '0.1.0',
        endpoints: ['GET /api/v1/company/{company_number}', 'GET /api/v1/search', 'POST /api/v1/resolve'],
        dataset_status: 'ready',
        row_count: 30,
        quarantined_company_count: 1,
        rejected_row_count: 0,
        access: {
          mode: 'testnet',
          network: 'eip155:84532',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          pay_to: service.payTo,
          payment_required: true,
          price_micro_usdc: 1000,
          endpoint_prices: { '/api/v1/company': 1000, '/api/v1/search': 1000, '/api/v1/resolve': 2000 },
          limit_scope: 'shared_origin_service',
          lookup_limit_per_minute: 77,
        },
      })
    })

    it('names the snapshot and the source that a bought answer names', async () => {
      const quote = await get('/api/v1/company/73848')
      const payment = await service.pay(String(quote.headers['payment-required']))
      const bought = await get('/api/v1/company/73848', { 'PAYMENT-SIGNATURE': payment })
      const { json: meta } = await get(META)
      expect(bought.json['snapshot_id']).to.equal(meta['snapshot_id'])
      expect(bought.json['source']).to.deep.equal(meta['source'])
    })

    it('says since when it is stale', async () => {
      let hours = 0
      const ageing = await startTestService({ now: () => new Date(Date.now() + hours * 3_600_000) })
      try {
        for (const [age, status] of [
          [71.99, 'ready'],
          [72.01, 'stale'],
        ] as const) {
          hours = age
          expect((await send({ url: ageing.url, path: META })).json['dataset_status']).to.equal(status)
        }
      } finally {
        await ageing.stop()
      }
    })
  })

  it('attribution is what the data is licensed under', async () => {
    const { status, json } = await get(ATTRIBUTION)
    const { publisher, dataset_url, license, license_url, notice } = (await get(META)).json['source'] as Json
    expect(status).to.equal(200)
    expect(json).to.deep.equal({ publisher, dataset_url, license, license_url, notice })
    expect(json).to.include({ publisher: 'Companies Registration Office (CRO)' })
  })

  it('the key set has public members only, and the key files stay private', async () => {
    const { status, json, text } = await get(JWKS)
    expect(status).to.equal(200)
    expect(json).to.have.all.keys('keys')
    const keys = json['keys'] as Json[]
    expect(keys).to.have.lengthOf(1)
    for (const key of keys) {
      expect(key).to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
      expect(key).not.to.have.any.keys('d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth')
    }
    expect(text).not.to.include('"d"')
  })

  for (const path of [META, ATTRIBUTION, JWKS, CARD]) {
    it(`${path} has a strong ETag, answers 304 to it and HEAD without a body`, async () => {
      const first = await get(path)
      const etag = String(first.headers['etag'])
      expect(etag).to.match(/^"[^"]+"$/)
      expect(first.headers['cache-control']).to.match(/^public, max-age=[0-9]+$/)
      expect(first.headers['content-type']).to.equal('application/json; charset=utf-8')
      expect((await get(path)).text).to.equal(first.text)
      for (const match of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
        const unchanged = await get(path, { 'If-None-Match': match })
        expect(unchanged).to.deep.include({ status: 304, text: '' })
        expect(unchanged.headers['etag']).to.equal(etag)
      }
      expect((await get(path, { 'If-None-Match': '"other"' })).status).to.equal(200)
      const head = await send({ url: service.url, path, method: 'HEAD' })
      expect(head).to.deep.include({ status: 200, text: '' })
      expect(head.headers).to.include({ etag, 'content-length': String(Buffer.byteLength(first.text)) })
    })
  }

  describe('the agent card', () => {
    const card = async () => (await get(CARD)).json

    /** Takes the key from the URL that the signature itself names. */
    const bySdk = verifyAgentCardSignature(async (kid, jku) => {
      expect(jku).to.equal(`${service.url}${JWKS}`)
      const { keys } = (await (await fetch(String(jku))).json()) as { keys: Json[] }
      const key = keys.find((each) => each['kid'] === kid)
      if (!key) throw new Error('The key set has no such key')
      return key
    })

    /** The plain check, of this card in place of the served one. */
    const plainly = (json: Json) =>
      verifyCard(service.url, async (url, init) =>
        url === `${service.url}${CARD}` ? Response.json(json) : fetch(url, init),
      )

    const isRefused = (check: Promise<unknown>) =>
      check.then(
        (verified) => verified === undefined,
        () => true,
      )

    it('says what is spoken and sold, with nothing empty in it', async () => {
      const json = await card()
      expect(emptyPlaces(json)).to.deep.equal([])
      expect(json['supportedInterfaces']).to.deep.equal([
        { url: `${service.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ])
      expect((json['skills'] as Json[]).map(({ id }) => id)).to.deep.equal(['lookup', 'search', 'resolve'])
      const { extensions, ...capabilities } = json['capabilities'] as { extensions: Json[] }
      expect(extensions.map(({ uri, required }) => ({ uri, required }))).to.deep.equal([
        { uri: `${service.url}/docs#http-x402-v1`, required: true },
      ])
      // Not offered: streaming, push notifications, an extended card.
      expect(Object.values(capabilities).filter(Boolean)).to.deep.equal([])
    })

    it('says who provides it, where it is documented, and what each skill takes and gives', async () => {
      const { provider, documentationUrl, skills, version } = await card()
      expect(provider).to.deep.equal({ organization: 'irish-company-agent', url: service.url })
      expect(documentationUrl).to.equal(`${service.url}/docs`)
      expect(version).to.equal('0.1.0')
      for (const skill of skills as Json[]) {
        expect(skill).to.have.all.keys('id', 'name', 'description', 'tags', 'examples', 'inputModes', 'outputModes')
        expect(skill['inputModes']).to.deep.equal(['application/json'])
        expect(skill['outputModes']).to.deep.equal(['application/json'])
        expect((skill['tags'] as string[]).length).to.be.greaterThan(3)
        for (const example of skill['examples'] as string[])
          expect(JSON.parse(example)).to.have.all.keys('operation', 'input')
      }
    })

    it('has ASCII only and no numbers, so that every signer writes it alike, and prices as they are charged', async () => {
      const { text } = await get(CARD)
      expect(text).to.match(/^[ -~]*$/)
      const numbers = (value: unknown): unknown[] =>
        typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbers) : [value]
      expect(numbers(JSON.parse(text)).filter((value) => typeof value === 'number')).to.deep.equal([])
      const { extensions } = (await card())['capabilities'] as { extensions: [{ params: Json }] }
      expect(extensions[0].params).to.include({
        network: 'eip155:84532',
        receiver: service.payTo,
        lookupMicroUsdc: '1000',
        searchMicroUsdc: '1000',
        resolveMicroUsdc: '2000',
        guide: `${service.url}/docs/a2a.md`,
      })
    })

    it('is verified by the SDK through the served key set', async () => {
      await bySdk(AgentCard.fromJSON(await card()))
    })

    it('is verified by the SDK’s client', async () => {
      const client = await new ClientFactory().createFromUrl(service.url)
      expect((await client.getAgentCard({}, bySdk)).name).to.equal('Irish company records')
    })

    it('is verified by RFC 8785 and ES256 alone', async () => {
      const [key] = (await get(JWKS)).json['keys'] as [Json]
      expect(await verifyCard(service.url, fetch)).to.equal(key['kid'])
    })

    it('fails both checks with any one character or flag of it changed', async () => {
      const { debug } = console
      console.debug = () => undefined
      try {
        const changes = tampered(await card())
        expect(changes.length).to.be.greaterThan(30)
        for (const change of changes) {
          expect(await isRefused(bySdk(AgentCard.fromJSON(change)).then(() => true)), JSON.stringify(change)).to.equal(
            true,
          )
          expect(await isRefused(plainly(change)), JSON.stringify(change)).to.equal(true)
        }
      } finally {
        console.debug = debug
      }
    })

    it('is not signed anew for each request', async () => {
      const texts = await Promise.all(Array.from({ length: 5 }, async () => (await get(CARD)).text))
      expect(new Set(texts).size).to.equal(1)
    })
  })

  it('an old card is still verified by the new key set after a rotation and a restart', async () => {
    const rotating = await startTestService()
    try {
      const read = async (path: string) => (await send({ url: rotating.url, path })).json
      const oldUrl = rotating.url
      const oldCard = await read(CARD)
      const { keys: oldKeys } = (await read(JWKS)) as { keys: Json[] }
      const { made, retired } = await rotateKeys({ directory: join(rotating.directory, 'keys'), now: Date.now })
      await rotating.restart()

      const { keys } = (await read(JWKS)) as { keys: Json[] }
      expect(keys.map(({ kid }) => kid)).to.deep.equal([made, ...retired])
      expect(keys[1]).to.deep.equal(oldKeys[0])
      // The old card names the old port; its keys are read at the new one.
      const fetchNew: typeof fetch = async (url) =>
        url === `${oldUrl}${CARD}` ? Response.json(oldCard) : fetch(`${rotating.url}${JWKS}`)
      expect(await verifyCard(oldUrl, fetchNew)).to.equal(retired[0])
      await verifyAgentCardSignature(async (kid) => keys.find((key) => key['kid'] === kid) as Json)(
        AgentCard.fromJSON(oldCard),
      )
      expect(await verifyCard(rotating.url, fetch)).to.equal(made)
    } finally {
      await rotating.stop()
    }
  })

  it('are 404 for the card, and so is its door, when A2A is disabled; the rest goes on', async () => {
    const quiet = await startTestService({ environment: { A2A_ENABLED: 'false' } })
    try {
      const ask = (method: string, path: string) => send({ url: quiet.url, method, path })
      for (const method of ['GET', 'POST', 'PUT']) expectRefusal(await ask(method, '/a2a'), 'not_found')
      expectRefusal(await ask('GET', CARD), 'not_found')
      expect(await ask('HEAD', CARD)).to.deep.include({ status: 404, text: '' })
      for (const path of [META, ATTRIBUTION, JWKS]) expect((await ask('GET', path)).status).to.equal(200)
      expectRefusal(await ask('GET', '/api/v1/company/73848'), 'payment_required')
    } finally {
      await quiet.stop()
    }
  })

  it('name an example of every skill that the agent quotes as it stands', async () => {
    const skills = (await get(CARD)).json['skills'] as { id: string; examples: string[] }[]
    const help = await rpc(service.url, { text: 'hello' })
    for (const { id, examples } of skills) {
      expect(examples).to.have.length.greaterThan(0)
      for (const example of examples) {
        expect(help.text).to.include(JSON.stringify(example).slice(1, -1))
        const data = JSON.parse(example) as { operation: string }
        expect(data.operation).to.equal(id)
        expectRefusal(await rpc(service.url, { data }), 'payment_required')
      }
    }
  })

  describe('without any dataset', () => {
    // A whole service retrieves one before it answers; so this is its app on a store that has none yet.
    let seller: TestSeller
    let server: Server
    let url: string

    before(async () => {
      seller = await TestSeller.open()
      const { catalog } = seller.seller
      const baseUrl = 'http://127.0.0.1:4021'
      const executor = new CompanyAgentExecutor({ seller: seller.seller, baseUrl, help: 'help' })
      const { onSale } = executor
      const facts = { version: '0.1.0', terms: testTerms, onSale, rateLimitPerMinute: 120, catalog, now: seller.now }
      server = createServer(
        createApp({ executor, baseUrl, facts, jwks: { keys: [] }, pages: new Map(), report: () => undefined }),
      )
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    })
    after(async () => {
      await new Promise((resolve) => server.close(resolve))
      await seller.close()
    })

    it('metadata is 503 dataset_unavailable', async () => {
      expectRefusal(await send({ url, path: META }), 'dataset_unavailable')
    })

    it('attribution is the register’s', async () => {
      const reply = await send({ url, path: ATTRIBUTION })
      expect(reply.json).to.include({ publisher: 'Companies Registration Office (CRO)' })
    })

    it('a search and a resolution are 503, with and without a payment', async () => {
      const search = { url, path: '/api/v1/search?q=abc' }
      const headers = { 'Content-Type': 'application/json' }
      const resolve = { url, method: 'POST', path: '/api/v1/resolve', body: '{"company_number":"1"}', headers }
      for (const [request, operation] of [
        [search, 'search'],
        [resolve, 'resolve'],
      ] as const) {
        expectRefusal(await send(request), 'dataset_unavailable')
        const payment = header(await signedPayment({ operation }))
        const paid = await send({ ...request, headers: { ...headers, 'PAYMENT-SIGNATURE': payment } })
        expectRefusal(paid, 'dataset_unavailable')
        expect(paid.headers['retry-after']).to.equal('60')
      }
    })

    it('a lookup is 503, with and without a payment, and the synthetic company is still sold', async () => {
      const payment = header(await signedPayment())
      for (const headers of [{}, { 'PAYMENT-SIGNATURE': payment }]) {
        const reply = await send({ url, path: '/api/v1/company/1', headers })
        expectRefusal(reply, 'dataset_unavailable')
        expect(reply.headers['retry-after']).to.equal('60')
      }
      const sold = await send({ url, path: '/api/v1/company/00000000', headers: { 'PAYMENT-SIGNATURE': payment } })
      expect(sold.status).to.equal(200)
      expect(sold.json['source']).to.include({ synthetic: true })
    })
  })
})
