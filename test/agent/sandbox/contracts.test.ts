/** The service needs no compiler because what the compiler makes is checked in; this holds it to the source. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { compileContract, compiledPath, CONTRACTS, rootFile } from '../../support/compile-contracts.ts'

describe('the checked-in contracts', () => {
  for (const source of CONTRACTS) {
    it(`${compiledPath(source)} is what ${source} compiles to`, async () => {
      expect(await compileContract(source)).to.equal(await readFile(rootFile(compiledPath(source)), 'utf8'))
    })
  }
})
