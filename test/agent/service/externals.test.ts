/**
 * The remote services: the in-process facilitator settles on a real chain, and a wrong configuration stops the start.
 */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { privateKeyToAddress, generatePrivateKey } from 'viem/accounts'
import { openExternals } from '../../../agent/service/externals.ts'
import { readConfig } from '../../../agent/service/config.ts'
import { buildRequirements, buildTerms } from '../../../agent/payment/terms.ts'
import { prepareChain } from '../../../agent/sandbox/prepare-chain.ts'
import { relayerFolder } from '../../../store/files/layout.ts'
import { rpc, testChainUrl } from '../../support/chain.ts'
import { ready, startChild } from '../../support/child.ts'
import { signedPayment } from '../../support/payments.ts'
import { tokenOn } from '../../support/token.ts'
import { FACTORY } from '../../support/wallets.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { priceOf } from '../../support/operations.ts'
import { failureOf } from '../../support/failure.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const PAY_TO = '0x00000000000000000000000000000000000000c7'
const terms = buildTerms('testnet', PAY_TO, OPERATIONS)

describe('the configured externals', () => {
  let directory: string
  let rpcUrl: string
  let keyFile: string
  const relayer = generatePrivateKey()
  const buyer = generatePrivateKey()
  const reports: string[] = []

  before(async () => {
    rpcUrl = await testChainUrl()
    await prepareChain({ url: rpcUrl, buyer: privateKeyToAddress(buyer), relayer: privateKeyToAddress(relayer) })
  })
  beforeEach(async () => {
    reports.length = 0
    directory = await makeTemporaryDirectory()
    keyFile = join(directory, 'relayer.key')
    await writeFile(keyFile, `${relayer}\n`, { mode: 0o600 })
  })

  const own = (change: Record<string, string> = {}) => ({
    FACILITATOR: 'self',
    RPC_URL: rpcUrl,
    PAY_TO,
    RELAYER_KEY_FILE: keyFile,
    ...change,
  })
  const open = (environment: Record<string, string>) =>
    openExternals({
      config: readConfig({ DATA_DIR: directory, ...environment }),
      now: () => new Date(),
      report: (event) => void reports.push(event),
      log: () => undefined,
    })
  const refusal = (environment: Record<string, string>) => failureOf(open(environment))

  it('settle concurrent payments with the configured relayer', async () => {
    const { externals, lines } = await open(own())
    expect(lines).to.deep.equal([])
    const requirements = buildRequirements(terms, priceOf('lookup'))
    const payments = await Promise.all(Array.from({ length: 8 }, () => signedPayment({ key: buyer, terms })))
    const before = await tokenOn(rpcUrl).balanceOf(PAY_TO)
    const settle = (payment: unknown) => externals.facilitator.settle(payment as never, requirements, 'self')
    const replies = await Promise.all(payments.map(settle))
    expect(replies.map(({ success }) => success)).to.deep.equal(replies.map(() => true))
    expect((await tokenOn(rpcUrl).balanceOf(PAY_TO)) - before).to.equal(8000n)
    // The multicall tells a used nonce from other failures of the simulation.
    expect(await externals.facilitator.verify(payments[0] as never, requirements)).to.include({
      isValid: false,
      invalidReason: 'invalid_exact_evm_nonce_already_used',
    })
    expect(reports).to.deep.equal([])
  })

  it('settle by the second node while the first is not reachable', async () => {
    const { externals } = await open(own({ RPC_URL: `http://127.0.0.1:1,${rpcUrl}` }))
    const requirements = buildRequirements(terms, priceOf('lookup'))
    const payment = (await signedPayment({ key: buyer, terms })) as never
    const before = await tokenOn(rpcUrl).balanceOf(PAY_TO)
    expect(await externals.facilitator.settle(payment, requirements, 'self')).to.include({ success: true })
    expect((await tokenOn(rpcUrl).balanceOf(PAY_TO)) - before).to.equal(BigInt(requirements.amount))
  })

  it('ask the second facilitator while the first is not reachable', async () => {
    const relayerKey = generatePrivateKey()
    await rpc(rpcUrl, 'anvil_setBalance', privateKeyToAddress(relayerKey), '0xde0b6b3a7640000')
    const variables = { RPC_URL: rpcUrl, RELAYER_KEY: relayerKey, FACTORIES: FACTORY }
    const second = startChild('test/programs/reference-facilitator.js', [], variables)
    try {
      const url = await ready(second)
      const { externals } = await open({ FACILITATOR: `http://127.0.0.1:1,${url}`, RPC_URL: rpcUrl, PAY_TO })
      const requirements = buildRequirements(terms, priceOf('lookup'))
      const payment = (await signedPayment({ key: buyer, terms })) as never
      const verified = await externals.facilitator.verify(payment, requirements)
      expect(verified).to.include({ isValid: true, facilitator: url })
      const settled = await externals.facilitator.settle(payment, requirements, url)
      expect(settled).to.include({ success: true })
    } finally {
      second.process.kill('SIGKILL')
      await second.ended
    }
  })

  it('[5.8.1] settle no payment of a remote facilitator in this process', async () => {
    const { externals } = await open(own())
    const requirements = buildRequirements(terms, priceOf('lookup'))
    const payment = (await signedPayment({ key: buyer, terms })) as never
    expect(await externals.facilitator.verify(payment, requirements)).to.include({ isValid: true, facilitator: 'self' })
    const before = await tokenOn(rpcUrl).balanceOf(PAY_TO)
    const settling = externals.facilitator.settle(payment, requirements, 'https://facilitator.example')
    expect(await settling.catch((error: unknown) => error)).to.include({ code: 'FACILITATOR_REMOVED' })
    expect(await tokenOn(rpcUrl).balanceOf(PAY_TO)).to.equal(before)
    expect((await externals.facilitator.settle(payment, requirements, 'self')).success).to.equal(true)
  })

  it('[14.1] refuse a key file that others can read, that is missing, or that holds no key', async () => {
    await chmod(keyFile, 0o640)
    expect(await refusal(own())).to.equal('ConfigError: RELAYER_KEY_FILE must be readable by its owner only: chmod 600')
    expect(await refusal(own({ RELAYER_KEY_FILE: join(directory, 'none') }))).to.match(/must be a file/)
    for (const text of ['', '0x12', `0x${'0'.repeat(64)}`, `0x${'f'.repeat(64)}`, `${relayer}${relayer}`]) {
      await chmod(keyFile, 0o600)
      await writeFile(keyFile, text)
      expect(await refusal(own())).to.equal(
        'ConfigError: RELAYER_KEY_FILE must hold one private key: 0x and 64 hex digits',
      )
    }
  })

  it('[14.2] refuse a node of another chain and accept an unreachable node', async () => {
    expect(await refusal(own({ MODE: 'mainnet' }))).to.equal(
      'ConfigError: RPC_URL must be a node of chain 8453 when MODE is mainnet',
    )
    const remote = { FACILITATOR: 'http://127.0.0.1:1', PAY_TO }
    expect(await refusal({ ...remote, RPC_URL: rpcUrl })).to.equal('no failure')
    expect(await refusal({ ...remote, RPC_URL: 'http://127.0.0.1:1' })).to.equal('no failure')
  })

  it('[14.10] refuse a relayer that another process of the data directory uses, until that process ends', async () => {
    const folder = relayerFolder(directory, privateKeyToAddress(relayer))
    const other = startChild('test/programs/hold-lock.js', [folder], {})
    expect(await ready(other)).to.equal('acquired')
    expect(await refusal(own())).to.equal(
      'ConfigError: RELAYER_KEY_FILE must hold a key that no other process of DATA_DIR uses',
    )
    await writeFile(keyFile, generatePrivateKey())
    expect(await refusal(own())).to.equal('no failure')
    await writeFile(keyFile, relayer)
    other.process.kill('SIGKILL')
    await other.ended
    expect(await refusal(own())).to.equal('no failure')
  })
})
