/** What a quote declares besides the terms, held against the public checkers, and how long its header can become. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { validateAndExtract, validateDiscoveryExtensionSpec, type DiscoveryExtension } from '@x402/extensions/bazaar'
import { isPaymentIdentifierExtension, isPaymentIdentifierRequired } from '@x402/extensions/payment-identifier'
import { expect } from 'chai'
import { resourceUrl } from '../../../agent/operation/resource.ts'
import { OPERATION_NAMES, parseOperation, type OperationName } from '../../../agent/operation/schema.ts'
import { quoteFor } from '../../../agent/payments/quote.ts'
import { termsOf } from '../../../agent/payments/terms.ts'
import { testTerms } from '../../support/payments.ts'

const BASE = 'https://an-agent-with-a-rather-long-name.companies.example.ie'
const HEADER_CHARACTERS_MAX = 4096

function quote(operation: OperationName, url = `${BASE}/api/v1/${operation}`, terms = testTerms) {
  const made = quoteFor({ terms, operation, url, reason: 'invalid_exact_evm_payload_authorization_value_mismatch' })
  return { ...made, decoded: decodePaymentRequiredHeader(made.header) }
}

describe('a quote', () => {
  for (const operation of OPERATION_NAMES) {
    describe(`of a ${operation}`, () => {
      const { decoded, json, header } = quote(operation)
      const bazaar = decoded.extensions?.['bazaar'] as DiscoveryExtension & { routeTemplate?: string }

      it('is the same in the header and as text, and one that the public schema takes', () => {
        expect(decoded).to.deep.equal(JSON.parse(json))
        expect(PaymentRequiredV2Schema.safeParse(decoded).success).to.equal(true)
        expect(Buffer.from(header, 'base64').toString('base64')).to.equal(header)
      })

      it('says how it is asked for, and the public checker agrees', () => {
        expect(validateDiscoveryExtensionSpec({ ...bazaar })).to.deep.equal({ valid: true })
        const { valid, errors, info } = validateAndExtract(bazaar)
        expect(valid, errors?.join()).to.equal(true)
        const { input } = info as unknown as { input: Record<string, object | undefined> }
        const asked = { ...(input['pathParams'] ?? input['queryParams'] ?? input['body']) } as { limit?: string }
        const { limit, ...fields } = asked
        const parsed = parseOperation(operation, limit === undefined ? fields : { ...fields, limit: Number(limit) })
        expect(parsed.valid).to.equal(true)
      })

      it('has a schema that an example of another shape does not fit', () => {
        const wrong = { ...bazaar, info: { ...bazaar.info, input: { type: 'http', method: 'PUT' } } }
        expect(validateAndExtract(wrong as unknown as DiscoveryExtension).valid).to.equal(false)
      })

      it('takes a payment identifier and does not ask for one', () => {
        const block = decoded.extensions?.['payment-identifier']
        expect(isPaymentIdentifierExtension(block)).to.equal(true)
        expect(isPaymentIdentifierRequired(block)).to.equal(false)
      })
    })
  }

  it('is encoded as a whole would be, however long its URL is and whatever it is written in', () => {
    for (const letter of ['a', '%C3%A9', '%E2%82%AC']) {
      for (let length = 0; length < 1_200; length += 1) {
        const { header, json } = quoteFor({
          terms: testTerms,
          operation: 'search',
          url: `${BASE}/api/v1/search?q=${'a'.repeat(length % 7)}${letter.repeat(length)}`,
          reason: 'PAYMENT-SIGNATURE header is required',
        })
        expect(header).to.equal(Buffer.from(json).toString('base64'))
      }
    }
  })

  it('names a company in its example that there is on either network', () => {
    const example = (mode: 'mainnet' | 'testnet') => {
      const { extensions = {} } = quote('lookup', BASE, termsOf(mode, testTerms.payTo)).decoded
      return (extensions['bazaar'] as { info: { input: { pathParams: object } } }).info.input.pathParams
    }
    expect(example('testnet')).to.deep.equal({ company_number: '00000000' })
    expect(example('mainnet')).to.deep.equal({ company_number: '249885' })
  })

  for (const [letter, length] of [
    ['a', 160],
    ['\u{e9}', 160],
    ['\u{20000}', 80],
    ['\u{20000}', 160],
  ] as const) {
    it(`stays under 4 KiB, and names the search, for ${length} letters like ${letter}`, () => {
      const status = letter.repeat(length / 2)
      const parsed = parseOperation('search', { q: letter.repeat(length), limit: 10, status, eircode: 'D02X285' })
      if (!parsed.valid) throw new Error('The search is none')
      const url = resourceUrl(BASE, parsed.operation)
      const { header, decoded } = quote('search', url)
      expect(header.length).to.be.below(HEADER_CHARACTERS_MAX)
      expect(new URL(decoded.resource.url).href).to.equal(new URL(url).href)
      expect(decoded.extensions).to.have.property('payment-identifier')
    })
  }

  it('stays under 4 KiB at every length of a URL up to the longest', () => {
    const lengths = Array.from({ length: 2_880 / 12 }, (_, index) => {
      const url = `${BASE}/api/v1/search?q=${encodeURIComponent('\u{20000}'.repeat(index + 1))}`
      return quote('search', url).header.length
    })
    expect(Math.max(...lengths)).to.be.below(HEADER_CHARACTERS_MAX)
  })
})
