/** The accounts that can pay: wallets of this browser (EIP-6963, EIP-1193), and in a sandbox its own account. */
import type { AuthorizationTypedData, Signer } from '../agent/buyer/library/signer.ts'
import { SANDBOX_SIGNATURE_PATH } from '../agent/operation/endpoints.ts'
import type { NetworkDeployment } from '../agent/payment/terms.ts'
import { usdc } from './elements.ts'

/** Whether the page is that of a sandbox. The bundler removes the code of the other value. */
declare const SANDBOX: boolean

interface Provider {
  request(call: { method: string; params?: unknown }): Promise<unknown>
}

interface Announced {
  info: { name: string; uuid: string }
  provider: Provider
}

/** Nothing was signed, or the wallet gave no signature. The message is a fixed text, never that of the wallet. */
export class WalletError extends Error {}

/** Shows the account, and what it is about to sign. */
export type Show = (account: string, typed: AuthorizationTypedData) => Promise<void>

/** What a payment needs of an account. */
interface Needed {
  deployment: NetworkDeployment
  total: number
  show: Show
}

export type Connect = (needed: Needed) => Promise<Signer>

const found = new Map<string, Announced>()

/** Calls back with the names of all known wallets, also later when another one announces itself. */
export function findWallets(onChange: (wallets: { id: string; name: string }[]) => void): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const announced = (event as CustomEvent<Announced>).detail
    found.set(announced.info.uuid, announced)
    onChange([...found].map(([id, { info }]) => ({ id, name: info.name.slice(0, 40) })))
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
}

/** The wallet with this id. Without one, the wallet that an extension has put into the page. */
export function connectWallet(id: string): Connect {
  return async ({ deployment, total, show }) => {
    const provider = found.get(id)?.provider ?? (globalThis as { ethereum?: Provider }).ethereum
    if (!provider)
      throw new WalletError(
        'This browser has no wallet. Install one, or buy from code as shown below. Nothing was paid',
      )
    const ask = (method: string, params?: unknown) => askWallet(provider, method, params)
    const [address] = (await ask('eth_requestAccounts')) as (string | undefined)[]
    if (!isHex(address, 40)) throw new WalletError('The wallet shows no account. Nothing was paid')
    await useNetwork(ask, deployment.chainId)
    const data = `0x70a08231${address.slice(2).padStart(64, '0')}`
    const balance = await ask('eth_call', [{ to: deployment.asset, data }, 'latest'])
    const left = Number(BigInt(isHex(balance, 64) ? balance : 0))
    if (left < total)
      throw new WalletError(`The account has ${usdc(left)}, and the price is ${usdc(total)}. Nothing was paid`)
    const signTypedData = async (typed: AuthorizationTypedData) => {
      await show(`${address}, which has ${usdc(left)}`, typed)
      const signature = await ask('eth_signTypedData_v4', [address, JSON.stringify(typed)])
      if (typeof signature === 'string' && /^0x[0-9a-f]{130,}$/i.test(signature)) return signature as `0x${string}`
      throw new WalletError('The wallet gave no signature. Nothing was paid')
    }
    return { address, signTypedData }
  }
}

async function useNetwork(ask: (method: string, params?: unknown) => Promise<unknown>, chainId: number): Promise<void> {
  const isSelected = async () => Number(await ask('eth_chainId')) === chainId
  if (await isSelected()) return
  await ask('wallet_switchEthereumChain', [{ chainId: `0x${chainId.toString(16)}` }])
  if (await isSelected()) return
  throw new WalletError(`The wallet is on another network. Choose chain ${chainId} in it. Nothing was paid`)
}

/** Texts of a wallet are not shown, only its code. 4001: the user has refused. 4902: the chain is not in the wallet. */
async function askWallet(provider: Provider, method: string, params?: unknown): Promise<unknown> {
  try {
    return await provider.request({ method, ...(params !== undefined && { params }) })
  } catch (cause) {
    const { code } = cause as { code?: unknown }
    if (code === 4001) throw new WalletError('You refused in the wallet. Nothing was paid')
    if (code === 4902) throw new WalletError('The wallet does not know the network. Add it, then try again')
    throw new WalletError(`The wallet failed (${Number(code)}). Nothing was paid`)
  }
}

const isHex = (value: unknown, digits: number): value is `0x${string}` =>
  typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value) && value.length === digits + 2

/** The account of the sandbox, whose service signs for it. */
export const connectSandbox: ((address: string) => Connect) | undefined = SANDBOX
  ? (address) =>
      async ({ show }) => ({
        address: address as `0x${string}`,
        async signTypedData(typed) {
          await show(address, typed)
          const headers = { 'Content-Type': 'application/json' }
          const request = { method: 'POST', headers, body: JSON.stringify(typed.message) }
          const response = await fetch(SANDBOX_SIGNATURE_PATH, request)
          if (!response.ok) throw new WalletError('The sandbox refused to sign. Nothing was paid')
          return ((await response.json()) as { signature: `0x${string}` }).signature
        },
      })
  : undefined
