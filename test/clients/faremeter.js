/** Buys with `@faremeter/fetch` and `@faremeter/payment-evm` and prints the status and the receipt. */
import { wrap } from '@faremeter/fetch'
import { createPaymentHandler } from '@faremeter/payment-evm/exact'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.BUYER_KEY)
const wallet = { chain: { id: 84_532, name: 'Base Sepolia' }, address: account.address, account }
const { status, headers } = await wrap(fetch, { handlers: [createPaymentHandler(wallet)] })(process.env.RESOURCE)
console.log(status, headers.get('payment-response'))
