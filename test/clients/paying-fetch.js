/** The client of x402 with the key of a buyer, and `fetch` of `@x402/fetch` with it. */
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

export const payerOf = (key) => new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key)))

export const payingFetch = (key, fetch) => wrapFetchWithPayment(fetch, payerOf(key))
