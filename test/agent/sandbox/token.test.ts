/** The test token refuses and accepts what USDC does, on the real chain. */
import { expect } from 'chai'
import {
  domainSeparator,
  getAddress,
  numberToHex,
  pad,
  parseEventLogs,
  parseSignature,
  serializeSignature,
  type Abi,
  type Address,
  type Hex,
} from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { DOMAIN, signAuthorization, signCancellation, type Authorization } from '../../support/eip3009.ts'
import { compiled, discard, openTestChain, refusalOf, TOKEN } from '../../support/sandbox-chain.ts'

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const USED = 'FiatTokenV2: authorization is used or canceled'
const FOREVER = 2n ** 256n - 1n

const members = (each: Authorization) => [each.from, each.to, each.value, each.validAfter, each.validBefore, each.nonce]

function split(signature: Hex): [number, Hex, Hex] {
  const { r, s, yParity } = parseSignature(signature)
  return [27 + yParity, r, s]
}

describe('the test token', () => {
  let sandbox: Awaited<ReturnType<typeof openTestChain>>
  let abi: Abi
  let nonces = 0n

  before(async () => {
    ;({ abi } = await compiled('agent/sandbox/contracts/TestUSDC.json'))
    sandbox = await openTestChain()
  })
  after(() => discard(sandbox))

  const read = (functionName: string, ...args: unknown[]) =>
    sandbox.client.readContract({ address: TOKEN, abi, functionName, args })
  const balanceOf = (address: Address) => read('balanceOf', address) as Promise<bigint>

  const simulate = (functionName: string, ...args: unknown[]) =>
    sandbox.client.simulateContract({ address: TOKEN, abi, functionName, args })
  const refusal = (functionName: string, ...args: unknown[]) => refusalOf(simulate(functionName, ...args))

  /** In a block of its own, with the logs that the token wrote. */
  async function perform(functionName: string, ...args: unknown[]) {
    const hash = await sandbox.client.writeContract({ address: TOKEN, abi, functionName, args })
    const receipt = await sandbox.client.waitForTransactionReceipt({ hash })
    expect(receipt.status).to.equal('success')
    return parseEventLogs({ abi, logs: receipt.logs }).map(({ eventName, args: values, logIndex }) =>
      Object.assign({ eventName, logIndex }, values as unknown as Record<string, unknown>),
    )
  }

  function authorize(changes: Partial<Authorization> = {}): Authorization {
    nonces += 1n
    return {
      from: sandbox.accounts.buyer.address,
      to: sandbox.accounts.receiver,
      value: 1000n,
      validAfter: 0n,
      validBefore: FOREVER,
      nonce: numberToHex(nonces, { size: 32 }),
      ...changes,
    }
  }

  const sign = (each: Authorization) => signAuthorization(sandbox.accounts.buyer.privateKey, each)

  /** The refusal in a simulation on the latest block, whose time is then the clock. */
  async function at(changes: (time: bigint) => Partial<Authorization>) {
    const { timestamp, number } = await sandbox.client.getBlock()
    const authorization = authorize(changes(timestamp))
    const args = [...members(authorization), await sign(authorization)]
    return refusalOf(
      sandbox.client.simulateContract({
        address: TOKEN,
        abi,
        functionName: 'transferWithAuthorization',
        args,
        blockNumber: number,
      }),
    )
  }

  it('calls itself what USDC calls itself', async () => {
    const names = ['name', 'symbol', 'version', 'decimals']
    expect(await Promise.all(names.map((name) => read(name)))).to.deep.equal(['USDC', 'USDC', '2', 6])
  })

  it("has the domain of Base Sepolia's USDC", async () => {
    const separator = await read('DOMAIN_SEPARATOR')
    expect(separator).to.equal('0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818')
    expect(separator).to.equal(domainSeparator({ domain: DOMAIN }))
  })

  it("has EIP-3009's type hashes", async () => {
    const [transfer, receive, cancel] = ['TRANSFER_WITH', 'RECEIVE_WITH', 'CANCEL'].map((name) =>
      read(`${name}_AUTHORIZATION_TYPEHASH`),
    )
    expect(await transfer).to.equal('0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267')
    expect(await receive).to.equal('0xd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de8')
    expect(await cancel).to.equal('0x158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429')
  })

  it('is an ERC-20', async () => {
    const { relayer, receiver } = sandbox.accounts
    const supply = (await read('totalSupply')) as bigint
    expect(await perform('mint', relayer.address, 500n)).to.deep.include.members([
      { eventName: 'Transfer', logIndex: 0, from: pad('0x', { size: 20 }), to: relayer.address, value: 500n },
    ])
    expect(await read('totalSupply')).to.equal(supply + 500n)

    const before = await balanceOf(receiver)
    await perform('transfer', receiver, 200n)
    expect(await balanceOf(receiver)).to.equal(before + 200n)
    expect(await balanceOf(relayer.address)).to.equal(300n)
    expect(await refusal('transfer', receiver, 301n)).to.equal('ERC20: transfer amount exceeds balance')
    expect(await refusal('transfer', pad('0x', { size: 20 }), 1n)).to.equal('ERC20: transfer to the zero address')

    await perform('approve', relayer.address, 100n)
    expect(await refusal('transferFrom', relayer.address, receiver, 101n)).to.equal(
      'ERC20: transfer amount exceeds allowance',
    )
    await perform('transferFrom', relayer.address, receiver, 60n)
    expect(await read('allowance', relayer.address, relayer.address)).to.equal(40n)
  })

  for (const overload of ['(v, r, s)', '(bytes)']) {
    it(`moves money on a signature given as ${overload}, once, and logs the nonce right before the transfer`, async () => {
      const authorization = authorize()
      const { from, to, nonce } = authorization
      const signature = await sign(authorization)
      const given = overload === '(bytes)' ? [signature] : split(signature)
      const before = await balanceOf(to)
      expect(await read('authorizationState', from, nonce)).to.equal(false)

      const logs = await perform('transferWithAuthorization', ...members(authorization), ...given)
      expect(logs).to.deep.equal([
        { eventName: 'AuthorizationUsed', logIndex: 0, authorizer: from, nonce },
        { eventName: 'Transfer', logIndex: 1, from, to: getAddress(to), value: 1000n },
      ])
      expect(await balanceOf(to)).to.equal(before + 1000n)
      expect(await read('authorizationState', from, nonce)).to.equal(true)
      expect(await refusal('transferWithAuthorization', ...members(authorization), ...given)).to.equal(USED)
    })
  }

  it('takes an authorization strictly between its two times', async () => {
    expect(await at((time) => ({ validAfter: time }))).to.equal('FiatTokenV2: authorization is not yet valid')
    expect(await at((time) => ({ validBefore: time }))).to.equal('FiatTokenV2: authorization is expired')
    expect(await at((time) => ({ validAfter: time - 1n, validBefore: time + 1n }))).to.equal('no refusal')
  })

  it('refuses what another signed, and what was changed after signing', async () => {
    const authorization = authorize()
    const foreign = await signAuthorization(generatePrivateKey(), authorization)
    const wrong = 'FiatTokenV2: invalid signature'
    expect(await refusal('transferWithAuthorization', ...members(authorization), foreign)).to.equal(wrong)
    const changed = members({ ...authorization, value: 1001n })
    expect(await refusal('transferWithAuthorization', ...changed, await sign(authorization))).to.equal(wrong)
  })

  it('refuses the other of the two s, and any v but 27 and 28', async () => {
    const authorization = authorize()
    const [v, r, s] = split(await sign(authorization))
    const refused = (...signature: unknown[]) =>
      refusal('transferWithAuthorization', ...members(authorization), ...signature)

    const high = numberToHex(CURVE_ORDER - BigInt(s), { size: 32 })
    const flipped = v === 27 ? 28 : 27
    expect(await refused(flipped, r, high)).to.equal("ECRecover: invalid signature 's' value")
    expect(await refused(serializeSignature({ r, s: high, v: BigInt(flipped) }))).to.equal(
      "ECRecover: invalid signature 's' value",
    )
    for (const other of [0, 1, 26, 29, 255]) {
      expect(await refused(other, r, s)).to.equal("ECRecover: invalid signature 'v' value")
    }
    expect(await refused(27, pad('0x', { size: 32 }), s)).to.equal('ECRecover: invalid signature')
    expect(await refused(`${r}${s.slice(2)}`)).to.equal('ECRecover: invalid signature length')
    expect(await refused(v, r, s)).to.equal('no refusal')
  })

  it('refuses to move more than there is', async () => {
    const authorization = authorize({ value: (await balanceOf(sandbox.accounts.buyer.address)) + 1n })
    const args = [...members(authorization), await sign(authorization)]
    expect(await refusal('transferWithAuthorization', ...args)).to.equal('ERC20: transfer amount exceeds balance')
  })

  it('lets only the payee receive', async () => {
    const { buyer, relayer, receiver } = sandbox.accounts
    const receive = async (to: Address) => {
      const authorization = authorize({ to })
      const signature = await signAuthorization(buyer.privateKey, authorization, 'ReceiveWithAuthorization')
      return [...members(authorization), signature]
    }
    expect(await refusal('receiveWithAuthorization', ...(await receive(receiver)))).to.equal(
      'FiatTokenV2: caller must be the payee',
    )
    const before = await balanceOf(relayer.address)
    await perform('receiveWithAuthorization', ...(await receive(relayer.address)))
    expect(await balanceOf(relayer.address)).to.equal(before + 1000n)
    // Signed to be received, it can't be transferred by anyone else.
    expect(await refusal('transferWithAuthorization', ...(await receive(relayer.address)))).to.equal(
      'FiatTokenV2: invalid signature',
    )
  })

  it('cancels a nonce in both forms, and then it is used up', async () => {
    const { address, privateKey } = sandbox.accounts.buyer
    for (const overload of ['(v, r, s)', '(bytes)']) {
      const authorization = authorize()
      const signature = await signCancellation(privateKey, address, authorization.nonce)
      const given = overload === '(bytes)' ? [signature] : split(signature)
      expect(await perform('cancelAuthorization', address, authorization.nonce, ...given)).to.deep.equal([
        { eventName: 'AuthorizationCanceled', logIndex: 0, authorizer: address, nonce: authorization.nonce },
      ])
      expect(await read('authorizationState', address, authorization.nonce)).to.equal(true)
      expect(await refusal('cancelAuthorization', address, authorization.nonce, ...given)).to.equal(USED)
      const args = [...members(authorization), await sign(authorization)]
      expect(await refusal('transferWithAuthorization', ...args)).to.equal(USED)
    }
  })

  it('asks a payer that is a contract (ERC-1271)', async () => {
    const wallet = '0x00000000000000000000000000000000000a11e7'
    const { abi: walletAbi, runtime } = await compiled('test/support/contracts/OwnerWallet.json')
    const { client, accounts } = sandbox
    await client.setCode({ address: wallet, bytecode: runtime })
    const hash = await client.writeContract({
      address: wallet,
      abi: walletAbi,
      functionName: 'initialize',
      args: [accounts.buyer.address],
    })
    await client.waitForTransactionReceipt({ hash })
    await perform('mint', wallet, 5000n)

    const from = getAddress(wallet)
    const authorization = authorize({ from })
    const foreign = await signAuthorization(generatePrivateKey(), authorization)
    for (const signature of [foreign, '0x', pad('0x', { size: 2048 })]) {
      expect(await refusal('transferWithAuthorization', ...members(authorization), signature)).to.equal(
        'FiatTokenV2: invalid signature',
      )
    }
    const longer = `${await sign(authorization)}00ff` as const
    const logs = await perform('transferWithAuthorization', ...members(authorization), longer)
    expect(logs.map(({ eventName }) => eventName)).to.deep.equal(['AuthorizationUsed', 'Transfer'])
    expect(await balanceOf(from)).to.equal(4000n)
  })
})
