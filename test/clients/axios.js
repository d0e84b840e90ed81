/** Buys with `@x402/axios` and prints the status and the receipt. */
import { wrapAxiosWithPayment } from '@x402/axios'
import axios from 'axios'
import { payerOf } from './paying-fetch.js'

const client = payerOf(process.env.BUYER_KEY)
const { status, headers } = await wrapAxiosWithPayment(axios.create(), client).get(process.env.RESOURCE)
console.log(status, headers['payment-response'])
