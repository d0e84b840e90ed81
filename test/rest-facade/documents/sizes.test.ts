/** What an agent reads is short: bytes of the documents, with a dataset as in production. */
import { expect } from 'chai'
import { listTools } from '../../../agent/payment/tools.ts'
import type { Mode } from '../../../agent/payment/terms.ts'
import { renderDocuments } from '../../../rest-facade/documents/render-documents.ts'
import { deploymentOf } from '../../support/deployment.ts'

const STATUSES = 'Ceased, Ceased IRL, Deleted as per SE Tr, Dissolved, Dissolved PostMerger, Examinership, Liquidation'

const BYTES_MAX = {
  '/openapi.json': 70_000,
  '/docs/api.md': 16_000,
}

for (const mode of ['testnet', 'mainnet'] as Mode[])
  describe(`the documents on ${mode}`, () => {
    const deployment = { ...deploymentOf(mode), statuses: STATUSES }
    const documents = renderDocuments(deployment)

    it('[4.6.1] the list of tools has at most 12,000 bytes', () => {
      const tools = listTools(deployment.terms, { statuses: STATUSES, example: deployment.exampleCompany })
      const list = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } })
      expect(Buffer.byteLength(list)).to.be.within(5_000, 12_000)
    })

    for (const [path, bytesMax] of Object.entries(BYTES_MAX))
      it(`[7.9] ${path} has at most ${bytesMax} bytes`, () => {
        const bytes = Buffer.byteLength(documents.get(path)?.text ?? '')
        expect(bytes).to.be.within(1_000, bytesMax)
      })
  })
