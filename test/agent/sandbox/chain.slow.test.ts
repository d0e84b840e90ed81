/** The local chain survives stops and crashes of the service, and reports when it did not. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { numberToHex, type Abi, type Hex } from 'viem'
import { isAlive, killAnvil } from '../../../agent/sandbox/anvil.ts'
import { startChain } from '../../../agent/sandbox/chain.ts'
import { prepareChain } from '../../../agent/sandbox/prepare-chain.ts'
import { rpc } from '../../support/chain.ts'
import { signAuthorization } from '../../support/eip3009.ts'
import { CHAIN_ID, compiled, newDirectory, openTestChain, TOKEN } from '../../support/sandbox-chain.ts'

type TestChain = Awaited<ReturnType<typeof openTestChain>>

const NONCE = numberToHex(7, { size: 32 })

describe('the local chain', () => {
  let directory: string
  let abi: Abi

  before(async () => void ({ abi } = await compiled('agent/sandbox/contracts/TestUSDC.json')))
  beforeEach(async () => void (directory = await newDirectory()))
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

  const chainJson = () => join(directory, 'chain.json')
  const chainFile = async (): Promise<ChainFile> =>
    JSON.parse(await readFile(chainJson(), 'utf8').catch(() => '{"state":"none"}')) as ChainFile
  const pidOf = async () => (await chainFile()).anvil?.pid ?? 0

  /** Starts the chain without preparing it, stops it, and returns whether it was new. */
  async function isFresh(chainId = CHAIN_ID): Promise<boolean> {
    const chain = await startChain({ directory, chainId })
    await chain.stop()
    return chain.fresh
  }

  /** Pays on the chain and returns everything that the service reads about the payment. */
  async function pay(chain: TestChain) {
    const { buyer, receiver } = chain.accounts
    const times = { validAfter: 0n, validBefore: 2n ** 64n }
    const authorization = { from: buyer.address, to: receiver, value: 1000n, ...times, nonce: NONCE }
    const args = [...Object.values(authorization), await signAuthorization(buyer.privateKey, authorization)]
    const call = { address: TOKEN, abi, functionName: 'transferWithAuthorization', args } as const
    const hash = await chain.client.writeContract(call)
    await chain.client.waitForTransactionReceipt({ hash })
    return { hash, before: await nonceState(chain, hash) }
  }

  async function nonceState({ client, accounts }: TestChain, hash: Hex) {
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

  it('has the requested chain id, and is new until it is prepared, also if the service dies', async () => {
    const { url, fresh } = await startChain({ directory, chainId: CHAIN_ID })
    expect(fresh).to.equal(true)
    expect(await rpc(url, 'eth_chainId')).to.equal(numberToHex(CHAIN_ID))
    expect(await isFresh()).to.equal(true)
  })

  it('advances its finalized block, which contains the contracts from the start', async () => {
    const { chain, client } = await openTestChain(directory)
    const final = await client.getBlock({ blockTag: 'finalized' })
    expect(await client.getCode({ address: TOKEN, blockTag: 'finalized' })).to.have.length.greaterThan(2)
    // The default block time is too slow for a test.
    await rpc(chain.url, 'evm_setIntervalMining', 1)
    while ((await client.getBlock({ blockTag: 'finalized' })).timestamp <= final.timestamp) await sleep(50)
    await chain.stop()
  })

  it('is prepared once', async () => {
    const supply = async () => {
      const { client } = await openTestChain(directory)
      return client.readContract({ address: TOKEN, abi, functionName: 'totalSupply' })
    }
    expect(await supply()).to.equal(await supply())
  })

  it('stops once, and keeps payments with their receipts, logs and blocks', async () => {
    const first = await openTestChain(directory)
    const payment = await pay(first)
    const pid = await pidOf()
    await Promise.all([first.chain.stop(), first.chain.stop()])
    expect(await isAlive(pid)).to.equal(false)
    expect((await chainFile()).state).to.equal('saved')

    const { chain, client } = await expectKept(payment)
    expect(await client.getCode({ address: TOKEN, blockTag: 'finalized' })).to.have.length.greaterThan(2)
    await chain.stop()
  })

  it('is used again after the service was killed', async () => {
    const script = fileURLToPath(new URL('../../programs/start-chain.js', import.meta.url))
    const service = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(service.stdout, 'data')) as [Buffer]
    service.kill('SIGKILL')
    await once(service, 'exit')
    const pid = await pidOf()

    const found = await openTestChain(directory)
    expect(found.chain).to.include({ url: line.toString().trim(), fresh: false })
    expect(await pidOf()).to.equal(pid)
    const payment = await pay(found)
    await found.chain.stop()
    expect(await isAlive(pid)).to.equal(false)
    await (await expectKept(payment)).chain.stop()
  })

  it('ends some seconds after its services were killed, and keeps its payments', async () => {
    const first = await openTestChain(directory)
    const payment = await pay(first)
    const pid = await pidOf()
    // This process no longer uses the chain, as if it was killed.
    await rm(join(directory, 'users'), { recursive: true })
    while (await isAlive(pid)) await sleep(50)
    expect((await chainFile()).state).to.equal('running')
    await (await expectKept(payment)).chain.stop()
  })

  it('ends with a service that was killed', async () => {
    const script = fileURLToPath(new URL('../../programs/start-chain.js', import.meta.url))
    const service = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(service.stdout, 'data')
    const pid = await pidOf()
    expect(await isAlive(pid)).to.equal(true)
    service.kill('SIGKILL')
    while (await isAlive(pid)) await sleep(50)
  })

  it('finishes an interrupted stop at the next start', async () => {
    const first = await openTestChain(directory)
    const payment = await pay(first)
    await writeFile(chainJson(), JSON.stringify({ ...(await chainFile()), state: 'ending' }))
    const second = await expectKept(payment)
    expect(second.chain.url).not.to.equal(first.chain.url)
    await second.chain.stop()
  })

  it('is kept when its directory is moved, after a stop or while it runs', async () => {
    const move = async () => {
      const moved = `${directory}-moved`
      await rename(directory, moved)
      directory = moved
    }
    const first = await openTestChain(directory)
    const payment = await pay(first)
    await first.chain.stop()
    await move()
    await expectKept(payment)
    await move()
    const third = await expectKept(payment)
    await third.chain.stop()
    await (await expectKept(payment)).chain.stop()
  })

  it('is new after anvil was killed, also if it had loaded a saved state, which is then stale', async () => {
    await openTestChain(directory)
    await killAnvil(await pidOf())
    const second = await openTestChain(directory)
    expect(second.chain.fresh).to.equal(true)
    await second.chain.stop()
    expect((await openTestChain(directory)).chain.fresh).to.equal(false)
    await killAnvil(await pidOf())
    expect(await isFresh()).to.equal(true)
  })

  it('is new if the saved state is incomplete or of another chain', async () => {
    await (await openTestChain(directory)).chain.stop()
    expect(await isFresh(31_337)).to.equal(true)
    await (await openTestChain(directory)).chain.stop()
    await truncate(join(directory, (await chainFile()).saved?.dump ?? ''), 1000)
    expect(await isFresh()).to.equal(true)
  })

  it('never signals another process with the same pid', async () => {
    const first = await openTestChain(directory)
    const { anvil } = await chainFile()
    await first.chain.stop()
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000)'], { stdio: 'ignore' })
    for (const state of ['running', 'ending']) {
      await writeFile(chainJson(), JSON.stringify({ state, anvil: { ...anvil, pid: other.pid } }))
      await isFresh()
      expect(other).to.include({ exitCode: null, signalCode: null })
    }
    other.kill('SIGKILL')
    await once(other, 'exit')
  })

  it('is new if chain.json is invalid', async () => {
    for (const text of ['', '{', 'null', '{"state":"running"}', '{"state":"saved","saved":{"chainId":84532}}']) {
      await writeFile(chainJson(), text)
      expect(await isFresh()).to.equal(true)
    }
  })

  it('is not ended by a service that used an earlier chain', async () => {
    const [first, second] = [await openTestChain(directory), await openTestChain(directory)]
    expect(second.chain.url).to.equal(first.chain.url)
    await second.chain.stop()
    const third = await openTestChain(directory)
    const payment = await pay(third)
    const running = await chainFile()
    await first.chain.stop()
    expect(await chainFile()).to.deep.equal(running)
    expect(await nonceState(third, payment.hash)).to.deep.equal(payment.before)
    await third.chain.stop()
    await (await expectKept(payment)).chain.stop()
  })

  it('cannot be prepared if the domain separator differs from that of USDC', async () => {
    const { url } = await startChain({ directory, chainId: 31_337 })
    const message = await prepareChain({ url, buyer: TOKEN, relayer: TOKEN }).catch((cause: Error) => cause.message)
    expect(message).to.match(/^The domain separator of the test token is 0x[0-9a-f]{64}, not that of USDC$/)
  })
})
