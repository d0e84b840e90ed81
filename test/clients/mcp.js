/**
 * Buys a tool call with the official MCP client at specification 2026-07-28 and `@x402/core`, as the MCP transport of x402
 * says, and prints the status and the receipt.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { payerOf } from './paying-fetch.js'

const { origin, pathname } = new URL(process.env.RESOURCE)
const company_number = pathname.split('/').at(-1)
const call = { name: 'lookup_company', arguments: { company_number } }
const versionNegotiation = { mode: { pin: '2026-07-28' } }
const mcp = new Client({ name: 'stock-client', version: '1' }, { versionNegotiation })
await mcp.connect(new StreamableHTTPClientTransport(new URL('/mcp', origin)))
await mcp.listTools()
const { structuredContent: quote } = await mcp.callTool(call)
const payment = await payerOf(process.env.BUYER_KEY).createPaymentPayload(quote)
const result = await mcp.callTool({ ...call, _meta: { 'x402/payment': payment } })
const bought = result.structuredContent.company?.company_number === company_number
const receipt = Buffer.from(JSON.stringify(result._meta?.['x402/payment-response'] ?? {})).toString('base64')
console.log(bought ? 200 : 'other', receipt)
await mcp.close()
