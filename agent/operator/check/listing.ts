/**
 * What catalogues show of the service: the metadata of each quote, as a catalogue takes it from the first settlement.
 */
import { buildQuote } from '../../payment/quote.ts'
import { toUsdc, type Terms } from '../../payment/terms.ts'

interface Listed {
  resource: { url: string; description: string; serviceName: string; tags: string[]; mimeType: string }
  accepts: [{ amount: string; network: string; payTo: string }]
  extensions: { bazaar: { info: { input: Record<string, unknown> } } }
}

/** One block of lines for each operation. */
export function describeListing(terms: Terms, baseUrl: string): string[] {
  return terms.operations.flatMap((definition) => {
    const { path, method } = definition
    const quote = buildQuote({
      terms,
      operation: { definition, input: definition.quotedExample(terms.mode) },
      url: `${baseUrl}${path}`,
      reason: 'PAYMENT-SIGNATURE header is required',
    })
    const { resource, accepts, extensions } = JSON.parse(quote.json) as Listed
    const [{ amount, network, payTo }] = accepts
    const { type: _type, method: _method, ...input } = extensions.bazaar.info.input
    return [
      `${method} ${resource.url}`,
      `  service      ${resource.serviceName}`,
      `  description  ${resource.description}`,
      `  tags         ${resource.tags.join(', ')}`,
      `  price        ${toUsdc(amount)} USDC on ${network}, paid to ${payTo}`,
      `  input        ${JSON.stringify(input)}`,
      `  answer       ${resource.mimeType}`,
    ]
  })
}
