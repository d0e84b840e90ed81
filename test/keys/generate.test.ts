/** Tests of the creation of a key and of its file. */
import { stat } from 'node:fs/promises'
import { expect } from 'chai'
import { calculateJwkThumbprint } from 'jose'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { filesIn, makeKeyAt, pathOf, readJwk, START_SECONDS } from './support.ts'

let directory: string

describe('generating a key', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('[13.2] writes an ES256 key and its time to one file of mode 0600 that is named after the thumbprint', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    expect(await filesIn(directory)).to.deep.equal([`${kid}.jwk.json`])
    expect((await stat(pathOf(directory, kid))).mode & 0o7777).to.equal(0o600)
    const jwk = await readJwk(directory, kid)
    expect(jwk).to.have.all.keys('kty', 'crv', 'x', 'y', 'd', 'kid', 'use', 'alg', 'iat')
    expect(jwk).to.include({ kty: 'EC', crv: 'P-256', kid, use: 'sig', alg: 'ES256', iat: START_SECONDS })
    expect(await calculateJwkThumbprint(jwk)).to.equal(kid)
  })
})
