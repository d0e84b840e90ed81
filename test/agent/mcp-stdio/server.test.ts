/** The command `mcp` as a real process, with the official client over stdio and the real service. */
import { createServer } from 'node:http'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, type CallToolResult } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'chai'
import { runCommand } from '../../support/cli.ts'
import { listen } from '../../support/listen.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/agent/main.js'))
const LOOKUP = { name: 'lookup_company', arguments: { company_number: '73848' } }
const CALLS = [
  LOOKUP,
  { name: 'search_companies', arguments: { q: 'plain fixture', limit: 3 } },
  { name: 'resolve_company', arguments: { name: 'Plain Fixture Limited' } },
]

describe('[15.5] the command mcp', function () {
  this.timeout(120_000)
  let service: TestService
  let directory: string
  let keyFile: string
  const clients: Client[] = []

  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    keyFile = join(directory, 'buyer.key')
    await writeFile(keyFile, service.buyerKey)
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
  const paysTimes = async (count: number, work: () => Promise<unknown>) => {
    const before = (await service.paid()).transfers
    await work()
    expect((await service.paid()).transfers - before).to.equal(count)
  }

  it('has the tools of the service, with other texts on payment', async () => {
    const { tools } = await (await connect()).client.listTools()
    const post = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    const [json = ''] = /\{.*\}/.exec(await post.text()) ?? []
    const { result } = JSON.parse(json) as { result: { tools: typeof tools } }
    const withoutText = (each: typeof tools) => each.map((tool) => ({ ...tool, description: undefined }))
    expect(tools.length).to.equal(4)
    expect(withoutText(tools)).to.deep.equal(withoutText(result.tools))
    expect(tools[0]?.description).to.contain('This local server pays').and.to.not.contain('x402/payment')
  })

  for (const options of [{}, { versionNegotiation: { mode: { pin: '2026-07-28' } } }]) {
    it(`buys each operation once, also after it was killed, ${JSON.stringify(options)}`, () =>
      paysTimes(3, async () => {
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
  }

  it('keeps to the limits of a call and of a day, also after it was killed', () =>
    paysTimes(1, async () => {
      const dear = await connect(['--max-amount', '999'])
      expect(codeOf(await call(dear.client, LOOKUP))).to.equal('price_above_limit')
      const args = ['--max-per-day', '1999']
      const first = await connect(args)
      expect(codeOf(await call(first.client, LOOKUP))).to.equal(false)
      process.kill(first.pid, 'SIGKILL')
      const { client } = await connect(args)
      const other = { ...LOOKUP, arguments: { company_number: '00000000' } }
      expect(codeOf(await call(client, other))).to.equal('day_limit_reached')
      expect(codeOf(await call(client, LOOKUP))).to.equal(false)
    }))

  it('refuses wrong arguments, another receiver and a missing company without a payment', () =>
    paysTimes(0, async () => {
      const { client } = await connect()
      const wrong = await call(client, { ...LOOKUP, arguments: { company_number: 'abc' } })
      expect(codeOf(wrong)).to.equal('invalid_company_number')
      expect(wrong.structuredContent).to.have.nested.property('next.charged', 'no')
      const missing = await call(client, { ...LOOKUP, arguments: { company_number: '999999' } })
      expect(codeOf(missing)).to.equal('company_not_found')
      const other = await connect(['--pay-to', `0x${'d3'.repeat(20)}`])
      expect(codeOf(await call(other.client, CALLS[1] as typeof LOOKUP))).to.equal('quote_unexpected')
      expect(
        (await readdir(join(directory, 'purchases'))).filter((name) => !name.startsWith('spending-')).length,
      ).to.equal(1)
    }))

  it('escapes the text of the service, and shows none of it in errors', async () => {
    const forged = createServer(({ url = '' }, response) => {
      const access = { pay_to: '0x\u202Eevil', endpoint_prices: {} }
      const error = { code: 'evil\u202E', message: '\u001B[2Jevil' }
      response.statusCode = url.endsWith('/meta') ? 200 : 418
      response.end(JSON.stringify(url.endsWith('/meta') ? { access } : { error }))
    })
    const forger = await listen(forged)
    const { url } = forger
    try {
      const { client } = await connect([], { url })
      const told = textOf(await client.callTool({ name: 'service_info', arguments: {} }))
      expect(told).to.contain('0x\\u202eevil')
      const refused = await call(client, LOOKUP)
      expect(codeOf(refused)).to.equal('service_refused')
      expect(JSON.stringify(refused)).to.not.contain('evil')
    } finally {
      forger.close()
    }
    const { client } = await connect([], { url })
    expect(codeOf(await call(client, LOOKUP))).to.equal('service_unreachable')
  })

  it('does not start without a valid key file', async () => {
    const args = ['--url', service.url, '--key-file', join(directory, 'none'), '--folder', directory]
    const { code, stderr } = await runCommand(['mcp', ...args])
    expect(code).to.equal(1)
    expect(stderr).to.contain('must hold a private key')
  })
})
