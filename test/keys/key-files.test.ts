/** The rules of key files and of their directory. No message contains a part of a private key. */
import { chmod, mkdir, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { calculateJwkThumbprint } from 'jose'
import { readDirectory } from '../../keys/key-files.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { filesIn, makeKeyAt, pathOf, putKeyFile, readJwk, START_SECONDS, type Jwk } from './support.ts'

const WRONG: [name: string, rule: RegExp, text: (jwk: Jwk, other: Jwk) => unknown][] = [
  ['another type', /wrong kty/, (jwk) => ({ ...jwk, kty: 'RSA' })],
  ['another curve', /wrong crv/, (jwk) => ({ ...jwk, crv: 'P-384' })],
  ['another algorithm', /wrong alg/, (jwk) => ({ ...jwk, alg: 'ES384' })],
  ['padding', /wrong d/, (jwk) => ({ ...jwk, d: `${jwk.d}=` })],
  ['a time in milliseconds', /wrong iat/, (jwk) => ({ ...jwk, iat: START_SECONDS * 1000 })],
  ['d of another key', /do not belong together/, (jwk, other) => ({ ...jwk, d: other.d })],
  ['kid of another key', /RFC 7638/, (jwk, other) => ({ ...jwk, kid: other.kid })],
  ['point of another key', /RFC 7638/, (jwk, { x, y, d }) => ({ ...jwk, x, y, d })],
  ['no private part, as of an earlier version', /wrong d/, (jwk) => ({ ...jwk, d: undefined })],
  ['only the private part', /not JSON/, ({ d }) => d],
  ['no object', /not an ES256 key/, (jwk) => [jwk]],
]

describe('the key files', () => {
  let directory: string
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  const makeJwk = async (folder = directory) => readJwk(folder, await makeKeyAt(folder, START_SECONDS))
  const refusal = () => readDirectory(directory).catch((error: unknown) => error)

  it('[13.2] have mode 0600, the name of the thumbprint, and a key with its time', async () => {
    const jwk = await makeJwk()
    expect(await filesIn(directory)).to.deep.equal([`${jwk.kid}.jwk.json`])
    expect((await stat(pathOf(directory, jwk.kid))).mode & 0o7777).to.equal(0o600)
    expect(jwk).to.have.all.keys('kty', 'crv', 'x', 'y', 'd', 'kid', 'use', 'alg', 'iat')
    expect(jwk).to.include({ kty: 'EC', crv: 'P-256', use: 'sig', alg: 'ES256', iat: START_SECONDS })
    expect(await calculateJwkThumbprint(jwk)).to.equal(jwk.kid)
    const [key] = await readDirectory(directory)
    expect(key?.publicJwk).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg')
  })

  for (const [name, rule, text] of WRONG) {
    it(`are refused with ${name}, in one line`, async () => {
      const jwk = await makeJwk()
      const other = await makeJwk(await makeTemporaryDirectory())
      const content = text(jwk, other)
      const path = await putKeyFile(directory, jwk.kid, typeof content === 'string' ? content : JSON.stringify(content))
      const error = (await refusal()) as Error
      expect(error.message).to.include(path).and.to.match(rule).and.not.to.include('\n')
      const dump = inspect(error, { depth: Infinity, showHidden: true })
      for (const { d } of [jwk, other])
        for (let at = 0; at + 6 <= d.length; at += 1) expect(dump).not.to.include(d.slice(at, at + 6))
    })
  }

  it('are refused under another name than the kid', async () => {
    const { kid } = await makeJwk()
    await rename(pathOf(directory, kid), pathOf(directory, 'other'))
    expect(await refusal()).to.match(/must have its RFC 7638 thumbprint/)
  })

  it('[13.2] are refused if others can read them', async () => {
    const { kid } = await makeJwk()
    await chmod(pathOf(directory, kid), 0o640)
    expect(await refusal()).to.match(/accessible to its owner only: run chmod 600/)
  })

  it('are refused if one of them is a directory', async () => {
    await mkdir(pathOf(directory, 'folder'))
    expect(await refusal()).to.match(/must be a regular file/)
  })

  it('are refused if one of them is a symbolic link, even to a valid key', async () => {
    const path = pathOf(directory, (await makeJwk()).kid)
    await rename(path, `${path}.real`)
    await symlink(`${path}.real`, path)
    expect(await refusal()).to.match(/no symbolic link/)
  })

  it('are read with 4096 bytes, and refused with more', async () => {
    const jwk = await makeJwk()
    await putKeyFile(directory, jwk.kid, JSON.stringify(jwk).padEnd(4096))
    expect(await readDirectory(directory)).to.have.lengthOf(1)
    await putKeyFile(directory, jwk.kid, JSON.stringify(jwk).padEnd(4097))
    expect(await refusal()).to.match(/larger than 4096 bytes/)
  })

  it('are read beside other files', async () => {
    const { kid } = await makeJwk()
    await writeFile(join(directory, 'README'), 'notes')
    await writeFile(`${pathOf(directory, 'half')}.1.tmp`, '{')
    expect((await readDirectory(directory)).map(({ publicJwk }) => publicJwk.kid)).to.deep.equal([kid])
  })
})
