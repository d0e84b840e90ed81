/** The wallets of this browser (EIP-6963, EIP-1193) as signers. */
import type { AuthorizationTypedData, Signer } from '../agent/buyer/library/signer.ts'
import type { NetworkDeployment } from '../agent/payment/terms.ts'
import { usdc } from './elements.ts'

/** What a wallet announces. */
export interface Wallet {
  info: { name: string; uuid: string }
  /** One that is `funded` shows no balance. */
  provider: { request(call: { method: string; params: unknown[] }): Promise<unknown>; funded?: boolean }
}

/** Nothing was signed, or the wallet gave no signature. The message is a fixed text, never that of the wallet. */
export class WalletError extends Error {}

interface Payment {
  deployment: NetworkDeployment
  /** Micro-USDC. */
  amount: number
  /** Ends the wait for a wallet that does not answer. Its later answer is ignored. */
  signal: AbortSignal
  /** Shows what the wallet is about to sign. */
  onSigning: (typed: AuthorizationTypedData) => Promise<void>
}

/** The codes of EIP-1193, EIP-1474 and EIP-3085. */
const FAILURES: Record<string, string> = {
  [-32002]: 'The wallet waits for your answer to an earlier request. Open it, then try again. Nothing was paid',
  4001: 'You refused in the wallet. Nothing was paid',
  4902: 'The wallet does not know the network. Add it, then try again. Nothing was paid',
}

const found = new Map<string, Wallet>()

/** Adds an option for each wallet, also later when another one announces itself. The first announcement counts. */
export function listWallets(choice: HTMLSelectElement): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = (event as CustomEvent<Wallet>).detail
    if (found.has(info.uuid)) return
    // The last option is the wallet that an extension has put into the page.
    choice.add(new Option(info.name.slice(0, 40), info.uuid, false, found.size === 0), choice.length - 1)
    found.set(info.uuid, { info: { ...info }, provider })
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
}

export async function connectWallet(id: string, payment: Payment): Promise<Signer> {
  const { chainId, asset } = payment.deployment
  const provider = found.get(id)?.provider ?? (globalThis as { ethereum?: Wallet['provider'] }).ethereum
  if (!provider) throw new WalletError('This browser has no wallet. Install one, or buy from code. Nothing was paid')
  const ask = async (method: string, ...params: unknown[]) =>
    Promise.race([
      provider.request({ method, params }).catch(({ code }: { code?: unknown }) => {
        throw new WalletError(
          FAILURES[String(code)] ?? `The wallet failed (${Number(code) || 'no code'}). Nothing was paid`,
        )
      }),
      cancelled(payment.signal),
    ])
  const [address] = (await ask('eth_requestAccounts')) as [`0x${string}`?]
  if (!address || !/^0x[0-9a-f]{40}$/i.test(address))
    throw new WalletError('The wallet shows no account. Nothing was paid')
  const isSelected = async () => Number(await ask('eth_chainId')) === chainId
  if (!(await isSelected())) await ask('wallet_switchEthereumChain', { chainId: `0x${chainId.toString(16)}` })
  if (!(await isSelected()))
    throw new WalletError(`The wallet is on another network. Choose chain ${chainId} in it. Nothing was paid`)
  const data = `0x70a08231${address.slice(2).padStart(64, '0')}`
  const reply = await ask('eth_call', { to: asset, data }, 'latest')
  const balance = /^0x[0-9a-f]{64}$/i.test(String(reply)) ? Number(reply) : 0
  if (!provider.funded && balance < payment.amount)
    throw new WalletError(
      `The account has ${usdc(balance)}, and the price is ${usdc(payment.amount)}. Nothing was paid`,
    )
  return {
    address,
    async signTypedData(typed) {
      await payment.onSigning(typed)
      const signed = String(await ask('eth_signTypedData_v4', address, JSON.stringify(typed)))
      // Some hardware wallets end it with 0 or 1, for 27 or 28. The account of a contract has a longer one.
      const signature = signed.replace(/^(0x.{128})0([01])$/, (_, rs, v) => `${rs}1${v === '0' ? 'b' : 'c'}`)
      if (/^0x[0-9a-f]{130,}$/i.test(signature)) return signature as `0x${string}`
      throw new WalletError('The wallet gave no signature. Nothing was paid')
    },
  }
}

function cancelled(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new WalletError('The wallet was not waited for. Nothing was paid'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
