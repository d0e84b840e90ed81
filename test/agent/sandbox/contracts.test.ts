/** The compiled contracts in the repository equal the compiled sources, so the service needs no compiler. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { compileContract, compiledPath, CONTRACTS, rootFile } from '../../programs/compile-contracts.ts'

describe('the checked-in contracts', () => {
  for (const source of CONTRACTS) {
    it(`${compiledPath(source)} equals the compiled ${source}`, async () => {
      expect(await compileContract(source)).to.equal(await readFile(rootFile(compiledPath(source)), 'utf8'))
    })
  }
})
