/** Signed receipts of the whole service, over each transport and through its life (contract 5.9). */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import { OPERATION_BYTES_MAX } from '../../agent/payment/receipt/claims.ts'
import { verifyReceipt } from '../../agent/payment/receipt/verify.ts'
import { generateKey } from '../../keys/key-files.ts'
import { KEYS_REFRESH_MS } from '../../keys/keyring.ts'
import { backUp, restore } from '../../store/backup.ts'
import { rotateBeside } from '../support/key-commands.ts'
import { send, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { buyOverTransports } from '../support/transports.ts'
import { receiptIn } from '../support/unsigned-receipt.ts'

const HEADER_BYTES_MAX = 4096

/** Long inputs: characters of four bytes in UTF-8. A receipt repeats an operation of up to 768 bytes. */
const LONG = [
  { operation: 'resolve', input: { name: `a${'𠀀'.repeat(159)}`, address: '𠀀'.repeat(160) } },
  { operation: 'search', input: { q: `a${'𠀀'.repeat(159)}`, status: 's'.repeat(37) }, isRepeated: true },
]

const headerOf = ({ headers }: RawReply) => String(headers['payment-response'])
const receiptOf = (reply: RawReply) => receiptIn(headerOf(reply)) ?? expect.fail('the answer has no receipt')

const daysAgo = (days: number) => () => Date.now() - days * 24 * 3_600_000

describe('the receipts of a service', () => {
  let service: TestService
  let keysDirectory: string
  let refreshKeys: () => Promise<void>

  before(async () => {
    let isRead = () => {}
    let readKeys = () => {}
    refreshKeys = () =>
      new Promise((resolve) => {
        isRead = resolve
        readKeys()
      })
    service = await startTestService({
      // A key of the past, so that each rotation of a test makes a key that signs at once.
      prepare: async (directory) => void (await generateKey({ directory: join(directory, 'keys'), now: daysAgo(60) })),
      timer: (callback, milliseconds) => {
        if (milliseconds === KEYS_REFRESH_MS) {
          readKeys = callback
          isRead()
        }
        return () => undefined
      },
      // Its registry has a timer of the same length.
      replaceExternals: ({ facilitator, chain, payTo }) => ({ facilitator, chain, payTo }),
    })
    keysDirectory = join(service.directory, 'keys')
  })
  after(() => service.stop())

  const { lookup, rest, payFor, buy } = buyOverTransports(() => service)
  const readKeySet = async () => (await send({ url: service.url, path: '/.well-known/jwks.json' })).json
  const verify = async (receipt: string, answer: unknown) =>
    verifyReceipt({ receipt, answer, keySet: await readKeySet() })

  it('[5.9.1] verify with the key set, and name issuer, operation, data and transaction', async () => {
    const bought = await buy((signed) => lookup('73848', signed))
    const { isValid, checks, claims } = await verify(receiptOf(bought), bought.json)
    expect(checks.map(({ name, passed }) => [name, passed])).to.deep.equal(
      ['signature', 'answer', 'operation', 'snapshot'].map((name) => [name, true]),
    )
    expect(isValid).to.equal(true)
    expect(claims).to.deep.include({
      iss: service.url,
      operation: { operation: 'lookup', input: { company_number: '73848' } },
      snapshot_id: bought.json['snapshot_id'],
    })
    expect(claims?.payment).to.include({
      payer: service.buyer.address,
      pay_to: service.payTo,
      transaction: decodePaymentResponseHeader(headerOf(bought)).transaction,
    })
  })

  for (const { operation, input, isRepeated = false } of LONG) {
    it(`[5.9.1] keep the header below 4 KiB, for a ${operation} of ${JSON.stringify(input).length} characters`, async () => {
      const bought = await buy((signed) => rest({ operation, input }, signed))
      expect(bought.status, bought.text).to.equal(200)
      expect(headerOf(bought).length).to.be.below(HEADER_BYTES_MAX)
      const { isValid, claims } = await verify(receiptOf(bought), bought.json)
      expect(isValid).to.equal(true)
      const bytes = Buffer.byteLength(JSON.stringify(claims?.operation ?? ''))
      if (isRepeated) expect(bytes).to.be.within(OPERATION_BYTES_MAX - 40, OPERATION_BYTES_MAX)
      else expect(claims?.operation).to.equal(undefined)
    })
  }

  it('[5.9.3] are equal before and after a restart, a key rotation and a restore', async () => {
    const payment = await payFor(lookup('73848'))
    const bought = await lookup('73848', payment)
    const expectSame = async () => {
      const again = await lookup('73848', payment)
      expect([again.status, again.text, headerOf(again)]).to.deep.equal([200, bought.text, headerOf(bought)])
    }
    await service.restart()
    await expectSame()

    const made = await rotateBeside(service.directory, daysAgo(40))
    await refreshKeys()
    await expectSame()
    const signedLater = await buy((signed) => lookup('73848', signed))
    expect(kidOf(receiptOf(signedLater))).to.equal(made)
    expect(kidOf(receiptOf(bought))).not.to.equal(made)

    const folder = join(await makeTemporaryDirectory(), 'backup')
    const directories = { dataDirectory: service.directory, keysDirectory, folder }
    await backUp({ ...directories, now: () => new Date() })
    await service.restart({
      whileStopped: async () => {
        for (const each of [join(service.directory, 'responses'), keysDirectory]) await rm(each, { recursive: true })
        await restore(directories)
      },
    })
    await expectSame()
    for (const reply of [bought, signedLater])
      expect((await verify(receiptOf(reply), reply.json)).isValid).to.equal(true)
  })
})

function kidOf(receipt: string): string {
  const [header = ''] = receipt.split('.')
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid
}
