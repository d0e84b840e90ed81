/** The shipped register of the sandbox: the bytes that the generator writes, with every kind of bad value. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { SANDBOX_DAYS, sampleRegister } from '../../support/sample/register.ts'

describe('the register of the sandbox', () => {
  it('is what `npm run tool -- register` writes', async () => {
    for (const { file, options } of SANDBOX_DAYS) {
      const text = await readFile(new URL(file), 'utf8')
      // A comparison of the texts would print them.
      expect(text === [...sampleRegister(options)].join(''), `${options.daysAgo} days ago`).to.equal(true)
    }
  })
})
