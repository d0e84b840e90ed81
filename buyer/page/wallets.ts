/** The wallets of this browser (EIP-6963, EIP-1193) as signers. */
import { PurchaseError } from '../library/purchase-error.ts'
import type { Signer } from '../library/signer.ts'
import { SANDBOX_SIGNATURE_PATH } from '../../agent/operation/endpoints.ts'
import { DEPLOYMENTS, NETWORK_NAMES } from '../../agent/payment/terms.ts'
import { removeHidden } from '../../base/hidden.ts'
import { account, mode } from './question.ts'
import { find } from './elements.ts'
import { shorten, usdc } from './words.ts'

/** What a wallet announces. */
interface Wallet {
  info: { name: string; uuid: string }
  provider: { request(call: { method: string; params: unknown[] }): Promise<unknown> }
}

/** The wallet gave no signature. The text is a fixed one, never that of the wallet. */
export const walletError = (text: string) => new PurchaseError('signature_failed', text)

class WalletFailure extends PurchaseError {
  readonly walletCode: number
  constructor(code: number, text: string) {
    super('signature_failed', text)
    this.walletCode = code
  }
}

/** How a wallet that does not know the network can reach it (EIP-3085). */
const ADDED = {
  mainnet: { rpcUrls: ['https://mainnet.base.org'], blockExplorerUrls: ['https://basescan.org'] },
  testnet: { rpcUrls: ['https://sepolia.base.org'], blockExplorerUrls: ['https://sepolia.basescan.org'] },
}
const NATIVE = { name: 'Ether', symbol: 'ETH', decimals: 18 }

/** Where money for the account comes from. */
const SOURCES = {
  mainnet: 'USDC can be bought at an exchange and sent to this account on Base',
  testnet: 'Test USDC is free at faucet.circle.com',
}

/** What a person without a wallet is told. */
const noWallet = (amount: number) =>
  `This browser has no wallet. A wallet is an extension that keeps digital money and asks you before each payment: for example MetaMask (metamask.io) or Rabby (rabby.io). Install one, put ${usdc(amount)} into it, and open this page again`

const UNKNOWN_NETWORK = 4902

/** The codes of EIP-1193, EIP-1474 and EIP-3085. */
const FAILURES: Record<string, string> = {
  [-32002]: 'The wallet waits for your answer to an earlier request. Open it, then try again',
  4001: 'You refused in the wallet',
  [UNKNOWN_NETWORK]: `The wallet does not know the network ${NETWORK_NAMES[mode]}, and did not add it`,
}

/** The account of the sandbox, for which the service signs. */
const SANDBOX: Signer = {
  address: account as `0x${string}`,
  async signTypedData({ message }) {
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(SANDBOX_SIGNATURE_PATH, { method: 'POST', headers, body: JSON.stringify(message) })
    if (!response.ok) throw walletError('The sandbox did not sign')
    return ((await response.json()) as { signature: `0x${string}` }).signature
  },
}

/** The value of the option, as the page has it. */
const SANDBOX_OPTION = 'sandbox'

const found = new Map<string, Wallet['provider']>()
const choice = find('#wallet') as HTMLSelectElement

/** Adds an option for each wallet, also later when another one announces itself. The first announcement counts. */
export function listWallets(): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = (event as CustomEvent<Wallet>).detail
    // The values of the two options that are no announced wallet.
    if (!info.uuid || info.uuid === SANDBOX_OPTION || found.has(info.uuid)) return
    // The last option is the wallet that an extension has put into the page.
    choice.add(
      new Option(removeHidden(info.name).slice(0, 40), info.uuid, false, choice.value === ''),
      choice.length - 1,
    )
    found.set(info.uuid, provider)
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
}

/**
 * The account of the chosen wallet, which has at least `amount` micro-USDC.
 * @param signal ends the wait for a wallet that does not answer; its later answer is ignored
 */
export async function connectWallet(amount: number, signal: AbortSignal): Promise<Signer> {
  if (choice.value === SANDBOX_OPTION) return SANDBOX
  const { chainId, asset } = DEPLOYMENTS[mode]
  const provider = found.get(choice.value) ?? (globalThis as { ethereum?: Wallet['provider'] }).ethereum
  if (!provider) throw walletError(noWallet(amount))
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
  const ask = (method: string, ...params: unknown[]) => {
    const answer = provider.request({ method, params }).catch((cause: { code?: unknown }) => {
      const code = Number(cause.code)
      throw new WalletFailure(code, FAILURES[code] ?? `The wallet failed (${code || 'no code'})`)
    })
    return Promise.race([answer, stopped])
  }
  const [address] = (await ask('eth_requestAccounts')) as [`0x${string}`?]
  if (!address || !/^0x[0-9a-f]{40}$/i.test(address)) throw walletError('The wallet shows no account')
  const isSelected = async () => Number(await ask('eth_chainId')) === chainId
  const network = { chainId: `0x${chainId.toString(16)}` }
  const added = { ...network, chainName: NETWORK_NAMES[mode], nativeCurrency: NATIVE, ...ADDED[mode] }
  if (!(await isSelected()))
    await ask('wallet_switchEthereumChain', network).catch((cause: unknown) => {
      if (!(cause instanceof WalletFailure) || cause.walletCode !== UNKNOWN_NETWORK) throw cause
      return ask('wallet_addEthereumChain', added)
    })
  if (!(await isSelected()))
    throw walletError(`The wallet is on another network. Choose ${NETWORK_NAMES[mode]} in it, then try again`)
  const data = `0x70a08231${address.slice(2).padStart(64, '0')}`
  const reply = await ask('eth_call', { to: asset, data }, 'latest')
  const balance = /^0x[0-9a-f]{64}$/i.test(String(reply)) ? Number(reply) : 0
  if (balance < amount)
    throw walletError(
      `The account ${shorten(address)} has ${usdc(balance)} on ${NETWORK_NAMES[mode]}: ${usdc(amount - balance)} are missing. ${SOURCES[mode]}`,
    )
  return {
    address,
    async signTypedData(typed) {
      const signed = String(await ask('eth_signTypedData_v4', address, JSON.stringify(typed)))
      // Some hardware wallets end it with 0 or 1, for 27 or 28. The account of a contract has a longer one.
      const signature = signed.replace(/^(0x.{128})0([01])$/, (_, rs, v) => `${rs}1${v === '0' ? 'b' : 'c'}`)
      if (/^0x[0-9a-f]{130,}$/i.test(signature)) return signature as `0x${string}`
      throw walletError('The wallet gave no signature')
    },
  }
}
