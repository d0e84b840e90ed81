/** Tests of every rule of a key file. */
import { chmod, mkdir, rename, symlink } from 'node:fs/promises'
import { expect } from 'chai'
import { calculateJwkThumbprint } from 'jose'
import { readKeyFile } from '../../keys/key-file.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { expectKeyError, makeKeyAt, pathOf, putKeyFile, readJwk, START_SECONDS, type Jwk } from './support.ts'

let directory: string

const invalidKeys: { name: string; rule: RegExp; change: (jwk: Jwk, other: Jwk) => object }[] = [
  { name: 'RSA', rule: /not an EC key/, change: (jwk) => ({ ...jwk, kty: 'RSA' }) },
  { name: 'P-384', rule: /not on the curve P-256/, change: (jwk) => ({ ...jwk, crv: 'P-384' }) },
  { name: 'another algorithm', rule: /"alg":"ES256"/, change: (jwk) => ({ ...jwk, alg: 'ES384' }) },
  { name: 'no x', rule: /lacks the text member "x"/, change: (jwk) => ({ ...jwk, x: undefined }) },
  { name: 'a short d', rule: /"d" that is not 32 bytes/, change: (jwk) => ({ ...jwk, d: jwk.d.slice(0, 42) }) },
  { name: 'padding', rule: /"d" that is not 32 bytes/, change: (jwk) => ({ ...jwk, d: `${jwk.d}=` }) },
  { name: 'd zero', rule: /does not match/, change: (jwk) => ({ ...jwk, d: 'A'.repeat(43) }) },
  { name: 'd of another key', rule: /does not match/, change: (jwk, other) => ({ ...jwk, d: other.d }) },
  { name: 'kid of another key', rule: /RFC 7638/, change: (jwk, other) => ({ ...jwk, kid: other.kid }) },
  { name: 'point of another key', rule: /RFC 7638/, change: (jwk, { x, y, d }) => ({ ...jwk, x, y, d }) },
  { name: 'no iat', rule: /"iat" in whole seconds/, change: (jwk) => ({ ...jwk, iat: undefined }) },
  { name: 'negative iat', rule: /negative "iat"/, change: (jwk) => ({ ...jwk, iat: -1 }) },
  {
    name: 'compromised with d',
    rule: /both a private part and the time of a compromise/,
    change: (jwk) => ({ ...jwk, compromised_at: START_SECONDS }),
  },
  { name: 'an array', rule: /not a JSON object/, change: (jwk) => [jwk] },
]

const invalidTexts: { name: string; rule: RegExp; text: (good: string, d: string) => string }[] = [
  { name: 'empty', rule: /not JSON/, text: () => '' },
  { name: 'cut short', rule: /not JSON/, text: (good) => good.slice(0, -20) },
  { name: 'only the private part', rule: /not JSON/, text: (_, d) => d },
  { name: 'a private part without quotes', rule: /not JSON/, text: (_, d) => `{"x":${d}}` },
  { name: 'null', rule: /not a JSON object/, text: () => 'null' },
  { name: 'longer than 4096 bytes', rule: /larger than 4096/, text: (good) => good.padEnd(4097) },
]

describe('a key file', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('is accepted at mode 0600 and 0400', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    for (const mode of [0o600, 0o400]) {
      await chmod(pathOf(directory, kid), mode)
      const key = await readKeyFile(pathOf(directory, kid))
      expect(key).to.include({ madeAtSeconds: START_SECONDS }).and.to.have.nested.property('privateKey.type', 'private')
      expect(key.publicJwk).to.have.all.keys('kty', 'crv', 'x', 'y', 'kid', 'use', 'alg')
    }
  })

  for (const mode of [0o640, 0o604, 0o601]) {
    it(`[13.2] is refused at mode 0${mode.toString(8)}`, async () => {
      const path = pathOf(directory, await makeKeyAt(directory, START_SECONDS))
      await chmod(path, mode)
      await expectKeyError(readKeyFile(path), { path, rule: new RegExp(`mode 0${mode.toString(8)};.*chmod 600`) })
    })
  }

  it('is accepted at 4096 bytes', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const path = await putKeyFile(directory, kid, JSON.stringify(await readJwk(directory, kid)).padEnd(4096))
    expect((await readKeyFile(path)).publicJwk.kid).to.equal(kid)
  })

  for (const { name, rule, change } of invalidKeys) {
    it(`is refused with ${name}`, async () => {
      const jwk = await readJwk(directory, await makeKeyAt(directory, START_SECONDS))
      const other = await readJwk(directory, await makeKeyAt(directory, START_SECONDS))
      const path = await putKeyFile(directory, jwk.kid, JSON.stringify(change(jwk, other)))
      await expectKeyError(readKeyFile(path), { path, rule, secrets: [jwk.d, other.d] })
    })
  }

  for (const { name, rule, text } of invalidTexts) {
    it(`is refused if it is ${name}`, async () => {
      const jwk = await readJwk(directory, await makeKeyAt(directory, START_SECONDS))
      const path = await putKeyFile(directory, jwk.kid, text(JSON.stringify(jwk), jwk.d))
      await expectKeyError(readKeyFile(path), { path, rule, secrets: [jwk.d] })
    })
  }

  it('is refused if a retired key is not a point on the curve', async () => {
    const { d: _, ...jwk } = await readJwk(directory, await makeKeyAt(directory, START_SECONDS))
    const { y } = await readJwk(directory, await makeKeyAt(directory, START_SECONDS))
    const kid = await calculateJwkThumbprint({ kty: 'EC', crv: 'P-256', x: jwk.x, y })
    const path = await putKeyFile(directory, kid, JSON.stringify({ ...jwk, y, kid, retired_at: START_SECONDS }))
    await expectKeyError(readKeyFile(path), { path, rule: /not a point on P-256/ })
  })

  it('is refused under another name than its kid', async () => {
    const jwk = await readJwk(directory, await makeKeyAt(directory, START_SECONDS))
    const path = pathOf(directory, 'other')
    await rename(pathOf(directory, jwk.kid), path)
    await expectKeyError(readKeyFile(path), { path, rule: /not named after its kid/, secrets: [jwk.d] })
  })

  it('is refused if it is a symbolic link, even to a valid key', async () => {
    const path = pathOf(directory, await makeKeyAt(directory, START_SECONDS))
    await rename(path, `${path}.real`)
    await symlink(`${path}.real`, path)
    await expectKeyError(readKeyFile(path), { path, rule: /no symbolic link \(ELOOP\)/ })
  })

  it('is refused if it is a directory or missing', async () => {
    const path = pathOf(directory, 'folder')
    await expectKeyError(readKeyFile(path), { path, rule: /ENOENT/ })
    await mkdir(path, { mode: 0o700 })
    await expectKeyError(readKeyFile(path), { path, rule: /not a regular file/ })
  })
})
