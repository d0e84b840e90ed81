/** The sandbox: a new chain sets the response log aside, and an external chain keeps running. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSandbox } from '../../../agent/sandbox/sandbox.ts'
import { logMarker, usedReceivers } from '../../../store/log/directory-files.ts'
import { rpc, testChainUrl } from '../../support/chain.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const RECEIVER = '0x00000000000000000000000000000000000000c2'
const LOG_ID = '00000000-0000-4000-8000-000000000001'

describe('the sandbox', () => {
  let directory: string
  const lines: string[] = []

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    lines.length = 0
  })

  const open = (rpcUrl?: string, payTo?: string) =>
    openSandbox({
      config: { dataDirectory: directory, rpcUrls: rpcUrl === undefined ? [] : [rpcUrl], payTo },
      now: () => new Date(),
      log: (line) => void lines.push(line),
    })

  /** A response log that was used with these receivers, the newest last. */
  async function makeLog(...receivers: string[]): Promise<void> {
    await mkdir(join(directory, 'responses'))
    await writeFile(join(directory, 'responses', 'data.mdb'), 'money')
    await logMarker.write(directory, { log_id: LOG_ID })
    await usedReceivers.write(directory, { receivers })
  }

  it('sets the response log aside and reports it if its chain is new', async () => {
    await makeLog(RECEIVER)
    const sandbox = await open(undefined, RECEIVER)
    try {
      // The next start accepts a new log without an option.
      expect(await logMarker.read(directory)).to.equal(undefined)
      expect(lines).to.deep.equal(['the sandbox chain is new: the response log of the old one was set aside'])
      const names = await readdir(directory)
      expect(names.filter((name) => /^responses\.[0-9]+$/.test(name))).to.have.lengthOf(1)
      expect(names).to.not.include('responses')
    } finally {
      await sandbox.stop()
    }
  })

  it('[14.13] leaves the response log of another receiver, which the start then refuses', async () => {
    await makeLog(RECEIVER, `0x${'d4'.repeat(20)}`)
    const sandbox = await open(undefined, RECEIVER)
    await sandbox.stop()
    expect(lines).to.deep.equal([])
    expect(await logMarker.read(directory)).to.deep.equal({ log_id: LOG_ID })
    expect(await readFile(join(directory, 'responses', 'data.mdb'), 'utf8')).to.equal('money')
  })

  it('keeps chain, accounts and response log after a stop', async () => {
    const first = await open()
    await first.stop()
    await mkdir(join(directory, 'responses'))
    const second = await open()
    await second.stop()
    expect(lines).to.deep.equal([])
    expect(second.buyerKey).to.equal(first.buyerKey)
    expect(second.externals.payTo).to.equal(first.externals.payTo)
    expect(await readdir(directory)).to.include('responses')
  })

  it('uses a configured chain and does not stop it', async () => {
    const url = await testChainUrl()
    const sandbox = await open(url, RECEIVER)
    expect(sandbox).to.deep.include({ rpcUrl: url })
    expect(sandbox.externals.payTo).to.equal(RECEIVER)
    await sandbox.stop()
    expect(await rpc(url, 'eth_chainId')).to.equal('0x14a34')
  })
})
