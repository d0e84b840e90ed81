// npm i @x402/fetch @x402/core @x402/evm viem
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.BUYER_KEY)
const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
const data = { operation: 'search', input: { q: 'example trading' } }
const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ data }] }
const response = await wrapFetchWithPayment(fetch, client)('{{base_url}}/a2a', {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    'A2A-Version': '1.0',
    'A2A-Extensions': '{{extension_uri}}',
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
})
console.dir(await response.json(), { depth: null })
