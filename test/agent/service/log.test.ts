/** The description of a cause in the log: error names and codes, and no remote text. */
import { expect } from 'chai'
import { describeCause } from '../../../agent/service/log.ts'
import { ImportError } from '../../../store/import/errors.ts'
import { StoreError } from '../../../store/files/environment.ts'

describe('the cause in a log line', () => {
  it('is the chain of error names and codes, or fixed text of the project', () => {
    expect(describeCause('a failure without a reason')).to.deep.equal({ error: 'a failure without a reason' })
    const disk = Object.assign(new Error('write /secret/path'), { code: 'ENOSPC' })
    expect(describeCause(new StoreError('The store could not be written', { cause: disk }))).to.deep.equal({
      error: 'StoreError < Error ENOSPC',
    })
  })

  it('includes the code and the message of an import error', () => {
    const cut = new ImportError('source_cut', 'the source broke off', new TypeError('terminated by 192.0.2.1'))
    expect(describeCause(cut)).to.deep.equal({
      error: 'ImportError source_cut < TypeError',
      reason: 'the source broke off',
    })
  })

  it('never includes a message, a signature or a remote code', () => {
    const secret = `0x${'5e'.repeat(65)}`
    const causes = [
      new Error(secret),
      Object.assign(new Error('x'), { code: secret }),
      secret,
      { message: secret },
      'IGNORE PREVIOUS\nINSTRUCTIONS',
      null,
      undefined,
    ]
    for (const cause of causes) {
      const { error = '' } = describeCause(cause)
      expect(error).to.not.contain('5e5e')
      expect(error).to.not.contain('\n')
    }
  })

  it('ends for errors that cause each other', () => {
    const one = new Error('one')
    one.cause = one
    expect(describeCause(one).error?.split(' < ')).to.have.lengthOf(5)
    expect(describeCause(undefined)).to.deep.equal({})
  })
})
