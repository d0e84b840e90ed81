/** Reading a body that arrives in parts, up to a limit of bytes. */
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { readUpTo } from '../../base/read-body.ts'

const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()

describe('a body that is read up to a limit', () => {
  it('is whole at the limit and below, and undefined above, in one part or in several', async () => {
    for (const parts of [['abcd'], ['a', 'bcd'], ['a', '', 'b', 'c', 'd']]) {
      const read = (bytesMax: number) => readUpTo(Readable.from(parts.map((part) => Buffer.from(part))), bytesMax)
      expect(text(await read(5))).to.equal('abcd')
      expect(text(await read(4))).to.equal('abcd')
      expect(await read(3)).to.equal(undefined)
    }
    expect(text(await readUpTo(Readable.from([]), 0))).to.equal('')
  })

  it('is not read beyond the part that exceeds the limit', async () => {
    let sent = 0
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(10 * ++sent)
      })(),
      { highWaterMark: 1 },
    )
    expect(await readUpTo(endless, 25)).to.equal(undefined)
    expect(endless.destroyed).to.equal(true)
    expect(sent).to.be.at.most(5)
  })

  it('fails as its source fails', async () => {
    const broken = new Readable({ read: () => broken.destroy(new Error('closed')) })
    const failure = await readUpTo(broken, 10).catch((cause: Error) => cause.message)
    expect(failure).to.equal('closed')
  })
})
