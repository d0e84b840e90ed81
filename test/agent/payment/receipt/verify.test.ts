/**
 * The verification of receipts: what it accepts, and that it fails for each changed byte of answer, receipt or key set.
 */
import { CompactSign } from 'jose'
import { expect } from 'chai'
import fc from 'fast-check'
import { RECEIPT_TYPE } from '../../../../agent/payment/receipt/claims.ts'
import { readAnswer } from '../../../../agent/payment/receipt/read.ts'
import { verifyReceipt } from '../../../../agent/payment/receipt/verify.ts'
import { parseJson } from '../../../../base/read-body.ts'
import {
  ANSWERS,
  claimsFor,
  flipByte,
  keySetOf,
  makeReceiptKey,
  receiptFor,
  type TestKey,
} from '../../../support/signed-receipt.ts'

/** The same value with the members of every object in another order, chosen by a seed. */
function reorder(value: unknown, seed: number): unknown {
  if (Array.isArray(value)) return value.map((each) => reorder(each, seed))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, reorder(member, seed)] as const)
  const rank = (name: string) => ((name.length + 7) * (seed + 1) + name.charCodeAt(0) * (seed + 3)) % 1009
  return Object.fromEntries(members.toSorted(([one], [other]) => rank(one) - rank(other)))
}

const EXTENSION = 'https://companies.example/docs#http-x402-v1'

describe('the verification of a receipt', function () {
  this.timeout(240_000)
  let key: TestKey
  const answer = ANSWERS['search'] ?? expect.fail('no answer')

  before(async () => {
    key = await makeReceiptKey()
  })

  const verifyTexts = (answerText: string, receipt: string, keySetText: string) =>
    verifyReceipt({ receipt, answer: readAnswer(answerText), keySet: parseJson(keySetText) })
  const signatureFault = async (receipt: string, keySet: unknown = keySetOf(key)) => {
    const { isValid, checks, claims } = await verifyReceipt({ receipt, answer, keySet })
    expect([isValid, claims]).to.deep.equal([false, undefined])
    return checks.map(({ name, detail }) => `${name}: ${detail}`).join()
  }

  const overA2a = (change: object) => {
    const message = { messageId: 'a', role: 'ROLE_AGENT', parts: [{ data: answer, mediaType: 'application/json' }] }
    return { jsonrpc: '2.0', id: 1, result: { message: { ...message, ...change } } }
  }
  const overMcp = (change: object) => {
    const content = [{ type: 'text', text: JSON.stringify(answer) }]
    return { content, structuredContent: answer, _meta: {}, ...change }
  }

  for (const [name, sold] of Object.entries(ANSWERS)) {
    it(`[5.9.1] accepts the ${name}, also with its members in another order and with white space`, async () => {
      const receipt = receiptFor(key, sold)
      await fc.assert(
        fc.asyncProperty(fc.nat(1000), fc.nat(4), async (seed, indent) => {
          const text = JSON.stringify(reorder(sold, seed), null, indent)
          const verified = await verifyTexts(text, receipt, JSON.stringify(reorder(keySetOf(key), seed)))
          expect(verified.checks.filter(({ passed }) => !passed)).to.deep.equal([])
        }),
        { numRuns: 50 },
      )
    })

    // Every byte of the first answer, and some of the others, because the check does not depend on the operation.
    const step = sold === Object.values(ANSWERS)[0] ? 1 : 11
    it(`[5.9.5] fails for changed bytes of the ${name}, its receipt and the key set`, async () => {
      const texts = [JSON.stringify(sold), receiptFor(key, sold), JSON.stringify(keySetOf(key).keys)]
      const run = (answerText = '', receipt = '', keys = '') =>
        verifyTexts(answerText, receipt, `{"keys":${keys},"compromised":[]}`)
      expect((await run(...texts)).isValid).to.equal(true)
      const masks = fc.sample(fc.integer({ min: 1, max: 255 }), { numRuns: 97, seed: 20 })
      const passed: string[] = []
      for (const [index, text] of texts.entries()) {
        for (let at = 0; at < Buffer.byteLength(text); at += step) {
          const changed = [...texts]
          changed[index] = flipByte(text, at, masks[at % masks.length] ?? 1)
          if ((await run(...changed)).isValid) passed.push(`${index} ${at} ${changed[index]}`)
        }
      }
      expect(passed).to.deep.equal([])
    })
  }

  it('[5.9.5] fails for every other last character of the signature, also with the same bits', async () => {
    const receipt = receiptFor(key, answer)
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      if (receipt.endsWith(last)) continue
      await signatureFault(receipt.slice(0, -1) + last)
    }
  })

  it('[5.9.5] fails for an answer that repeats a name', async () => {
    const receipt = receiptFor(key, answer)
    const text = JSON.stringify(answer)
    const repeated = `{"snapshot_id":"other",${text.slice(1)}`
    expect(parseJson(repeated)).to.deep.equal(answer)
    expect((await verifyTexts(repeated, receipt, JSON.stringify(keySetOf(key)))).isValid).to.equal(false)
  })

  it('[13.4, 5.9.5] says that a key is compromised, and since when', async () => {
    const compromised = [{ kid: key.kid, compromised_at: '2027-01-15T08:00:00Z' }]
    const receipt = receiptFor(key, answer)
    for (const keys of [[], [key.jwk]])
      expect(await signatureFault(receipt, { keys, compromised })).to.equal(
        `signature: key ${key.kid} is marked as compromised since 2027-01-15T08:00:00Z`,
      )
  })

  it('[5.9.4] finds its key among former keys and keys of other forms', async () => {
    const keySet = keySetOf(await makeReceiptKey(), key)
    const keys = [{ kty: 'OKP', crv: 'Ed25519', x: 'a' }, 7, ...keySet.keys]
    const receipt = receiptFor(key, answer)
    expect((await verifyReceipt({ receipt, answer, keySet: { keys } })).isValid).to.equal(true)
  })

  it('[5.9.4] fails with another key, without the key, and with another key under its id', async () => {
    const receipt = receiptFor(key, answer)
    const other = await makeReceiptKey()
    expect(await signatureFault(receipt, keySetOf(other))).to.contain('is not in the key set')
    expect(await signatureFault(receipt, { keys: [{ ...other.jwk, kid: key.kid }] })).to.contain(
      'does not have the thumbprint',
    )
    const forged = receiptFor({ ...other, kid: key.kid }, answer)
    expect(await signatureFault(forged)).to.contain('the signature of key')
    for (const keySet of [null, [], {}, { keys: {} }])
      expect(await signatureFault(receipt, keySet)).to.contain('not a JWK Set')
  })

  it('[5.9.5] fails for a JWS of the same key that is no receipt', async () => {
    const sign = (header: object, payload: unknown) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
        .setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header })
        .sign(key.privateKey)
    const claims = claimsFor(answer)
    expect(await signatureFault(await sign({ typ: 'JOSE' }, claims))).to.contain('is wrong')
    expect(await signatureFault(await sign({}, claims))).to.contain('is wrong')
    const { payment: _, ...incomplete } = claims
    expect(await signatureFault(await sign({ typ: RECEIPT_TYPE }, incomplete))).to.contain('form of a payment receipt')
    const [, payload, signature] = receiptFor(key, answer).split('.')
    const header = Buffer.from(JSON.stringify({ alg: 'none', typ: RECEIPT_TYPE, kid: key.kid })).toString('base64url')
    for (const text of [
      `${header}.${payload}.`,
      `${header}.${payload}.${signature}`,
      '',
      '.',
      '..',
      'a.b.c',
      `${header}.e30.`,
    ])
      await signatureFault(text)
  })

  it('[5.9.5] fails if operation, snapshot id or matching version do not fit, also if the receipt is signed', async () => {
    const failed = async (receipt: string) =>
      (await verifyReceipt({ receipt, answer, keySet: keySetOf(key) })).checks.flatMap(({ name, passed }) =>
        passed ? [] : [name],
      )
    const operation = { operation: 'lookup', input: { company_number: '9' } }
    expect(await failed(receiptFor(key, answer, { operation }))).to.deep.equal(['operation'])
    const snapshot_id = `sha256:${'00'.repeat(32)}`
    expect(await failed(receiptFor(key, answer, { snapshot_id }))).to.deep.equal(['snapshot'])
    expect(await failed(receiptFor(key, answer, { matching_version: 'other' }))).to.deep.equal(['snapshot'])
    expect(await failed(receiptFor(key, answer, { answer_digest: snapshot_id }))).to.deep.equal(['answer'])
  })

  it('[5.9.2] fails for a body with other data around the answer, or with another text of an MCP result', async () => {
    const receipt = receiptFor(key, answer)
    const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })
    const settled = { success: true, transaction: '0x', network: 'n', payer: '0x', amount: '1' }
    const settlement = { ...settled, extensions: { 'payment-receipt': { info: { receipt } } } }
    const bodies = [
      { company: 'forged', ...overA2a({}) },
      { company: 'forged', ...overMcp({}) },
      { company: 'forged', result: { structuredContent: answer } },
      overA2a({ metadata: { company: 'forged' } }),
      overA2a({ metadata: { [EXTENSION]: { company: 'forged' } } }),
      overA2a({ metadata: { [EXTENSION]: settlement, [`http://forged${EXTENSION}`]: settlement } }),
      overA2a({ metadata: { forged: settlement } }),
      overA2a({ parts: [{ data: answer, mediaType: 'application/json', text: 'forged' }] }),
      overA2a({ parts: [...overA2a({}).result.message.parts, { text: 'forged' }] }),
      overMcp(text({ ...answer, company: 'forged' })),
      overMcp({ content: [...overMcp({}).content, { type: 'text', text: 'forged' }] }),
      overMcp({ content: [{ type: 'text', text: 'forged' }] }),
    ]
    const genuine = [overA2a({}), overA2a({ metadata: { [EXTENSION]: settlement } }), overMcp({})]
    for (const body of [...genuine, overMcp(text(reorder(answer, 3)))])
      expect((await verifyTexts(JSON.stringify(body), receipt, JSON.stringify(keySetOf(key)))).isValid).to.equal(true)
    for (const body of bodies) {
      const { isValid } = await verifyTexts(JSON.stringify(body), receipt, JSON.stringify(keySetOf(key)))
      expect(isValid, JSON.stringify(body)).to.equal(false)
    }
  })

  it('[5.9.5] fails, without an exception, for a key id of another form', async () => {
    const [, payload, signature] = receiptFor(key, answer).split('.')
    for (const kid of [{ toString: 1, valueOf: 1 }, [key.kid], 7, null, '', 'a'.repeat(44), '\u001b'.repeat(43)]) {
      const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: RECEIPT_TYPE, kid })).toString('base64url')
      expect(await signatureFault(`${header}.${payload}.${signature}`)).to.contain('not a signed JWT')
    }
  })
})
