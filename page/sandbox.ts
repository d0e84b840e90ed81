/** The account of the sandbox as a wallet, for which the service signs. Only the page of a sandbox has this script. */
import { SANDBOX_SIGNATURE_PATH } from '../agent/operation/endpoints.ts'
import { DEPLOYMENTS } from '../agent/payment/terms.ts'
import { find } from './elements.ts'
import type { Wallet } from './wallets.ts'

const ANSWERS: Record<string, (params: unknown[]) => unknown> = {
  eth_requestAccounts: () => [document.body.dataset['account']],
  eth_chainId: () => DEPLOYMENTS.testnet.chainId,
  async eth_signTypedData_v4([, typed]) {
    const { message } = JSON.parse(String(typed)) as { message: object }
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(SANDBOX_SIGNATURE_PATH, { method: 'POST', headers, body: JSON.stringify(message) })
    if (!response.ok) throw Object.assign(new Error('The sandbox refused to sign'), { code: response.status })
    return ((await response.json()) as { signature?: string }).signature
  },
}

const detail: Wallet = {
  info: { name: 'The sandbox’s account', uuid: 'sandbox' },
  provider: { request: async ({ method, params }) => ANSWERS[method]?.(params), funded: true },
}
dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
Object.assign(find('#wallet'), { value: 'sandbox' })
