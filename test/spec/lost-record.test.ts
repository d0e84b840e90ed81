/** Payments that the chain shows as settled and whose record is lost, over every transport of the whole service. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { responsesFolder } from '../../store/files/layout.ts'
import { runCommand } from '../support/cli.ts'
import { signedPayment, header, type WirePayment } from '../support/payments.ts'
import { codeOf } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const NUMBER = '73848'
const LOOKUP = { operation: 'lookup', input: { company_number: NUMBER } }

describe('[5.7.12] a settled payment without a record', function () {
  this.timeout(240_000)
  /** Replaces the receiver, if set. */
  let receiver: string | undefined

  const { service, lookup, a2a, mcp } = useService(() =>
    startTestService({
      replaceExternals: (own) => ({
        ...own,
        payTo: receiver ?? own.payTo,
      }),
    }),
  )
  const ask = (payment: WirePayment) => lookup(NUMBER, header(payment))
  const TRANSPORTS = {
    REST: ask,
    A2A: (payment: WirePayment) => a2a(LOOKUP, header(payment)),
    MCP: (payment: WirePayment) => mcp(LOOKUP, header(payment)),
  }

  const sign = async (validBefore?: number): Promise<WirePayment> =>
    signedPayment({
      key: service.buyerKey,
      requirements: await requirements(),
      ...(validBefore !== undefined && { authorization: { validBefore: String(validBefore) } }),
    })
  const requirements = async () => {
    const { json } = await lookup(NUMBER)
    const [quoted] = (json as unknown as { accepts: [never] }).accepts
    return quoted
  }
  const loseLog = () =>
    service.restart({
      whileStopped: () => rm(responsesFolder(service.directory), { recursive: true }),
      allowed: { newLog: true },
    })

  for (const [transport, send] of Object.entries(TRANSPORTS)) {
    it(`gets 409 over ${transport} after the log is lost, is listed for the operator, and is not charged again`, async () => {
      const payment = await sign()
      expect((await send(payment)).status).to.equal(200)
      await loseLog()
      const { transfers } = await service.paid()
      const refused = await send(payment)
      expect(codeOf(refused)).to.equal('payment_already_settled')
      expect(refused.json).to.include({ company: null }).and.to.include.keys('error', 'source', 'snapshot_id')
      expect((await service.paid()).transfers).to.equal(transfers)
      const listed = await runCommand(['payments', 'unrecorded'], { environment: { DATA_DIR: service.directory } })
      expect(listed.code, listed.stderr).to.equal(0)
      expect(listed.text).to.contain(payment.payload.authorization.nonce)
      expect(service.reports.map(([event]) => event)).to.include('payment_without_record')
    })
  }

  it('[14.14] gets 409 although the receiver has changed since, and 402 if it was not settled', async () => {
    const [paid, unpaid] = [await sign(), await sign()]
    expect((await ask(paid)).status).to.equal(200)
    const changeReceiver = (next: string | undefined) => {
      receiver = next
      return service.restart({
        whileStopped: () => rm(responsesFolder(service.directory), { recursive: true }),
        allowed: { newLog: true, newReceiver: true },
      })
    }
    await changeReceiver(`0x${'d4'.repeat(20)}`)
    try {
      expect(codeOf(await ask(paid))).to.equal('payment_already_settled')
      expect(codeOf(await ask(unpaid))).to.equal('payment_invalid')
    } finally {
      await changeReceiver(undefined)
    }
  })
})
