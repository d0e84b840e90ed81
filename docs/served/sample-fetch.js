// npm i @x402/fetch @x402/core @x402/evm viem
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.BUYER_KEY)
const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
const payingFetch = wrapFetchWithPayment(fetch, client)
const response = await payingFetch('{{first_url}}')
console.dir(await response.json(), { depth: null })
