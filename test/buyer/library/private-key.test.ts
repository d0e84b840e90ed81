/** Files that hold the private key of a buyer, and files that do not. */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { readPrivateKey } from '../../../buyer/library/private-key.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const KEY = `0x${'5a'.repeat(32)}`

describe('[15.10] the file of a private key', () => {
  let path: string
  beforeEach(async () => void (path = join(await makeTemporaryDirectory(), 'buyer.key')))

  const read = () => readPrivateKey(path).catch((cause: Error) => cause.message)
  const noKey = () => `${path} must hold a private key: 0x and 64 hex digits`

  it('holds the key, with white space around it', async () => {
    for (const text of [KEY, `${KEY}\n`, ` ${KEY}\r\n`]) {
      await writeFile(path, text, { mode: 0o600 })
      expect(await read()).to.equal(KEY)
    }
  })

  it('is refused if it is missing, holds no key, is a directory, or others can read it', async () => {
    expect(await read()).to.match(/^The key file .* does not exist\. "client address --new/)
    for (const text of ['', '0x5a', KEY.slice(2), `${KEY}${' '.repeat(128)}`]) {
      await writeFile(path, text, { mode: 0o600 })
      expect(await read(), text).to.equal(noKey())
    }
    path = join(path, '..')
    await chmod(path, 0o755)
    expect(await read()).to.equal(`${path} is a directory: name the key file`)
    path = join(path, 'open.key')
    await writeFile(path, KEY)
    await chmod(path, 0o640)
    expect(await read()).to.equal(`${path} has mode 0640; only its owner may have access: run chmod 600 "${path}"`)
  })
})
