/** The test token accepts and refuses the same calls as USDC. */
import { expect } from 'chai'
import {
  domainSeparator,
  getAddress,
  numberToHex,
  parseEventLogs,
  parseSignature,
  type Abi,
  type Address,
  type Hex,
} from 'viem'
import { DOMAIN, signAuthorization, type AuthorizationMessage } from '../../support/eip3009.ts'
import { compiled, discard, openTestChain, refusalOf, TOKEN } from '../../support/sandbox-chain.ts'

const USED = 'FiatTokenV2: authorization is used or canceled'
const FOREVER = 2n ** 256n - 1n

const members = ({ from, to, value, validAfter, validBefore, nonce }: AuthorizationMessage) =>
  [from, to, value, validAfter, validBefore, nonce] as const

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

  const refusal = (functionName: string, ...args: unknown[]) =>
    refusalOf(sandbox.client.simulateContract({ address: TOKEN, abi, functionName, args }))
  const transferRefusal = (authorization: AuthorizationMessage, ...signature: unknown[]) =>
    refusal('transferWithAuthorization', ...members(authorization), ...signature)

  /** Sends a transaction and returns the logs of the token. */
  async function perform(functionName: string, ...args: unknown[]) {
    const hash = await sandbox.client.writeContract({ address: TOKEN, abi, functionName, args })
    const receipt = await sandbox.client.waitForTransactionReceipt({ hash })
    expect(receipt.status).to.equal('success')
    return parseEventLogs({ abi, logs: receipt.logs }).map(({ eventName, args: values, logIndex }) =>
      Object.assign({ eventName, logIndex }, values as unknown as Record<string, unknown>),
    )
  }

  function authorize(changes: Partial<AuthorizationMessage> = {}): AuthorizationMessage {
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

  const sign = (each: AuthorizationMessage) => signAuthorization(sandbox.accounts.buyer.privateKey, each)

  it('has the constants of USDC on Base Sepolia, and the type hashes of EIP-3009', async () => {
    const constants = {
      name: 'USDC',
      symbol: 'USDC',
      version: '2',
      decimals: 6,
      DOMAIN_SEPARATOR: domainSeparator({ domain: DOMAIN }),
      TRANSFER_WITH_AUTHORIZATION_TYPEHASH: '0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267',
      RECEIVE_WITH_AUTHORIZATION_TYPEHASH: '0xd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de8',
      CANCEL_AUTHORIZATION_TYPEHASH: '0x158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429',
    }
    for (const [name, value] of Object.entries(constants)) expect(await read(name), name).to.equal(value)
  })

  for (const overload of ['(v, r, s)', '(bytes)']) {
    it(`transfers once per signature as ${overload}, and logs the nonce before the transfer`, async () => {
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
      expect(await transferRefusal(authorization, ...given)).to.equal(USED)
    })
  }
})
