// npm i @modelcontextprotocol/client @x402/core @x402/evm viem
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.BUYER_KEY)
const payer = new x402Client().register('eip155:*', new ExactEvmScheme(account))
const mcp = new Client({ name: 'example', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
await mcp.connect(new StreamableHTTPClientTransport(new URL('{{base_url}}/mcp')))
const call = { name: 'search_companies', arguments: { q: 'example trading' } }
const { structuredContent: quote } = await mcp.callTool(call)
const payment = await payer.createPaymentPayload(quote)
const { structuredContent: answer } = await mcp.callTool({ ...call, _meta: { 'x402/payment': payment } })
console.dir(answer, { depth: null })
await mcp.close()
