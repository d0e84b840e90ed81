/** The command `mcp` as a real process, with the official client over stdio and the real service. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'chai'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { listen } from '../../support/listen.ts'
import { startTestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { useService } from '../../support/use-service.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/operator/main.js'))
const LOOKUP = { name: 'lookup_company', arguments: { company_number: '73848' } }
const OTHER = { ...LOOKUP, arguments: { company_number: '00000000' } }
const CALLS = [
  LOOKUP,
  { name: 'search_companies', arguments: { q: 'plain fixture', limit: 3 } },
  { name: 'resolve_company', arguments: { name: 'Plain Fixture Limited' } },
]

describe('[15.5, 15.10] the command mcp', function () {
  this.timeout(240_000)
  const { service } = useService(() => startTestService())
  let directory: string
  let keyFile: string
  const clients: Client[] = []

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    keyFile = join(directory, 'buyer.key')
    await writeFile(keyFile, service.buyerKey, { mode: 0o600 })
  })
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close()
  })

  async function connect(args: string[] = [], { url = service.url, options = {} } = {}) {
    const folder = join(directory, 'purchases')
    const command = [MAIN, 'mcp', '--url', url, '--key-file', keyFile, '--folder', folder, ...args]
    const transport = new StdioClientTransport({ command: process.execPath, args: command })
    const client = new Client({ name: 'test', version: '1' }, options)
    await client.connect(transport)
    clients.push(client)
    return { client, pid: transport.pid ?? 0 }
  }
  const call = async (client: Client, params: typeof LOOKUP | (typeof CALLS)[number]) =>
    (await client.callTool(params)) as CallToolResult & { structuredContent: Record<string, unknown> }
  const textOf = ({ content }: CallToolResult) => (content[0] as { text: string }).text
  const codeOf = ({ isError, structuredContent }: CallToolResult) =>
    isError === true && (structuredContent as { error: { code: string } }).error.code
  const paysTimes = async (count: number, work: () => Promise<unknown>) =>
    expect(await service.transfersOf(work)).to.equal(count)

  it('lists the tools of the service, marks the paid ones as spending money, and describes payment by the local server', async () => {
    const { tools } = await (await connect()).client.listTools()
    const post = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    const [json = ''] = /\{.*\}/.exec(await post.text()) ?? []
    // Only the service knows the status texts of its dataset.
    const common = json.replaceAll(/ The dataset has: [^"]*?\./g, '')
    const { result } = JSON.parse(common) as { result: { tools: typeof tools } }
    const withoutText = (each: typeof tools) =>
      each.map((tool) => ({ ...tool, description: undefined, annotations: undefined }))
    expect(tools.length).to.equal(OPERATIONS.length + 1)
    expect(withoutText(tools)).to.deep.equal(withoutText(result.tools))
    const reading = { readOnlyHint: true, idempotentHint: true, openWorldHint: true }
    const spending = { ...reading, readOnlyHint: false, destructiveHint: false }
    for (const { name, annotations } of tools)
      expect(annotations).to.deep.equal(name === 'service_info' ? reading : spending)
    expect(tools[0]?.description).to.contain('This local server pays').and.to.not.contain('x402/payment')
  })

  it('answers service_info like the service, also for the URL of its MCP endpoint', async () => {
    const remote = new Client({ name: 'test', version: '1' })
    await remote.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`)))
    clients.push(remote)
    const info = { name: 'service_info', arguments: {} }
    const expected = await remote.callTool(info)
    expect(expected.structuredContent).to.have.all.keys('metadata', 'attribution', 'guide')
    for (const end of ['/', '/mcp']) {
      const { client } = await connect([], { url: `${service.url}${end}` })
      const told = await client.callTool(info)
      expect(told.structuredContent).to.deep.equal(expected.structuredContent)
      await client.close()
    }
  })

  it('returns no answer whose receipt is missing or cannot be checked', async () => {
    let isDown = true
    let target = ''
    const pass = async ({ url: path = '', headers: sent }: IncomingMessage, response: ServerResponse) => {
      if (path.endsWith('jwks.json') && isDown) return response.writeHead(503).end()
      const payment = sent['payment-signature']
      const headers = { ...(typeof payment === 'string' && { 'PAYMENT-SIGNATURE': payment }) }
      const answer = await fetch(`${target}${path}`, { headers })
      for (const name of ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE']) {
        const value = answer.headers.get(name)
        const isDropped = name === 'PAYMENT-RESPONSE' && path.endsWith('00000000')
        if (value !== null && !isDropped) response.setHeader(name, value)
      }
      return response.writeHead(answer.status).end(await answer.text())
    }
    using proxy = await listen(createServer((request, response) => void pass(request, response)))
    const { url } = proxy
    const behind = await startTestService({ environment: { BASE_URL: url } })
    target = behind.localUrl
    try {
      await writeFile(keyFile, behind.buyerKey, { mode: 0o600 })
      const { client } = await connect([], { url })
      expect(codeOf(await call(client, LOOKUP))).to.equal('receipt_unchecked')
      isDown = false
      expect(codeOf(await call(client, LOOKUP))).to.equal(false)
      expect(codeOf(await call(client, OTHER))).to.equal('receipt_invalid')
    } finally {
      await behind.stop()
    }
  })

  // The other tests speak the version that the official client chooses.
  it('buys each operation once, also after it was killed, with the newest version of the protocol', () =>
    paysTimes(3, async () => {
      const options = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
      const first = await connect([], { options })
      const answers = await Promise.all(CALLS.map((each) => call(first.client, each)))
      for (const answer of answers) {
        expect(answer.isError ?? false).to.equal(false)
        expect(JSON.parse(textOf(answer))).to.deep.equal(answer.structuredContent)
        expect(answer._meta?.['x402/payment-response']).to.have.nested.property('extensions.payment-receipt')
      }
      process.kill(first.pid, 'SIGKILL')
      const { client } = await connect([], { options })
      for (const [index, each] of CALLS.entries())
        expect((await call(client, each)).structuredContent).to.deep.equal(answers[index]?.structuredContent)
    }))

  it('keeps to the limits of a call and of a day, also after it was killed', () =>
    paysTimes(1, async () => {
      const dear = await connect(['--max-amount', '0.000999'])
      expect(codeOf(await call(dear.client, LOOKUP))).to.equal('price_above_limit')
      const args = ['--max-per-day', '0.001999']
      const first = await connect(args)
      expect(codeOf(await call(first.client, LOOKUP))).to.equal(false)
      process.kill(first.pid, 'SIGKILL')
      const { client } = await connect(args)
      expect(codeOf(await call(client, OTHER))).to.equal('day_limit_reached')
      expect(codeOf(await call(client, LOOKUP))).to.equal(false)
    }))

  it('refuses wrong arguments, another receiver and a missing company without a payment', () =>
    paysTimes(0, async () => {
      const { client } = await connect()
      const wrong = await call(client, { ...LOOKUP, arguments: { company_number: 'abc' } })
      expect(codeOf(wrong)).to.equal('invalid_company_number')
      expect(wrong.structuredContent).to.have.all.keys('error')
      const error = { charged: 'no', next: 'search', field: 'company_number', advice: 'Search for the name.' }
      expect(wrong.structuredContent['error']).to.include(error)
      const missing = await call(client, { ...LOOKUP, arguments: { company_number: '999999' } })
      expect(codeOf(missing)).to.equal('company_not_found')
      expect(missing.structuredContent).to.have.all.keys('error')
      expect(missing.structuredContent['error']).to.include({ charged: 'unknown', next: 'exact_number' })
      const other = await connect(['--pay-to', `0x${'d3'.repeat(20)}`])
      expect(codeOf(await call(other.client, CALLS[1] as typeof LOOKUP))).to.equal('quote_unexpected')
      expect(
        (await readdir(join(directory, 'purchases'))).filter((name) => /^[0-9a-f]+-0\.json/.test(name)).length,
      ).to.equal(1)
    }))

  it('escapes and bounds the text of the service, and shows none of it in errors', async () => {
    const access = { pay_to: '0x\u202Eevil', endpoint_prices: {}, more: '' }
    const forged = createServer(({ url = '' }, response) => {
      const error = { code: 'evil\u202E', message: '\u001B[2Jevil' }
      response.statusCode = url.includes('/api/v1/company/') ? 418 : 200
      response.end(JSON.stringify(url.endsWith('/meta') ? { access } : { error }))
    })
    const forger = await listen(forged)
    const { url } = forger
    const { client } = await connect([], { url })
    try {
      const info = { name: 'service_info', arguments: {} }
      expect(textOf(await client.callTool(info))).to.contain('0x\\u202eevil')
      access.more = 'a'.repeat(40_000)
      const long = await client.callTool(info)
      expect([codeOf(long), textOf(long).length < 1000]).to.deep.equal(['answer_too_large', true])
      const refused = await call(client, LOOKUP)
      expect(codeOf(refused)).to.equal('service_refused')
      expect(JSON.stringify(refused)).to.not.contain('evil')
    } finally {
      forger.close()
    }
    const unreachable = await call(client, LOOKUP)
    expect(codeOf(unreachable)).to.equal('service_unreachable')
    expect(unreachable.structuredContent).to.have.nested.include({ 'error.charged': 'no', 'error.next': 'repeat' })
  })
})
