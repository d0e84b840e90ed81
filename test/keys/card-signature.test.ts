/** Tests of the card's signature and the JWKS, with the SDK's verifier and with an independent one. */
import { AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { createLocalJWKSet, flattenedVerify, type FlattenedJWSInput } from 'jose'
import { CardError, signCard, type SignedCardJson } from '../../keys/card-signature.ts'
import { jwksBody, openKeyring, type JwksBody } from '../../keys/keyring.ts'
import { ROTATION_SECONDS_MIN } from '../../keys/lifecycle.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, readJwk, rejection, START_SECONDS } from './support.ts'

let directory: string

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

const open = (seconds = START_SECONDS) => openKeyring({ directory, now: clockAt(seconds), generateIfEmpty: true })

/** Serialises and parses a body, as HTTP does. */
const overTheWire = <T>(body: T) => JSON.parse(JSON.stringify(body)) as T

/** Verifies the RFC 8785 form of the received card without its signatures, with the JWKS key of the kid. */
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

/** Verifies with the SDK: the received card, and the card as the SDK parses it. */
async function sdkVerify(card: SignedCardJson, jwks: JwksBody): Promise<void> {
  const verify = verifyAgentCardSignature(async (kid) => {
    const key = jwks.keys.find((candidate) => candidate.kid === kid)
    if (key === undefined) throw new Error('unknown kid')
    return { ...key }
  })
  await verify(card as unknown as AgentCard)
  await verify(AgentCard.fromJSON(card))
}

const VERIFIERS = [
  { verify: plainVerify, reason: /signature verification failed|no applicable key/ },
  { verify: sdkVerify, reason: /No valid signatures/ },
]

async function expectAccepted(card: SignedCardJson, jwks: JwksBody): Promise<void> {
  for (const { verify } of VERIFIERS) await verify(card, jwks)
}

async function expectRefused(card: SignedCardJson, jwks: JwksBody): Promise<void> {
  for (const { verify, reason } of VERIFIERS) expect((await rejection(verify(card, jwks))).message).to.match(reason)
}

async function signSample() {
  const keyring = await open()
  const card = overTheWire(await signCard({ card: AgentCard.fromJSON(cardJson), keyring, jwksUrl }))
  return { card, keyring, jwks: overTheWire(jwksBody(keyring)) }
}

describe('a signed card', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  // The SDK logs invalid signatures.
  const { debug } = console
  before(() => void (console.debug = () => undefined))
  after(() => void (console.debug = debug))

  it('[13.1] is the card as ProtoJSON with one signature, which both verifiers accept', async () => {
    const { card, keyring, jwks } = await signSample()
    const { signatures, ...payload } = card
    expect(payload).to.deep.equal(cardJson)
    expect(canonicalize(payload)).to.equal(canonicalizeAgentCard(AgentCard.fromJSON(card)))
    expect(signatures).to.have.length(1)
    expect(signatures[0]).to.have.all.keys('protected', 'signature')
    const header: unknown = JSON.parse(Buffer.from(signatures[0]?.protected ?? '', 'base64url').toString())
    expect(header).to.deep.equal({ alg: 'ES256', typ: 'JOSE', kid: keyring.kid, jku: jwksUrl })
    await expectAccepted(card, jwks)
  })

  it('is refused by both verifiers with another key or a changed protected header', async () => {
    const { card, jwks, keyring } = await signSample()
    await rotateKeys({ directory, now: clockAt(START_SECONDS + ROTATION_SECONDS_MIN) })
    const [, other] = jwksBody(await open()).keys
    const wrongKey = { keys: [{ ...other!, kid: keyring.kid }], compromised: [] }
    await expectRefused(card, wrongKey)

    const header = JSON.stringify({ alg: 'ES256', typ: 'JOSE', kid: keyring.kid, jku: 'http://evil.example/jwks' })
    const signature = { ...card.signatures[0]!, protected: Buffer.from(header).toString('base64url') }
    await expectRefused({ ...card, signatures: [signature] }, jwks)
  })

  it('does not change if its source object changes', async () => {
    const keyring = await open()
    const source = AgentCard.fromJSON(overTheWire(cardJson))
    const card = await signCard({ card: source, keyring, jwksUrl })
    source.skills[0]!.tags.push('later')
    await plainVerify(card, jwksBody(keyring))
  })
})

describe('a card is refused', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  const [skill] = cardJson.skills
  const [extension] = cardJson.capabilities.extensions
  const params = (value: object) => ({ capabilities: { extensions: [{ ...extension, params: value }] } })
  const schemes = { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } }
  const refused: [name: string, rule: RegExp, change: object][] = [
    ['without a name', /^card\.name: /, { name: '' }],
    ['without interfaces', /^card\.supportedInterfaces: /, { supportedInterfaces: [] }],
    ['without skills', /^card\.skills: /, { skills: [] }],
    ['with a skill without tags', /^card\.skills\.0\.tags: /, { skills: [{ ...skill, tags: [] }] }],
    ['with an empty tag', /^card\.skills\.0\.tags\.0: must not be empty/, { skills: [{ ...skill, tags: [''] }] }],
    ['with an empty URL', /^card\.iconUrl: must not be empty/, { iconUrl: '' }],
    ['with empty capabilities', /^card\.capabilities: must not be empty/, { capabilities: {} }],
    ['with an empty provider', /^card\.provider\.url: /, { provider: {} }],
    ['with a non-ASCII letter', /^card\.description: must be printable ASCII/, { description: 'Éire' }],
    ['with a line break', /^card\.description: must be printable ASCII/, { description: 'a\nb' }],
    ['with a delete character', /printable ASCII/, { description: 'a\u007F' }],
    ['with a number in params', /extensions\.0\.params\.v: /, params({ v: 2 })],
    ['with a boolean in params', /extensions\.0\.params\.v: /, params({ v: true })],
    ['with null in params', /extensions\.0\.params\.v: /, params({ v: null })],
    ['with a list in params', /extensions\.0\.params\.v: /, params({ v: ['a'] })],
    ['with an object in params', /extensions\.0\.params\.v: /, params({ v: { a: 'b' } })],
    ['with an empty text in params', /params\.v: must not be empty/, params({ v: '' })],
    ['with empty params', /params: must not be empty/, params({})],
    ['with an empty member name', /params: must not be empty/, params({ '': 'a' })],
    ['with a non-ASCII member name', /params: must be printable/, params({ é: 'a' })],
    ['with a signature', /^card\.signatures: /, { signatures: [{ protected: 'e30', signature: 'AA' }] }],
    ['with security schemes', /no security schemes/, { securitySchemes: schemes }],
  ]

  for (const [name, rule, change] of refused) {
    it(name, async () => {
      const card = AgentCard.fromJSON({ ...cardJson, ...change })
      const error = await rejection(signCard({ card, keyring: await open(), jwksUrl }))
      expect(error).to.be.instanceOf(CardError)
      expect(error.message).to.match(rule)
    })
  }
})

describe('the JWKS', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('has exactly the seven public members of each key', async () => {
    const { kid } = await open()
    const { x, y } = await readJwk(directory, kid)
    const { made } = await rotateKeys({ directory, now: clockAt(START_SECONDS + ROTATION_SECONDS_MIN) })
    const { x: newX, y: newY, kid: newKid } = await readJwk(directory, made.publicJwk.kid)
    const shared = { kty: 'EC', crv: 'P-256', use: 'sig', alg: 'ES256' }
    expect(jwksBody(await open())).to.deep.equal({
      keys: [
        { ...shared, x, y, kid },
        { ...shared, x: newX, y: newY, kid: newKid },
      ],
      compromised: [],
    })
  })

  it('drops a private part in its input', async () => {
    const { kid, publicKeys } = await open()
    const { d } = await readJwk(directory, kid)
    const withPrivatePart = Object.assign({ d, iat: 1 }, publicKeys[0])
    const body = jwksBody({ publicKeys: [withPrivatePart], compromisedKeys: [] })
    expect(JSON.stringify(body)).not.to.include(d)
    expect(body.keys[0]).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg')
  })
})
