/** What the sandbox's chain needs before the first payment: the test token, a multicall, gas for the relayer, and money. */
import {
  decodeFunctionResult,
  encodeFunctionData,
  parseAbi,
  parseEther,
  parseUnits,
  type Address,
  type Hex,
} from 'viem'
import { DEPLOYMENTS } from '../payments/terms.ts'
import { giveGas, install, sendAs } from './install.ts'
import { rpc } from './rpc.ts'

/** The true USDC of Base Sepolia: clients pay only in a token they know. */
const TOKEN = DEPLOYMENTS.testnet.asset
/** Where x402's facilitator looks for it: there is one on most chains. It tells a used nonce from other failures. */
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** Nobody's address. The sandbox's own chain lets anyone send in its name. */
const FAUCET = '0x000000000000000000000000000000000000fa0c'

/** Of the true token, found on Base Sepolia. A signature for the one is a signature for the other. */
const DOMAIN_SEPARATOR = '0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818'

/** Micro-USDC; a lookup costs 1,000 of them. Topped up only when it runs low, so that a restart doesn't move a balance. */
const BUYER_BALANCE = parseUnits('1000', 6)
const BUYER_BALANCE_MIN = parseUnits('100', 6)
const GAS_MIN = parseEther('100')

/** The latest block and the two before the final one: with so many more, final blocks too know the contracts. */
const BLOCKS_UNTIL_FINAL = 3

const ABI = parseAbi([
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address) view returns (uint256)',
  'function mint(address to, uint256 value)',
])

/** Whether prepareChain was ever here. */
export async function isPrepared(url: string): Promise<boolean> {
  return (await rpc(url, 'eth_getCode', TOKEN, 'latest')) !== '0x'
}

/**
 * Does what is missing, and may be repeated at every start.
 * @param url JSON-RPC of an anvil
 * @throws when the token doesn't sign like USDC, as on a chain of another id
 */
export async function prepareChain(request: { url: string; buyer: string; relayer: string }): Promise<void> {
  const { url, buyer, relayer } = request
  await install(url, MULTICALL, 'Multicall')
  await install(url, TOKEN, 'TestUSDC')

  const separator = await read(url, 'DOMAIN_SEPARATOR')
  if (separator !== DOMAIN_SEPARATOR) throw new Error(`the test token's domain is ${String(separator)}, not USDC's`)

  if (BigInt((await rpc(url, 'eth_getBalance', relayer, 'latest')) as Hex) < GAS_MIN) await giveGas(url, relayer)
  if (((await read(url, 'balanceOf', buyer)) as bigint) < BUYER_BALANCE_MIN) await mint(url, buyer)
  await rpc(url, 'anvil_mine', `0x${BLOCKS_UNTIL_FINAL.toString(16)}`)
}

async function mint(url: string, to: string): Promise<void> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'mint', args: [to as Address, BUYER_BALANCE] })
  await sendAs({ url, from: FAUCET, to: TOKEN }, data)
}

async function read(url: string, functionName: 'DOMAIN_SEPARATOR' | 'balanceOf', ...args: string[]): Promise<unknown> {
  const data = encodeFunctionData({ abi: ABI, functionName, args: args as [Address] })
  const result = (await rpc(url, 'eth_call', { to: TOKEN, data }, 'latest')) as Hex
  return decodeFunctionResult({ abi: ABI, functionName, data: result })
}
