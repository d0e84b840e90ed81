/** The check of a copied environment in a child process. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { checkEnvironment } from '../../../store/files/check-environment.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the check of an environment', () => {
  it('ends at a deadline, and then counts the environment as damaged', async () => {
    const folder = await makeTemporaryDirectory()
    // Opening a pipe without a writer never ends.
    await promisify(execFile)('mkfifo', [join(folder, 'data.mdb')])
    const failure = await checkEnvironment('responses', folder, 500).catch((cause: Error) => cause.message)
    expect(failure).to.match(/: the copied environment is damaged; [^\n]+$/)
  })
})
