/** Bundled into a page of another origin. Buys with stock packages and returns the status and the receipt. */
import { wrapAxiosWithPayment } from '@x402/axios'
import axios from 'axios'
import { payerOf, payingFetch } from './paying-fetch.js'

const RECEIPT = 'PAYMENT-RESPONSE'

const KITS = {
  async '@x402/fetch'(key, { url, method, headers, body }) {
    const response = await payingFetch(key, fetch)(url, { method, headers, body })
    return [response.status, response.headers.get(RECEIPT)]
  },
  async '@x402/axios'(key, { url, method, headers, body }) {
    const { status, headers: own } = await wrapAxiosWithPayment(
      axios.create(),
      payerOf(key),
    )({ url, method, headers, data: body })
    return [status, own[RECEIPT.toLowerCase()]]
  },
}

globalThis.buyWith = (kit, key, request) => KITS[kit](key, request)
