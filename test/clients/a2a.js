/** Buys over A2A with `@a2a-js/sdk` over `@x402/fetch` and prints the status and the receipt. */
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from '@a2a-js/sdk/client'
import { payingFetch } from './paying-fetch.js'

const { origin, pathname } = new URL(process.env.RESOURCE)
const pay = payingFetch(process.env.BUYER_KEY, fetch)
let last
const fetchImpl = async (...request) => (last = await pay(...request))

const transports = [new JsonRpcTransportFactory({ fetchImpl })]
const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports })
const client = await new ClientFactory(options).createFromUrl(origin)
const { capabilities } = await client.getAgentCard()
const extension = capabilities.extensions[0].uri
const data = { operation: 'lookup', input: { company_number: pathname.split('/').at(-1) } }
const message = { messageId: crypto.randomUUID(), role: 1, parts: [{ content: { $case: 'data', value: data } }] }
const serviceParameters = ServiceParameters.create(withA2AExtensions(extension))
const result = await client.sendMessage({ message }, { serviceParameters })
const bought = result.parts[0].content.value.company.company_number === data.input.company_number
console.log(bought ? last.status : 'other', last.headers.get('payment-response'))
