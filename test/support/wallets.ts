/** Wallet contracts that are not deployed yet, of a factory on a real chain (WalletFactory.sol). */
import { encodeFunctionData, serializeErc6492Signature, toHex, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { openLocalClient } from '../../agent/sandbox/contracts.ts'
import { prepareChain } from '../../agent/sandbox/prepare-chain.ts'
import { signedPayment, type PaymentOptions } from './payments.ts'
import { compiled } from './sandbox-chain.ts'

export const FACTORY = '0x00000000000000000000000000000000000fac70'

/** Installs the factory, unless the chain has it. */
export async function openFactory({ url, relayer }: { url: string; relayer: Hex }) {
  const { abi, runtime } = await compiled('test/support/contracts/WalletFactory.json')
  const client = openLocalClient(url)
  await client.setCode({ address: FACTORY, bytecode: runtime })

  /** A wallet with money and without code. */
  async function makeWallet(owner: Hex) {
    const args = [privateKeyToAddress(owner), toHex(crypto.getRandomValues(new Uint8Array(32)))] as const
    const address = (await client.readContract({ address: FACTORY, abi, functionName: 'addressOf', args })) as Hex
    await prepareChain({ url, buyer: address, relayer })
    const callOf = (functionName: string, values: readonly unknown[] = []) =>
      encodeFunctionData({ abi, functionName, args: values })
    const deployment = callOf('deploy', args)
    return {
      address,
      deployment,
      /** The owner and the salt, which each deployment takes. */
      salted: args,
      callOf,
      hasCode: async () => (await client.getCode({ address })) !== undefined,
      /** Signed by the owner, without the factory. */
      sign: ({ authorization, ...options }: PaymentOptions = {}) =>
        signedPayment({ ...options, key: owner, authorization: { ...authorization, from: address } }),
    }
  }
  return { makeWallet }
}

/** Wraps the signature of a payment, with the call of a factory that deploys its wallet. */
export function wrap<Payment extends { payload: { signature: string } }>(
  payment: Payment,
  data: Hex,
  factory: Hex = FACTORY,
): Payment {
  const signature = serializeErc6492Signature({
    address: factory,
    data,
    signature: payment.payload.signature as Hex,
  })
  return { ...payment, payload: { ...payment.payload, signature } }
}
