/** The wire format and extensions of a quote, checked with the packages of x402, and the length of its header. */
import { decodePaymentRequiredHeader, encodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import type { PaymentRequired } from '@x402/core/types'
import { validateAndExtract, validateDiscoveryExtensionSpec, type DiscoveryExtension } from '@x402/extensions/bazaar'
import { isPaymentIdentifierExtension, isPaymentIdentifierRequired } from '@x402/extensions/payment-identifier'
import { expect } from 'chai'
import { resourceUrl } from '../../../agent/operation/resource.ts'
import type { ExampleCompany } from '../../../agent/operation/operation.ts'
import { SYNTHETIC_EXAMPLE } from '../../../agent/operation/examples.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { buildQuote } from '../../../agent/payment/quote.ts'
import { buildTerms } from '../../../agent/payment/terms.ts'
import { testTerms } from '../../support/payments.ts'
import { definitionOf, operationOf, singleOf, parseNamed } from '../../support/operations.ts'

const BASE = 'https://an-agent-with-a-rather-long-name.companies.example.ie'
const HEADER_CHARACTERS_MAX = 3_200

function quote(name: string, url = `${BASE}/api/v1/${name}`, terms = testTerms, note?: string) {
  const definition = definitionOf(name)
  const operation = { definition, input: { ...definition.examples(SYNTHETIC_EXAMPLE)[0] } }
  const reason = 'invalid_exact_evm_payload_authorization_value_mismatch'
  const made = buildQuote({ terms, operation, url, reason, note })
  return { ...made, decoded: decodePaymentRequiredHeader(made.header) }
}

describe('a quote', () => {
  for (const { name: operation } of OPERATIONS) {
    describe(`of a ${operation}`, () => {
      const { decoded, json, header } = quote(operation)
      const bazaar = decoded.extensions?.['bazaar'] as DiscoveryExtension & { routeTemplate?: string }

      it('is the same in the header and in the body, and matches the schema of x402', () => {
        expect(decoded).to.deep.equal(JSON.parse(json))
        expect(PaymentRequiredV2Schema.safeParse(decoded).success).to.equal(true)
        expect(header).to.equal(encodePaymentRequiredHeader(JSON.parse(json) as PaymentRequired))
      })

      it('[5.1.4] has a valid bazaar extension whose example is a valid request', () => {
        expect(validateDiscoveryExtensionSpec({ ...bazaar })).to.deep.equal({ valid: true })
        const { valid, errors, info } = validateAndExtract(bazaar)
        expect(valid, errors?.join()).to.equal(true)
        const { input } = info as unknown as { input: Record<string, object | undefined> }
        const example = { ...(input['pathParams'] ?? input['queryParams'] ?? input['body']) } as { limit?: string }
        const { limit, ...fields } = example
        const parsed = parseNamed(operation, limit === undefined ? fields : { ...fields, limit: Number(limit) })
        expect(parsed.kind).to.equal('valid')
      })

      it('[5.1.4] has a description, a name and tags within the limits of catalogues', () => {
        const { description = '', serviceName = '', tags = [] } = decoded.resource ?? {}
        expect(description.length).to.be.within(20, 500)
        expect(serviceName).to.match(/^[ -~]{1,32}$/)
        expect(tags.length).to.be.within(1, 5)
        for (const tag of tags) expect(tag).to.match(/^[ -~]{1,32}$/)
      })

      it('[5.1.4] declares an optional payment identifier', () => {
        const block = decoded.extensions?.['payment-identifier']
        expect(isPaymentIdentifierExtension(block)).to.equal(true)
        expect(isPaymentIdentifierRequired(block)).to.equal(false)
      })
    })
  }

  it('[5.1.6] has on mainnet a company of the dataset in its example, and no bazaar while none is known', () => {
    const terms = buildTerms('mainnet', testTerms.payTo, OPERATIONS)
    const operation = operationOf({ operation: 'as_of', input: { company_number: '0042', date: '2026-01-02' } })
    const extensionsFor = (example?: ExampleCompany) => {
      const named = { ...terms, example }
      const { json } = buildQuote({
        terms: named,
        operation,
        url: resourceUrl(BASE, operation),
        reason: 'invalid_payload',
      })
      return (JSON.parse(json) as { extensions: object }).extensions
    }
    const example = { company_number: '7', legal_name: 'SEVEN LIMITED', date: '2026-01-01' }
    expect(extensionsFor(example)).to.deep.nested.include({ 'bazaar.info.input.pathParams.company_number': '7' })
    expect(extensionsFor()).not.to.have.property('bazaar')
  })

  it('[5.1.4] has an example of the answer with a company and at most 300 bytes', () => {
    for (const { name } of OPERATIONS) {
      const extensions = quote(name).decoded.extensions as { bazaar: { info: { output: { example: object } } } }
      const text = JSON.stringify(extensions.bazaar.info.output.example)
      expect(text, name).to.contain('"company_number":"00000000"')
      expect(Buffer.byteLength(text)).to.be.at.most(300)
    }
  })

  for (const letter of ['a', '\u{20000}']) {
    it(`[5.1.3] leaves room for the other headers of 4,000 bytes and keeps the URL for 160 letters like ${letter}`, () => {
      const status = letter.repeat(80)
      const parsed = parseNamed('search', { q: letter.repeat(160), limit: 10, status, eircode: 'D02X285' })
      if (parsed.kind === 'invalid') throw new Error('The search is invalid')
      const url = resourceUrl(BASE, parsed.operation)
      const { header, decoded } = quote('search', url)
      expect(header.length).to.be.below(HEADER_CHARACTERS_MAX)
      expect(new URL(decoded.resource.url).href).to.equal(new URL(url).href)
      expect(decoded.extensions).to.have.property('payment-identifier')
    })
  }

  it('[5.1.3] leaves room for the other headers of 4,000 bytes for every URL length, also with the longest note about a status', () => {
    const statuses = ['Normal', ...Array.from({ length: 20 }, (_, at) => `Status ${at}`.padEnd(17, 'x'))]
    const note = singleOf('search').quoteNote?.({ status: 'none' }, () => statuses)?.description ?? ''
    expect(quote('search', undefined, testTerms, note).decoded.resource.description?.length).to.be.within(450, 500)
    const lengths = Array.from({ length: 2_880 / 12 }, (_, index) => {
      const url = `${BASE}/api/v1/search?q=${encodeURIComponent('\u{20000}'.repeat(index + 1))}`
      return quote('search', url, testTerms, note).header.length
    })
    expect(Math.max(...lengths)).to.be.below(HEADER_CHARACTERS_MAX)
  })
})
