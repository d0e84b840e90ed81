/** Warnings of libraries are lines of the log. */
import { join } from 'node:path'
import { expect } from 'chai'
import { startChild } from '../../../support/child.ts'
import { makeTemporaryDirectory } from '../../../support/temporary-directory.ts'

describe('a warning of a library', () => {
  it('is a line of the log, and not text on stderr', async () => {
    const child = startChild('agent/main.js', ['serve'], {
      DATA_DIR: join(await makeTemporaryDirectory(), 'data'),
      PORT: '0',
      // The library warns about this mode. No server listens there, so the start ends.
      RESPONSE_LOG: 'postgres://log@127.0.0.1:1/log?sslmode=require',
    })
    expect(await child.ended).to.equal(1)
    const lines = child.stderr().trim().split('\n')
    expect(lines.pop()).to.equal('RESPONSE_LOG cannot be used: no server listens at its address')
    const events = lines.map((line) => JSON.parse(line) as { msg: string; error?: string })
    expect(events.find(({ msg }) => msg === 'library_warning')).to.include({ error: 'Warning' })
  })
})
