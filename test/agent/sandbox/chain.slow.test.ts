/** The local chain survives stops and crashes of the service, and reports when it did not. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { numberToHex, type Abi, type Hex } from 'viem'
import { openAccounts } from '../../../agent/sandbox/accounts.ts'
import { readRecord, RECORD_FILE, startChain, stateFile } from '../../../agent/sandbox/chain.ts'
import { rpc } from '../../support/chain.ts'
import { isRunning } from '../../support/child-processes.ts'
import { signAuthorization } from '../../support/eip3009.ts'
import { CHAIN_ID, clientOf, compiled, openTestChain, TOKEN } from '../../support/sandbox-chain.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

type TestChain = Awaited<ReturnType<typeof openTestChain>>

const NONCE = numberToHex(7, { size: 32 })

describe('the local chain', () => {
  let directory: string
  let abi: Abi

  before(async () => void ({ abi } = await compiled('agent/sandbox/contracts/TestUSDC.json')))
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))
  afterEach(async () => {
    const pid = await anvilPid()
    if (pid !== undefined && (await isRunning(pid))) process.kill(pid, 'SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })

  const anvilPid = async () => (await readRecord(directory))?.anvil
  const statePath = () => join(directory, stateFile(CHAIN_ID))

  /** Starts a service that uses the chain, and returns the URL of the chain. */
  async function startOther() {
    const script = fileURLToPath(new URL('../../programs/start-chain.js', import.meta.url))
    const service = spawn(process.execPath, [script, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 120_000,
      killSignal: 'SIGKILL',
    })
    const [line] = (await once(service.stdout, 'data')) as [Buffer]
    const kill = async () => {
      service.kill('SIGKILL')
      await once(service, 'exit')
    }
    return { url: line.toString().trim(), kill }
  }

  /** Uses the running chain of a service. */
  async function openPrepared(chainUrl: string) {
    const accounts = await openAccounts({ directory })
    return { accounts, client: clientOf(chainUrl, accounts.relayer.privateKey) }
  }

  /** Starts the chain without preparing it, stops it, and returns whether it was new. */
  async function isFresh(chainId = CHAIN_ID): Promise<boolean> {
    const chain = await startChain({ directory, chainId })
    await chain.stop()
    return chain.fresh
  }

  /** Pays on the chain and returns everything that the service reads about the payment. */
  async function pay(chain: Pick<TestChain, 'accounts' | 'client'>) {
    const { buyer, receiver } = chain.accounts
    const times = { validAfter: 0n, validBefore: 2n ** 64n }
    const authorization = { from: buyer.address, to: receiver, value: 1000n, ...times, nonce: NONCE }
    const args = [...Object.values(authorization), await signAuthorization(buyer.privateKey, authorization)]
    const call = { address: TOKEN, abi, functionName: 'transferWithAuthorization', args } as const
    const hash = await chain.client.writeContract(call)
    await chain.client.waitForTransactionReceipt({ hash })
    return { hash, before: await nonceState(chain, hash) }
  }

  async function nonceState({ client, accounts }: Pick<TestChain, 'accounts' | 'client'>, hash: Hex) {
    const read = (functionName: string, ...args: unknown[]) =>
      client.readContract({ address: TOKEN, abi, functionName, args })
    const receipt = await client.getTransactionReceipt({ hash })
    const logs = await client.getLogs({ address: TOKEN, fromBlock: receipt.blockNumber, toBlock: receipt.blockNumber })
    const { hash: blockHash, timestamp } = await client.getBlock({ blockNumber: receipt.blockNumber })
    return {
      balance: await read('balanceOf', accounts.receiver),
      used: await read('authorizationState', accounts.buyer.address, NONCE),
      receipt: [receipt.status, receipt.blockHash, receipt.logs.map(({ topics, logIndex }) => ({ topics, logIndex }))],
      block: [blockHash, timestamp],
      logs: logs.map(({ topics, data, transactionHash }) => ({ topics, data, transactionHash })),
      transactions: await client.getTransactionCount({ address: accounts.relayer.address }),
    }
  }

  /** Opens the chain again and expects the payment in it. */
  async function expectKept({ hash, before }: Awaited<ReturnType<typeof pay>>): Promise<TestChain> {
    const again = await openTestChain(directory)
    expect(again.chain.fresh).to.equal(false)
    expect(await nonceState(again, hash)).to.deep.equal(before)
    return again
  }

  it('has the requested chain id, and is new until it is prepared', async () => {
    const { url, fresh, stop } = await startChain({ directory, chainId: CHAIN_ID })
    expect(fresh).to.equal(true)
    expect(await rpc(url, 'eth_chainId')).to.equal(numberToHex(CHAIN_ID))
    await stop()
    expect(await isFresh()).to.equal(true)
  })

  it('stops once, and keeps payments with their receipts, logs and blocks', async () => {
    const first = await openTestChain(directory)
    const payment = await pay(first)
    const pid = (await anvilPid()) ?? expect.fail('no record')
    await Promise.all([first.chain.stop(), first.chain.stop()])
    expect(await isRunning(pid)).to.equal(false)

    const { chain, client } = await expectKept(payment)
    expect(await client.getCode({ address: TOKEN, blockTag: 'finalized' })).to.have.length.greaterThan(2)
    await chain.stop()
  })

  it('is new after its process was killed, also if it had loaded a saved state, which is then stale', async () => {
    await (await openTestChain(directory)).chain.stop()
    expect((await openTestChain(directory)).chain.fresh).to.equal(false)
    const pid = (await anvilPid()) ?? expect.fail('no record')
    process.kill(pid, 'SIGKILL')
    while (await isRunning(pid)) await sleep(5)
    expect(existsSync(join(directory, RECORD_FILE))).to.equal(true)
    expect(await isFresh()).to.equal(true)
  })

  it('ends with a service that is killed, keeps its payments, and is waited for while it is saved', async () => {
    const service = await startOther()
    const { accounts, client } = await openPrepared(service.url)
    const payment = await pay({ accounts, client })
    const anvil = (await anvilPid()) ?? expect.fail('no record')
    // Anvil saves late, so that a start that does not wait finds no saved chain.
    process.kill(anvil, 'SIGSTOP')
    await service.kill()
    const saving = sleep(500).then(() => process.kill(anvil, 'SIGCONT'))
    const again = await expectKept(payment)
    await saving
    expect(await isRunning(anvil)).to.equal(false)
    await again.chain.stop()
  })

  it('of a service that runs is used by no other', async () => {
    const service = await startOther()
    const other = startChain({ directory, chainId: CHAIN_ID }).catch(String)
    expect(await other).to.equal(
      'Error: Another service uses the sandbox of DATA_DIR: stop it, or set another DATA_DIR',
    )
    expect(await rpc(service.url, 'eth_chainId')).to.equal(numberToHex(CHAIN_ID))
    await service.kill()
  })

  it('ends with a service that is killed, also without another start', async () => {
    const service = await startOther()
    const anvil = (await anvilPid()) ?? expect.fail('no record')
    await service.kill()
    while (await isRunning(anvil)) await sleep(5)
  })

  it('is new if the saved state is incomplete or of another chain, or its record is invalid', async () => {
    await (await openTestChain(directory)).chain.stop()
    expect(await isFresh(31_337)).to.equal(true)
    for (const [text, bytes] of [
      ['', 1000],
      ['{', 0],
      ['null', 100],
      ['{"url":1}', 10],
    ] as const) {
      await truncate(statePath(), bytes)
      await writeFile(join(directory, RECORD_FILE), text)
      expect(await isFresh()).to.equal(true)
    }
  })
})
