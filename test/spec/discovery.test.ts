/** Metadata, attribution, public keys and the signed agent card (contract 2.9, 2.10, 4.4, 13). */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { expect } from 'chai'
import { verifyCard, type CardCheck } from '../../buyer/library/verify-card.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { ROTATION_SECONDS_MIN } from '../../keys/command.ts'
import { KEY_LEAD_SECONDS, KEYS_REFRESH_MS } from '../../keys/keyring.ts'
import { CACHE_SECONDS } from '../../rest-facade/document.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { compromiseBeside, rotateBeside } from '../support/key-commands.ts'
import { expectRefusal, send } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const META = '/api/v1/meta'
const ATTRIBUTION = '/attribution'
const JWKS = '/.well-known/jwks.json'
const CARD = '/.well-known/agent-card.json'

type Json = Record<string, unknown>

/** One copy of the card per string and boolean in it, with that value changed. */
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

describe('the metadata and the agent card', () => {
  const { service, get, lookup, buy } = useService(() =>
    startTestService({ environment: { RATE_LIMIT_PER_MINUTE: '77' } }),
  )

  describe('metadata', () => {
    it('[2.9, 2.15, 4.4.1] has the members of the contract and no others', async () => {
      const { status, json } = await get(META)
      expect(status).to.equal(200)
      const { source, snapshot_id, imported_at, ...rest } = json
      expect(sourceSchema.parse(source)).to.include({ license_url: 'https://creativecommons.org/licenses/by/4.0/' })
      expect(snapshot_id).to.match(/^sha256:[0-9a-f]{64}$/)
      expect(Date.parse(String(imported_at))).to.be.within(Date.now() - 60_000, Date.now())
      expect(rest).to.deep.equal({
        service: 'irish-company-agent',
        version: '0.1.0',
        endpoints: [
          'GET /api/v1/company/{company_number}',
          'GET /api/v1/search',
          'POST /api/v1/resolve',
          'GET /api/v1/company/{company_number}/history',
          'GET /api/v1/company/{company_number}/as-of/{date}',
          'GET /api/v1/changes',
          'POST /api/v1/batch',
        ],
        dataset_status: 'ready',
        row_count: 30,
        quarantined_company_count: 1,
        rejected_row_count: 0,
        complete_since: new Date().toISOString().slice(0, 10),
        access: {
          mode: 'testnet',
          network: 'eip155:84532',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          pay_to: service.payTo,
          payment_required: true,
          price_micro_usdc: 1000,
          endpoint_prices: {
            '/api/v1/company': 1000,
            '/api/v1/search': 1000,
            '/api/v1/resolve': 2000,
            '/api/v1/company/{company_number}/history': 1000,
            '/api/v1/company/{company_number}/as-of/{date}': 1000,
            '/api/v1/changes': 1000,
          },
          limit_scope: 'shared_origin_service',
          lookup_limit_per_minute: 77,
        },
      })
    })

    it('[1.4] names the snapshot and source of a bought answer', async () => {
      const bought = await buy((payment) => lookup('73848', payment))
      const { json: meta } = await get(META)
      expect(bought.json['snapshot_id']).to.equal(meta['snapshot_id'])
      expect(bought.json['source']).to.deep.equal(meta['source'])
    })
  })

  it('[2.10, 4.4.1] attribution is the licence of the dataset', async () => {
    const { status, json } = await get(ATTRIBUTION)
    const { publisher, dataset_url, license, license_url, notice } = (await get(META)).json['source'] as Json
    expect(status).to.equal(200)
    expect(json).to.deep.equal({ publisher, dataset_url, license, license_url, notice })
    expect(json).to.include({ publisher: 'Companies Registration Office (CRO)' })
  })

  it('[4.4.4, 13.2] the key set has public members only, and key files have mode 0600', async () => {
    const { status, json, text } = await get(JWKS)
    expect(status).to.equal(200)
    expect(json).to.have.all.keys('keys', 'compromised')
    const keys = json['keys'] as Json[]
    expect(keys).to.have.lengthOf(1)
    for (const key of keys) {
      expect(key).to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
      expect(key).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg')
    }
    expect(text).not.to.include('"d"')
  })

  describe('the agent card', () => {
    const card = async () => (await get(CARD)).json

    /** Reads the key from the URL in the signature header. */
    const bySdk = verifyAgentCardSignature(async (kid, jku) => {
      expect(jku).to.equal(`${service.url}${JWKS}`)
      const { keys } = (await (await fetch(String(jku))).json()) as { keys: Json[] }
      const key = keys.find((each) => each['kid'] === kid)
      if (!key) throw new Error('The key set has no such key')
      return key
    })

    /** Verifies this card with RFC 8785 and ES256 only. */
    const plainly = (json: Json) =>
      verifyCard(service.url, async (url, init) =>
        url === `${service.url}${CARD}` ? Response.json(json) : fetch(url, init),
      )

    const isRefused = (check: Promise<boolean | CardCheck>) =>
      check.then(
        (verified) => typeof verified !== 'boolean' && verified.kind !== 'signed',
        () => true,
      )

    it('[4.4.9] lists protocol, capabilities and skills', async () => {
      const json = await card()
      expect(json['supportedInterfaces']).to.deep.equal([
        { url: `${service.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ])
      expect((json['skills'] as Json[]).map(({ id }) => id)).to.deep.equal(OPERATIONS.map(({ name }) => name))
      const { extensions, ...capabilities } = json['capabilities'] as { extensions: Json[] }
      expect(extensions.map(({ uri, required }) => ({ uri, required }))).to.deep.equal([
        { uri: `${service.url}/docs#http-x402-v1`, required: true },
      ])
      // Streaming, push notifications and extended cards are not offered.
      expect(Object.values(capabilities).filter(Boolean)).to.deep.equal([])
    })

    it('has ASCII strings and no numbers, so that every canonicaliser agrees, and the charged prices', async () => {
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

    it('[13.1] fails both verifications when any character or flag is changed', async () => {
      const { debug } = console
      console.debug = () => undefined
      try {
        const changes = tampered(await card())
        expect(changes.length).to.be.greaterThan(30)
        for (const change of changes) {
          for (const check of [bySdk(AgentCard.fromJSON(change)).then(() => true), plainly(change)])
            expect(await isRefused(check), JSON.stringify(change)).to.equal(true)
        }
      } finally {
        console.debug = debug
      }
    })
  })

  it('[4.4.4, 13.3] publish a new key, sign with it an hour later and keep the old one until it is compromised, without a restart', async () => {
    let nowMs = Date.now()
    let refresh = () => {}
    let isSet = () => {}
    const rotating = await startTestService({
      now: () => new Date(nowMs),
      timer: (callback, milliseconds) => {
        if (milliseconds === KEYS_REFRESH_MS) {
          refresh = callback
          isSet()
        }
        return () => undefined
      },
    })
    try {
      const read = async (path: string) => (await send({ url: rotating.url, path })).json
      const publishedKids = async () => ((await read(JWKS)) as { keys: Json[] }).keys.map(({ kid }) => kid)
      /** Lets the service read its keys, and waits until its timer is set again. */
      const refreshAt = async (time: number) => {
        nowMs = time
        const done = new Promise<void>((resolve) => (isSet = resolve))
        refresh()
        await done
      }

      const directory = join(rotating.directory, 'keys')
      const oldCard = await read(CARD)
      const [old] = await publishedKids()
      const rotatedMs = nowMs + ROTATION_SECONDS_MIN * 1000
      const kid = await rotateBeside(rotating.directory, () => rotatedMs)
      const switchSeconds = Math.floor(rotatedMs / 1000) + KEY_LEAD_SECONDS

      await refreshAt(switchSeconds * 1000 - 1)
      expect(await publishedKids()).to.deep.equal([old, kid])
      expect(await read(CARD)).to.deep.equal(oldCard)

      await refreshAt(switchSeconds * 1000)
      expect(await publishedKids()).to.deep.equal([kid, old])
      expect(await verifyCard(rotating.url, fetch)).to.deep.equal({ kind: 'signed', kid })
      const fetchOld: typeof fetch = async (url) =>
        url === `${rotating.url}${CARD}` ? Response.json(oldCard) : fetch(url)
      expect(await verifyCard(rotating.url, fetchOld)).to.deep.equal({ kind: 'signed', kid: old })

      const years = (switchSeconds + 50 * 366 * 24 * 3600) * 1000
      await refreshAt(years)
      expect(await read(JWKS))
        .to.have.property('compromised')
        .that.deep.equals([])
      expect(await publishedKids()).to.deep.equal([kid, old])
      await compromiseBeside(rotating.directory, [String(old)], () => years)
      await refreshAt(years)
      const { compromised } = (await read(JWKS)) as { compromised: Json[] }
      expect(compromised.map((each) => each['kid'])).to.deep.equal([old])
      expect(await publishedKids()).to.deep.equal([kid])
      expect(await verifyCard(rotating.url, fetchOld)).to.deep.equal({ kind: 'unsigned' })
      expect(await verifyCard(rotating.url, fetch)).to.deep.equal({ kind: 'signed', kid })

      await rm(join(directory, `${kid}.jwk.json`))
      rotating.reports.length = 0
      await refreshAt(nowMs)
      expect(rotating.reports.map(([event]) => event)).to.deep.equal(['keys_unreadable'])
      expect(await verifyCard(rotating.url, fetch)).to.deep.equal({ kind: 'signed', kid })
    } finally {
      await rotating.stop()
    }
  })

  it('[13.3] publish a new key for longer than caches keep the key set', () => {
    expect(KEY_LEAD_SECONDS * 1000).to.be.greaterThan(KEYS_REFRESH_MS + 2 * CACHE_SECONDS * 1000)
  })

  it('[4.4.9] answer 404 for the card and /a2a when A2A is disabled', async () => {
    const disabled = await startTestService({ environment: { A2A_ENABLED: 'false' } })
    try {
      const ask = (method: string, path: string) => send({ url: disabled.url, method, path })
      for (const method of ['GET', 'POST', 'PUT']) expectRefusal(await ask(method, '/a2a'), 'not_found')
      expectRefusal(await ask('GET', CARD), 'not_found')
      expect(await ask('HEAD', CARD)).to.deep.include({ status: 404, text: '' })
      for (const path of [META, ATTRIBUTION, JWKS]) expect((await ask('GET', path)).status).to.equal(200)
      expectRefusal(await ask('GET', '/api/v1/company/73848'), 'payment_required')
    } finally {
      await disabled.stop()
    }
  })
})
