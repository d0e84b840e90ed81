/** The embedded chain survives stops and crashes of the service, and says so when it did not. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { numberToHex, type Abi, type Hex } from 'viem'
import { isAlive, killAnvil } from '../../../agent/sandbox/anvil.ts'
import { rpc } from '../../../agent/sandbox/rpc.ts'
import { startChain } from '../../../agent/sandbox/chain.ts'
import { signAuthorization } from '../../support/eip3009.ts'
import { CHAIN_ID, clientOf, compiled, newDirectory, openTestChain, TOKEN } from '../../support/sandbox-chain.ts'

type TestChain = Awaited<ReturnType<typeof openTestChain>>

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(50)
}

describe('the embedded chain', () => {
  let directory: string
  let abi: Abi

  beforeEach(async () => {
    ;({ abi } = await compiled('agent/sandbox/contracts/TestUSDC.json'))
    directory = await newDirectory()
  })
  afterEach(async () => {
    const { anvil } = await chainFile()
    if (anvil) await killAnvil(anvil.pid)
    await rm(directory, { recursive: true, force: true })
  })

  interface ChainFile {
    state: string
    anvil?: { pid: number; url: string }
    saved?: { dump: string }
  }

  async function chainFile(): Promise<ChainFile> {
    try {
      return JSON.parse(await readFile(join(directory, 'chain.json'), 'utf8')) as ChainFile
    } catch {
      return { state: 'none' }
    }
  }

  async function pidOf(): Promise<number> {
    return (await chainFile()).anvil?.pid ?? 0
  }

  async function pay({ client, accounts }: TestChain) {
    const authorization = {
      from: accounts.buyer.address,
      to: accounts.receiver,
      value: 1000n,
      validAfter: 0n,
      validBefore: 2n ** 64n,
      nonce: numberToHex(7, { size: 32 }),
    }
    const signature = await signAuthorization(accounts.buyer.privateKey, authorization)
    const args = [...Object.values(authorization), signature]
    const hash = await client.writeContract({ address: TOKEN, abi, functionName: 'transferWithAuthorization', args })
    return client.waitForTransactionReceipt({ hash })
  }

  /** Everything that is asked about a payment. */
  async function evidence({ client, accounts }: Pick<TestChain, 'client' | 'accounts'>, hash: Hex) {
    const read = (functionName: string, ...args: unknown[]) =>
      client.readContract({ address: TOKEN, abi, functionName, args })
    const receipt = await client.getTransactionReceipt({ hash })
    const logs = await client.getLogs({ address: TOKEN, fromBlock: receipt.blockNumber, toBlock: receipt.blockNumber })
    const { hash: blockHash, timestamp } = await client.getBlock({ blockNumber: receipt.blockNumber })
    return {
      balance: await read('balanceOf', accounts.receiver),
      used: await read('authorizationState', accounts.buyer.address, numberToHex(7, { size: 32 })),
      receipt: [receipt.status, receipt.blockHash, receipt.logs.map(({ topics, logIndex }) => ({ topics, logIndex }))],
      block: [blockHash, timestamp],
      logs: logs.map(({ topics, data, transactionHash }) => ({ topics, data, transactionHash })),
      transactions: await client.getTransactionCount({ address: accounts.relayer.address }),
    }
  }

  it('is of the network that is asked for, and new at first', async () => {
    const chain = await startChain({ directory, chainId: CHAIN_ID })
    expect(chain.fresh).to.equal(true)
    expect(await clientOf(chain.url, numberToHex(1, { size: 32 })).getChainId()).to.equal(CHAIN_ID)
    await chain.stop()
  })

  it('is still new when its first user died before doing anything on it', async () => {
    await startChain({ directory, chainId: CHAIN_ID })
    const again = await startChain({ directory, chainId: CHAIN_ID })
    expect(again.fresh).to.equal(true)
    await again.stop()
  })

  it('goes on by itself, its final blocks too, which know the contracts from the start', async () => {
    const { chain, client } = await openTestChain(directory)
    const final = await client.getBlock({ blockTag: 'finalized' })
    expect(await client.getCode({ address: TOKEN, blockTag: 'finalized' })).to.have.length.greaterThan(2)
    // Its own rhythm is too slow to be waited for.
    await rpc(chain.url, 'evm_setIntervalMining', 1)
    await until(async () => (await client.getBlock({ blockTag: 'finalized' })).timestamp > final.timestamp)
    await chain.stop()
  })

  it('is prepared once, however often that is asked for', async () => {
    const first = await openTestChain(directory)
    const supply = await first.client.readContract({ address: TOKEN, abi, functionName: 'totalSupply' })
    const again = await openTestChain(directory)
    expect(await again.client.readContract({ address: TOKEN, abi, functionName: 'totalSupply' })).to.equal(supply)
    await again.chain.stop()
  })

  it('keeps payments, with their receipts, logs and blocks, over a stop', async () => {
    const first = await openTestChain(directory)
    const { transactionHash } = await pay(first)
    const before = await evidence(first, transactionHash)
    const pid = await pidOf()
    await first.chain.stop()
    expect(await isAlive(pid)).to.equal(false)
    expect((await chainFile()).state).to.equal('saved')

    const second = await openTestChain(directory)
    expect(second.chain.fresh).to.equal(false)
    expect(await evidence(second, transactionHash)).to.deep.equal(before)
    expect(await second.client.getCode({ address: TOKEN, blockTag: 'finalized' })).to.have.length.greaterThan(2)
    await second.chain.stop()
  })

  it('is found again when the service was killed', async () => {
    const script = fileURLToPath(new URL('../../support/start-chain.js', import.meta.url))
    const service = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(service.stdout, 'data')) as [Buffer]
    service.kill('SIGKILL')
    await once(service, 'exit')
    const pid = await pidOf()

    const found = await openTestChain(directory)
    expect(found.chain.url).to.equal(line.toString().trim())
    expect(found.chain.fresh).to.equal(false)
    expect(await pidOf()).to.equal(pid)
    const { transactionHash } = await pay(found)
    const before = await evidence(found, transactionHash)
    await found.chain.stop()
    expect(await isAlive(pid)).to.equal(false)

    const later = await openTestChain(directory)
    expect(later.chain.fresh).to.equal(false)
    expect(await evidence(later, transactionHash)).to.deep.equal(before)
    await later.chain.stop()
  })

  it('has its stop finished when the service was killed while it stopped', async () => {
    const first = await openTestChain(directory)
    const { transactionHash } = await pay(first)
    const before = await evidence(first, transactionHash)
    const { anvil } = await chainFile()
    await writeFile(join(directory, 'chain.json'), JSON.stringify({ state: 'ending', anvil }))

    const second = await openTestChain(directory)
    expect(second.chain.fresh).to.equal(false)
    expect(second.chain.url).not.to.equal(first.chain.url)
    expect(await evidence(second, transactionHash)).to.deep.equal(before)
    await second.chain.stop()
  })

  it('is new when it was killed itself', async () => {
    await openTestChain(directory)
    await killAnvil(await pidOf())
    const { chain, lines } = await openTestChain(directory)
    expect(chain.fresh).to.equal(true)
    await chain.stop()
    expect(lines).to.deep.equal([])
  })

  it('is new when it was killed after it had been loaded: what was saved before is stale', async () => {
    await (await openTestChain(directory)).chain.stop()
    const second = await openTestChain(directory)
    expect(second.chain.fresh).to.equal(false)
    await killAnvil(await pidOf())
    const third = await openTestChain(directory)
    expect(third.chain.fresh).to.equal(true)
    await third.chain.stop()
  })

  it('is new, and says why, when its saving was cut short', async () => {
    const first = await openTestChain(directory)
    await first.chain.stop()
    const { saved } = await chainFile()
    await truncate(saved?.dump as string, 1000)
    const second = await openTestChain(directory)
    expect(second.chain.fresh).to.equal(true)
    expect(second.lines).to.deep.equal(["the saved sandbox chain can't be loaded: its file was changed"])
    await second.chain.stop()
  })

  it('leaves a process alone that only happens to have its number', async () => {
    const first = await openTestChain(directory)
    const { anvil } = await chainFile()
    await first.chain.stop()
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000)'], { stdio: 'ignore' })
    for (const state of ['running', 'ending']) {
      await writeFile(join(directory, 'chain.json'), JSON.stringify({ state, anvil: { ...anvil, pid: stranger.pid } }))
      const chain = await startChain({ directory, chainId: CHAIN_ID })
      await chain.stop()
      expect(stranger.exitCode).to.equal(null)
      expect(stranger.signalCode).to.equal(null)
    }
    stranger.kill('SIGKILL')
    await once(stranger, 'exit')
  })

  it('is new on another network', async () => {
    await (await openTestChain(directory)).chain.stop()
    const other = await startChain({ directory, chainId: 31_337 })
    expect(other.fresh).to.equal(true)
    await other.stop()
  })

  it('starts anew from any chain.json that is not ours', async () => {
    for (const text of ['', '{', 'null', '{"state":"running"}', '{"state":"saved","saved":{"chainId":84532}}']) {
      await writeFile(join(directory, 'chain.json'), text)
      const chain = await startChain({ directory, chainId: CHAIN_ID })
      expect(chain.fresh).to.equal(true)
      await chain.stop()
    }
  })

  it('stops once', async () => {
    const { chain, lines } = await openTestChain(directory)
    await Promise.all([chain.stop(), chain.stop()])
    await chain.stop()
    expect(lines).to.deep.equal([])
    expect((await chainFile()).state).to.equal('saved')
  })

  it('is not ended by a service that used the one before it', async () => {
    const [first, second] = [await openTestChain(directory), await openTestChain(directory)]
    expect(second.chain.url).to.equal(first.chain.url)
    await second.chain.stop()
    const third = await openTestChain(directory)
    const { transactionHash } = await pay(third)
    const before = await evidence(third, transactionHash)
    const running = await chainFile()
    await first.chain.stop()
    expect(await chainFile()).to.deep.equal(running)
    expect(await evidence(third, transactionHash)).to.deep.equal(before)
    await third.chain.stop()
    const fourth = await openTestChain(directory)
    expect(await evidence(fourth, transactionHash)).to.deep.equal(before)
    await fourth.chain.stop()
  })

  it('refuses to be prepared where the token would not sign like USDC', async () => {
    const { prepareChain } = await import('../../../agent/sandbox/deploy.ts')
    const chain = await startChain({ directory, chainId: 31_337 })
    let message = 'prepared'
    try {
      await prepareChain({ url: chain.url, buyer: TOKEN, relayer: TOKEN })
    } catch (cause) {
      message = (cause as Error).message
    }
    expect(message).to.match(/^the test token's domain is 0x[0-9a-f]{64}, not USDC's$/)
    await chain.stop()
  })
})
