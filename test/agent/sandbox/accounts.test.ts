/** The accounts of the sandbox are created once, and only their owner can read the keys. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { privateKeyToAccount } from 'viem/accounts'
import { openAccounts } from '../../../agent/sandbox/accounts.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe("the sandbox's accounts", () => {
  let directory: string
  let accounts: Awaited<ReturnType<typeof openAccounts>>
  beforeEach(async () => {
    directory = join(await makeTemporaryDirectory(), 'sandbox')
    accounts = await openAccounts({ directory })
  })
  afterEach(() => rm(join(directory, '..'), { recursive: true, force: true }))

  it('are the same at each start, and different in every sandbox', async () => {
    expect(await openAccounts({ directory })).to.deep.equal(accounts)
    const other = await openAccounts({ directory: join(directory, '..', 'other') })
    const { buyer, relayer, receiver } = accounts
    expect(privateKeyToAccount(buyer.privateKey).address).to.equal(buyer.address)
    expect(new Set([buyer.address, relayer.address, receiver, other.buyer.address]).size).to.equal(4)
  })

  it('are in files that only the owner can read; the key file of the client is recreated if it is lost', async () => {
    const keyFile = join(directory, 'buyer.key')
    for (const file of [keyFile, join(directory, 'accounts.json')]) {
      expect((await stat(file)).mode & 0o777).to.equal(0o600)
    }
    await rm(keyFile)
    await openAccounts({ directory })
    expect(await readFile(keyFile, 'utf8')).to.equal(`${accounts.buyer.privateKey}\n`)
  })

  it('are neither replaced nor printed if their file is damaged', async () => {
    const path = join(directory, 'accounts.json')
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.slice(0, -5))
    const message = await openAccounts({ directory }).catch((cause: Error) => cause.message)
    expect(message).to.equal(`${path} is not a valid list of sandbox accounts: repair it or move it away`)
    expect(await readFile(path, 'utf8')).to.equal(text.slice(0, -5))
  })
})
