/** The sandbox's keys are made once, and nobody else can read them. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { privateKeyToAccount } from 'viem/accounts'
import { openAccounts, type Accounts } from '../../../agent/sandbox/accounts.ts'
import { newDirectory } from '../../support/sandbox-chain.ts'

describe("the sandbox's accounts", () => {
  let directory: string
  let accounts: Accounts
  beforeEach(async () => {
    directory = join(await newDirectory(), 'sandbox')
    accounts = await openAccounts({ directory })
  })
  afterEach(() => rm(join(directory, '..'), { recursive: true, force: true }))

  it('are the same at every start', async () => {
    expect(await openAccounts({ directory })).to.deep.equal(accounts)
    expect(privateKeyToAccount(accounts.buyer.privateKey).address).to.equal(accounts.buyer.address)
    expect(new Set([accounts.buyer.address, accounts.relayer.address, accounts.receiver]).size).to.equal(3)
  })

  it('are different in every sandbox', async () => {
    const other = await openAccounts({ directory: join(directory, '..', 'other') })
    expect(other.buyer.address).not.to.equal(accounts.buyer.address)
  })

  it('are in files that only their owner reads', async () => {
    for (const name of ['accounts.json', 'buyer.key']) {
      expect((await stat(join(directory, name))).mode & 0o777).to.equal(0o600)
    }
  })

  it("has the buyer's key in the file from which the client pays, also after that was lost", async () => {
    const keyFile = join(directory, 'buyer.key')
    expect(await readFile(keyFile, 'utf8')).to.equal(`${accounts.buyer.privateKey}\n`)
    await rm(keyFile)
    await openAccounts({ directory })
    expect(await readFile(keyFile, 'utf8')).to.equal(`${accounts.buyer.privateKey}\n`)
  })

  it('are never replaced, nor shown, when their file is damaged', async () => {
    const path = join(directory, 'accounts.json')
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.slice(0, -5))
    let message = 'opened'
    try {
      await openAccounts({ directory })
    } catch (cause) {
      message = (cause as Error).message
    }
    expect(message).to.equal(`${path} is not the sandbox's list of accounts: mend it, or move it away`)
    expect(await readFile(path, 'utf8')).to.equal(text.slice(0, -5))
  })
})
