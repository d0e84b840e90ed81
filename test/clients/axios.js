/** Buys with `@x402/axios` and prints the status and the receipt. */
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapAxiosWithPayment } from '@x402/axios'
import axios from 'axios'
import { privateKeyToAccount } from 'viem/accounts'

const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(process.env.BUYER_KEY)))
const { status, headers } = await wrapAxiosWithPayment(axios.create(), client).get(process.env.RESOURCE)
console.log(status, headers['payment-response'])
