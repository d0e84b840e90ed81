/** The folder of the purchases after a power loss. */
import { join } from 'node:path'
import { expect } from 'chai'
import { folderStorage } from '../../../../agent/buyer/library/folder-storage.ts'
import { syncedPaths } from '../../../support/synced-paths.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'

describe('the folder of the purchases', () => {
  for (const write of ['create', 'replace'] as const) {
    it(`[15.1] is on disk after the first ${write}`, async () => {
      const parent = await makeTemporaryDirectory()
      const folder = join(parent, 'data', 'purchases')
      const paths = await syncedPaths(() => folderStorage(folder)[write]('a.json', '{}'))
      expect(paths).to.include.members([parent, join(parent, 'data'), folder])
    })
  }
})
