/** Buys a tool call with `withX402Client` of `agents` on the official MCP client and prints the status and the receipt. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { withX402Client } from 'agents/x402'
import { privateKeyToAccount } from 'viem/accounts'

const { origin, pathname } = new URL(process.env.RESOURCE)
const company_number = pathname.split('/').at(-1)
const mcp = new Client({ name: 'stock-client', version: '1' })
await mcp.connect(new StreamableHTTPClientTransport(new URL('/mcp', origin)))
// The prices of the tools are read with the schemas, against which the client checks every result.
await mcp.listTools()
const client = withX402Client(mcp, { account: privateKeyToAccount(process.env.BUYER_KEY), network: 'eip155:84532' })
const result = await client.callTool(null, { name: 'lookup_company', arguments: { company_number } })
const bought = result.structuredContent?.company?.company_number === company_number
const receipt = Buffer.from(JSON.stringify(result._meta?.['x402/payment-response'] ?? {})).toString('base64')
console.log(bought ? 200 : 'other', receipt)
await mcp.close()
