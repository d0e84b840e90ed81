/** Lookups bought from the whole service on a real chain, also with the client of x402 (contract 4.1, 5). */
import { wrapFetchWithPayment } from '@x402/fetch'
import { x402Client } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { expect } from 'chai'
import { companyResponseSchema } from '../../agent/operation/result.ts'
import { resolveResponseSchema } from '../../agent/operation/resolve.ts'
import { searchResponseSchema } from '../../agent/operation/search.ts'
import { expectRefusal, quoteIn, send } from '../support/raw-http.ts'
import { header, signQuote, type WirePayment } from '../support/payments.ts'
import { startTestService } from '../support/service.ts'
import { COMPANY, expectCharges, RESOLVE, SEARCH } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

const PRICE = 1000n

describe('a paid lookup', () => {
  const { service, lookup, payFor } = useService(() => startTestService())

  it('[5.1.1, 5.1.2, 5.1.4] is quoted with its URL and its extensions', async () => {
    const unpaid = await lookup('73848')
    expectRefusal(unpaid, 'payment_required')
    const quote = decodePaymentRequiredHeader(String(unpaid.headers['payment-required']))
    expect(quoteIn(unpaid)).to.deep.equal(quote)
    expect(Object.keys(quote.extensions ?? {})).to.deep.equal(['bazaar', 'payment-identifier'])
    expect(quote.error).to.equal('Payment is required')
    expect(quote.resource).to.deep.equal({
      url: `${service.url}/api/v1/company/73848`,
      description:
        'One Irish company record by exactly its company number, with source, licence and snapshot id. Not charged when there is no such record.',
      mimeType: 'application/json',
      serviceName: 'Irish company records',
      tags: ['ireland', 'company', 'registry', 'lookup', 'kyb'],
    })
  })

  it('[5.3.3] is sold for a payment that ends in an hour, as that of a client that ignores the quote', async () => {
    const now = Math.floor(Date.now() / 1000)
    const authorization = { validAfter: String(now - 600), validBefore: String(now + 3_600) }
    const key = service.buyerKey
    const quote = String((await lookup('73848')).headers['payment-required'])
    await expectCharges(service, [PRICE], async () => {
      const bought = await lookup('73848', await signQuote(quote, { key, authorization }))
      expect(bought.status).to.equal(200)
    })
  })

  it('[5.3.1] reads the header of x402 v1, whose payments it refuses with their version', async () => {
    const payment = JSON.parse(Buffer.from(await payFor(lookup('73848')), 'base64').toString()) as WirePayment
    const ask = (value: string, more: Record<string, string> = {}) =>
      send({ url: service.url, path: `${COMPANY}/73848`, headers: { 'X-PAYMENT': value, ...more } })
    await expectCharges(service, [PRICE], async () => {
      const refused = await ask(header({ ...payment, x402Version: 1 }))
      expectRefusal(refused, 'payment_invalid')
      expect(refused.json['error']).to.include({ field: 'x402Version', next: 'pay_again', charged: 'no' })
      const both = await ask('no payment', { 'PAYMENT-SIGNATURE': header(payment) })
      expect(both.status).to.equal(200)
      expect((await ask(header(payment))).text).to.equal(both.text)
    })
  })

  const WRITTEN: Record<string, (address: string) => string> = {
    'upper case': (address) => `0x${address.slice(2).toUpperCase()}`,
    'lower case': (address) => address.toLowerCase(),
    'a wrong checksum': (address) =>
      address.replace(/[a-f]/i, (digit) => (/[a-f]/.test(digit) ? digit.toUpperCase() : digit.toLowerCase())),
  }
  for (const [written, write] of Object.entries(WRITTEN)) {
    it(`[5.3.5] is sold to a payer whose addresses are in ${written}`, async () => {
      const payment = JSON.parse(Buffer.from(await payFor(lookup('73848')), 'base64').toString()) as WirePayment
      const { authorization } = payment.payload
      authorization.from = write(authorization.from)
      authorization.to = write(authorization.to)
      await expectCharges(service, [PRICE], async () => {
        expect((await lookup('73848', header(payment))).status).to.equal(200)
      })
    })
  }

  describe('with a stock client', () => {
    const payingFetch = () => {
      const client = new x402Client().register('eip155:*', new ExactEvmScheme(service.buyer))
      return wrapFetchWithPayment(fetch, client)
    }

    for (const slash of ['', '/'])
      it(`[4.7.1] works with @x402/fetch in other spellings of a request, with paths that end in "${slash}"`, async () => {
        const pay = payingFetch()
        await expectCharges(service, [PRICE, PRICE, 2000n], async () => {
          const bought = await pay(`${service.url}${COMPANY}/73848${slash}`)
          expect(companyResponseSchema.parse(await bought.json()).company.company_number).to.equal('73848')
          const { transaction, ...receipt } = decodePaymentResponseHeader(bought.headers.get('PAYMENT-RESPONSE') ?? '')
          const payer = service.buyer.address
          expect(receipt).to.include({ success: true, network: 'eip155:84532', payer, amount: '1000' })
          expect(transaction).to.match(/^0x[0-9a-f]{64}$/)
          const found = await pay(`${service.url}${SEARCH}${slash}?limit=3&q=Plain+Fixture%20Limited`)
          const { query } = searchResponseSchema.parse(await found.json())
          expect(query).to.deep.equal({ q: 'Plain Fixture Limited', limit: 3 })
          const headers = { 'Content-Type': 'application/json' }
          const body = ' {"name": "Plain Fixture Limited"}'
          const resolved = await pay(service.url + RESOLVE + slash, { method: 'POST', headers, body })
          expect(resolveResponseSchema.parse(await resolved.json()).match?.company.company_number).to.equal('73848')
        })
      })
  })
})
