/** The folder of the purchases after a power loss. */
import { join } from 'node:path'
import { expect } from 'chai'
import { fileEntry, folderStorage } from '../../../../agent/buyer/library/folder-storage.ts'
import { createPurchase, writePurchase } from '../../../../agent/buyer/library/purchase-file.ts'
import { openSpending } from '../../../../agent/buyer/library/spending.ts'
import { syncedPaths } from '../../../support/synced-paths.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'

const PURCHASE = {
  request: { method: 'GET' as const, url: 'https://companies.example/', headers: {}, body: null },
  payment: 'payment',
  quote: {},
  signed_at: '2027-01-15T08:00:00Z',
  answer: null,
}
const WRITES: Record<string, (folder: string) => Promise<unknown>> = {
  createPurchase: (folder) => createPurchase(fileEntry(join(folder, 'a.json')), PURCHASE),
  writePurchase: (folder) => writePurchase(fileEntry(join(folder, 'a.json')), PURCHASE),
  reserveSpending: (folder) =>
    openSpending({ storage: folderStorage(folder), amountMax: 1, now: () => new Date('2027-01-15') })({
      purchase: 'a.json',
      amount: 1,
    }),
}

describe('the folder of the purchases', () => {
  for (const [name, write] of Object.entries(WRITES)) {
    it(`[15.1] is on disk after ${name} has created it`, async () => {
      const parent = await makeTemporaryDirectory()
      const folder = join(parent, 'data', 'purchases')
      expect(await syncedPaths(() => write(folder))).to.include.members([parent, join(parent, 'data'), folder])
    })
  }
})
