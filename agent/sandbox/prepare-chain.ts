/** Prepares the local chain for payments: test token, Multicall contract, gas for the relayer, tokens for the buyer. */
import { encodeFunctionData, parseAbi, parseEther, parseUnits, type Address } from 'viem'
import { MULTICALL } from '../settlement/chain/multicall.ts'
import { DEPLOYMENTS } from '../payment/terms.ts'
import { GAS_BALANCE, installContract, openLocalClient, sendAs } from './contracts.ts'

/** The address of USDC on Base Sepolia, because clients pay only in tokens that they know. */
const TOKEN = DEPLOYMENTS.testnet.asset
/** An address without a key. Anvil impersonates it to mint tokens. */
const FAUCET = '0x000000000000000000000000000000000000fa0c'

/** The domain separator of USDC on Base Sepolia. The test token has the same one, so the same signatures are valid. */
const DOMAIN_SEPARATOR = '0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818'

/** In micro-USDC. Minted only when the balance is low, so that a restart does not change a balance. */
const BUYER_BALANCE = parseUnits('1000', 6)
const BUYER_BALANCE_MIN = parseUnits('100', 6)
const GAS_MIN = parseEther('100')

/** The finalized block is two behind the latest one. After three blocks it contains the contracts. */
const BLOCKS_UNTIL_FINAL = 3

const ABI = parseAbi([
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address) view returns (uint256)',
  'function mint(address to, uint256 value)',
])

/** Whether `prepareChain` ran on this chain. */
export async function isPrepared(url: string): Promise<boolean> {
  return (await openLocalClient(url).getCode({ address: TOKEN })) !== undefined
}

/**
 * Runs at every start and does only what is missing.
 * @throws if the domain separator of the token differs from USDC's, as on a chain with another id
 */
export async function prepareChain({ url, buyer, relayer }: { url: string; buyer: Address; relayer: Address }) {
  const client = openLocalClient(url)
  await installContract(url, MULTICALL, 'Multicall')
  await installContract(url, TOKEN, 'TestUSDC')

  const token = { address: TOKEN, abi: ABI }
  const separator = await client.readContract({ ...token, functionName: 'DOMAIN_SEPARATOR' })
  if (separator !== DOMAIN_SEPARATOR)
    throw new Error(`The domain separator of the test token is ${separator}, not that of USDC`)

  if ((await client.getBalance({ address: relayer })) < GAS_MIN)
    await client.setBalance({ address: relayer, value: GAS_BALANCE })
  const balance = await client.readContract({ ...token, functionName: 'balanceOf', args: [buyer] })
  if (balance < BUYER_BALANCE_MIN) {
    const data = encodeFunctionData({ abi: ABI, functionName: 'mint', args: [buyer, BUYER_BALANCE] })
    await sendAs({ url, from: FAUCET, to: TOKEN }, data)
  }
  await client.mine({ blocks: BLOCKS_UNTIL_FINAL })
}
