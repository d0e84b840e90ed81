/** The card's signature and the JWKS, checked by the SDK's verifier and by a plain one that knows neither. */
import { AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { createLocalJWKSet, flattenedVerify, type FlattenedJWSInput } from 'jose'
import { CardError, signCard, type SignedCardJson } from '../../keys/card-signature.ts'
import { jwksBody, type JwksBody } from '../../keys/jwks.ts'
import { openKeyring, RETIRED_KEY_SECONDS_MIN } from '../../keys/keyring.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { clockAt, inTemporaryDirectory, readJwk, rejection, START_SECONDS } from './support.ts'

const jwksUrl = 'http://127.0.0.1:4021/.well-known/jwks.json'

const cardJson = {
  name: 'Irish company agent',
  description: 'Looks up Irish companies. Paid per request.',
  supportedInterfaces: [{ url: 'http://127.0.0.1:4021/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  provider: { url: 'http://127.0.0.1:4021', organization: 'Example' },
  version: '0.1.0',
  capabilities: {
    streaming: false,
    extensions: [{ uri: 'urn:x402', description: 'Payment', params: { scheme: 'exact', x402Version: '2' } }],
  },
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
  skills: [{ id: 'lookup', name: 'Lookup', description: 'One company by number', tags: ['company', 'ireland'] }],
}

const open = (directory: string, seconds = START_SECONDS) =>
  openKeyring({ directory, now: clockAt(seconds), generateIfEmpty: true })

/** What a client has after HTTP. */
const overTheWire = <T>(body: T) => JSON.parse(JSON.stringify(body)) as T

/** RFC 8785 over the card as received, without its signatures; ES256 only; the key by kid from the JWKS. */
async function plainVerify(card: SignedCardJson, jwks: JwksBody): Promise<void> {
  const { signatures, ...payload } = card
  const [signature] = signatures
  const jws: FlattenedJWSInput = {
    protected: signature?.protected ?? '',
    signature: signature?.signature ?? '',
    payload: Buffer.from(canonicalize(payload) ?? '').toString('base64url'),
  }
  const keys = createLocalJWKSet({ keys: jwks.keys.map((key) => ({ ...key })) })
  await flattenedVerify(jws, keys, { algorithms: ['ES256'] })
}

/** The SDK's own verifier, on the card as received and on the card in the SDK's own form. */
async function sdkVerify(card: SignedCardJson, jwks: JwksBody): Promise<void> {
  const verify = verifyAgentCardSignature(async (kid) => {
    const key = jwks.keys.find((candidate) => candidate.kid === kid)
    if (key === undefined) throw new Error('unknown kid')
    return { ...key }
  })
  await verify(card as unknown as AgentCard)
  await verify(AgentCard.fromJSON(card))
}

/** Runs a test with the SDK's complaint about each bad signature kept off the screen. */
async function quietly(test: () => Promise<void>): Promise<void> {
  const { debug } = console
  console.debug = () => {}
  try {
    await test()
  } finally {
    console.debug = debug
  }
}

async function signSample(directory: string) {
  const keyring = await open(directory)
  const card = overTheWire(await signCard({ card: AgentCard.fromJSON(cardJson), keyring, jwksUrl }))
  return { card, keyring, jwks: overTheWire(jwksBody(keyring)) }
}

describe('a signed card', () => {
  it('is accepted by the SDK and by a plain verifier', () =>
    inTemporaryDirectory(async (directory) => {
      const { card, jwks } = await signSample(directory)
      await sdkVerify(card, jwks)
      await plainVerify(card, jwks)
    }))

  it('is the card itself and one signature, in ProtoJSON', () =>
    inTemporaryDirectory(async (directory) => {
      const { card, keyring } = await signSample(directory)
      const { signatures, ...payload } = card
      expect(payload).to.deep.equal(cardJson)
      expect(canonicalize(payload)).to.equal(canonicalizeAgentCard(AgentCard.fromJSON(card)))
      expect(signatures).to.have.length(1)
      expect(signatures[0]).to.have.all.keys('protected', 'signature')
      const header: unknown = JSON.parse(Buffer.from(signatures[0]?.protected ?? '', 'base64url').toString())
      expect(header).to.deep.equal({ alg: 'ES256', typ: 'JOSE', kid: keyring.kid, jku: jwksUrl })
    }))

  it('fails both verifiers when any one character of any text is changed', () =>
    quietly(() =>
      inTemporaryDirectory(async (directory) => {
        const { card, jwks } = await signSample(directory)
        const { signatures, ...payload } = card
        const text = JSON.stringify(payload)
        for (const match of text.matchAll(/:"(?<letter>[^"])|\["(?<item>[^"])|false/g)) {
          const changed = text.slice(0, match.index) + tamper(match[0]) + text.slice(match.index + match[0].length)
          const tampered = { ...(JSON.parse(changed) as object), signatures }
          expect((await rejection(plainVerify(tampered, jwks))).message).to.match(/signature verification failed/)
          expect((await rejection(sdkVerify(tampered, jwks))).message).to.match(/No valid signatures/)
        }
      }),
    ))

  it('fails both verifiers under another key or a changed protected header', () =>
    quietly(() =>
      inTemporaryDirectory(async (directory) => {
        const { card, jwks, keyring } = await signSample(directory)
        await rotateKeys({ directory, now: clockAt(START_SECONDS) })
        const [other] = jwksBody(await open(directory)).keys
        const wrongKey = { keys: [{ ...other!, kid: keyring.kid }] }
        await rejection(plainVerify(card, wrongKey))
        await rejection(sdkVerify(card, wrongKey))

        const header = JSON.stringify({ alg: 'ES256', typ: 'JOSE', kid: keyring.kid, jku: 'http://evil.example/jwks' })
        const signature = { ...card.signatures[0]!, protected: Buffer.from(header).toString('base64url') }
        await rejection(plainVerify({ ...card, signatures: [signature] }, jwks))
        await rejection(sdkVerify({ ...card, signatures: [signature] }, jwks))
      }),
    ))

  it('still verifies through the JWKS after a rotation, until its key expires', () =>
    quietly(() =>
      inTemporaryDirectory(async (directory) => {
        const { card, keyring } = await signSample(directory)
        const { made } = await rotateKeys({ directory, now: clockAt(START_SECONDS) })
        const after = await open(directory, START_SECONDS + RETIRED_KEY_SECONDS_MIN)
        expect(jwksBody(after).keys.map((key) => key.kid)).to.deep.equal([made, keyring.kid])
        await sdkVerify(card, jwksBody(after))
        await plainVerify(card, jwksBody(after))

        const expired = await open(directory, START_SECONDS + RETIRED_KEY_SECONDS_MIN + 1)
        expect(jwksBody(expired).keys.map((key) => key.kid)).to.deep.equal([made])
        await rejection(sdkVerify(card, jwksBody(expired)))
        await rejection(plainVerify(card, jwksBody(expired)))
      }),
    ))

  it('is not changed by later changes to the object it was made from', () =>
    inTemporaryDirectory(async (directory) => {
      const keyring = await open(directory)
      const source = AgentCard.fromJSON(overTheWire(cardJson))
      const card = await signCard({ card: source, keyring, jwksUrl })
      source.skills[0]!.tags.push('later')
      await plainVerify(card, jwksBody(keyring))
    }))
})

describe('a card is refused', () => {
  const [skill] = cardJson.skills
  const [extension] = cardJson.capabilities.extensions
  const withParams = (params: object) => ({
    ...cardJson,
    capabilities: { extensions: [{ ...extension, params }] },
  })
  const refused: { name: string; rule: RegExp; json: object }[] = [
    { name: 'without a name', rule: /^card\.name: /, json: { ...cardJson, name: '' } },
    {
      name: 'without interfaces',
      rule: /^card\.supportedInterfaces: /,
      json: { ...cardJson, supportedInterfaces: [] },
    },
    { name: 'without skills', rule: /^card\.skills: /, json: { ...cardJson, skills: [] } },
    {
      name: 'with a skill without tags',
      rule: /^card\.skills\.0\.tags: /,
      json: { ...cardJson, skills: [{ ...skill, tags: [] }] },
    },
    {
      name: 'with an empty tag',
      rule: /^card\.skills\.0\.tags\.0: must not be empty/,
      json: { ...cardJson, skills: [{ ...skill, tags: [''] }] },
    },
    { name: 'with an empty URL', rule: /^card\.iconUrl: must not be empty/, json: { ...cardJson, iconUrl: '' } },
    {
      name: 'with empty capabilities',
      rule: /^card\.capabilities: must not be empty/,
      json: { ...cardJson, capabilities: {} },
    },
    { name: 'with an empty provider', rule: /^card\.provider\.url: /, json: { ...cardJson, provider: {} } },
    {
      name: 'with a letter outside ASCII',
      rule: /^card\.description: must be printable ASCII/,
      json: { ...cardJson, description: 'Éire' },
    },
    {
      name: 'with a line break',
      rule: /^card\.description: must be printable ASCII/,
      json: { ...cardJson, description: 'a\nb' },
    },
    { name: 'with a delete character', rule: /printable ASCII/, json: { ...cardJson, description: 'a\u007F' } },
    { name: 'with a number in params', rule: /extensions\.0\.params\.v: /, json: withParams({ v: 2 }) },
    { name: 'with a boolean in params', rule: /extensions\.0\.params\.v: /, json: withParams({ v: true }) },
    { name: 'with null in params', rule: /extensions\.0\.params\.v: /, json: withParams({ v: null }) },
    { name: 'with a list in params', rule: /extensions\.0\.params\.v: /, json: withParams({ v: ['a'] }) },
    { name: 'with an object in params', rule: /extensions\.0\.params\.v: /, json: withParams({ v: { a: 'b' } }) },
    { name: 'with an empty text in params', rule: /params\.v: must not be empty/, json: withParams({ v: '' }) },
    { name: 'with empty params', rule: /params: must not be empty/, json: withParams({}) },
    { name: 'with an empty member name', rule: /params: must not be empty/, json: withParams({ '': 'a' }) },
    { name: 'with a member name outside ASCII', rule: /params: must be printable/, json: withParams({ é: 'a' }) },
    {
      name: 'when it is signed already',
      rule: /^card\.signatures: /,
      json: { ...cardJson, signatures: [{ protected: 'e30', signature: 'AA' }] },
    },
    {
      name: 'with security schemes',
      rule: /no security schemes/,
      json: { ...cardJson, securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } } },
    },
  ]

  for (const { name, rule, json } of refused) {
    it(name, () =>
      inTemporaryDirectory(async (directory) => {
        const keyring = await open(directory)
        const error = await rejection(signCard({ card: AgentCard.fromJSON(json), keyring, jwksUrl }))
        expect(error).to.be.instanceOf(CardError)
        expect(error.message).to.match(rule)
      }),
    )
  }
})

describe('the JWKS', () => {
  it('holds the seven public members of each key and nothing else', () =>
    inTemporaryDirectory(async (directory) => {
      const { kid } = await open(directory)
      const { x, y } = await readJwk(directory, kid)
      const { made } = await rotateKeys({ directory, now: clockAt(START_SECONDS) })
      const { x: newX, y: newY } = await readJwk(directory, made)
      const shared = { kty: 'EC', crv: 'P-256', use: 'sig', alg: 'ES256' }
      expect(jwksBody(await open(directory))).to.deep.equal({
        keys: [
          { ...shared, x: newX, y: newY, kid: made },
          { ...shared, x, y, kid },
        ],
      })
    }))

  it('drops a private part that is handed to it', () =>
    inTemporaryDirectory(async (directory) => {
      const { kid, publicKeys } = await open(directory)
      const { d } = await readJwk(directory, kid)
      const withPrivatePart = Object.assign({ d, iat: 1 }, publicKeys[0])
      const body = jwksBody({ publicKeys: [withPrivatePart] })
      expect(JSON.stringify(body)).not.to.include(d)
      expect(body.keys[0]).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg')
    }))
})

/** Changes the last character of a match, or the boolean. */
function tamper(match: string): string {
  if (match === 'false') return 'true'
  return match.slice(0, -1) + (match.endsWith('x') ? 'y' : 'x')
}
