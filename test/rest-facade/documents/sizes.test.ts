/** What an agent reads is short: bytes of the documents, with a dataset as in production. */
import { expect } from 'chai'
import type { Mode } from '../../../agent/payment/terms.ts'
import { renderDocuments } from '../../../rest-facade/documents/render-documents.ts'
import { deploymentOf } from '../../support/deployment.ts'

const STATUSES = 'Ceased, Ceased IRL, Deleted as per SE Tr, Dissolved, Dissolved PostMerger, Examinership, Liquidation'

const BYTES_MAX = {
  '/openapi.json': 70_000,
}

for (const mode of ['testnet', 'mainnet'] as Mode[])
  describe(`the documents on ${mode}`, () => {
    const documents = renderDocuments({ ...deploymentOf(mode), statuses: STATUSES })
    for (const [path, bytesMax] of Object.entries(BYTES_MAX))
      it(`[7.9] ${path} has at most ${bytesMax} bytes`, () => {
        const bytes = Buffer.byteLength(documents.get(path)?.text ?? '')
        expect(bytes).to.be.within(1_000, bytesMax)
      })
  })
