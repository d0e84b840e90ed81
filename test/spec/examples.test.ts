/** Every example of a request is complete: sent as it stands it gets a quote, and with a payment the answer. */
import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { verifyReceipt } from '../../agent/payment/receipt/verify.ts'
import { type RawReply } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { messageBody } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

interface ExampleRequest {
  method: string
  /** Under the base URL of the service. */
  url: string
  headers: Record<string, string>
  body?: string | undefined
}

interface Parameter {
  name: string
  in: string
  example?: string | number
}

interface Description {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: Parameter[]
        requestBody?: { content: Record<string, { example: object }> }
        responses: Record<string, object>
      }
    >
  >
}

interface Quote {
  resource: { url: string }
  extensions: { bazaar: { routeTemplate?: string; info: { input: QuotedInput } } }
}

interface QuotedInput {
  method: string
  pathParams?: Record<string, string>
  queryParams?: Record<string, string>
  body?: object
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

describe('[4.4.13] the examples of requests', function () {
  this.timeout(120_000)
  const { service, get } = useService(() => startTestService())
  const read = async (path: string) => (await get(path)).text

  function execute({ method, url, headers, body }: ExampleRequest, payment?: string): Promise<RawReply> {
    const origin = service.url
    expect(url.startsWith(`${origin}/`), url).to.equal(true)
    return get(url.slice(origin.length), payment, { method, headers, ...(body !== undefined && { body }) })
  }

  /** Buys every example of a document. There must be at least `count`. */
  async function buyAll(requests: readonly ExampleRequest[], count: number): Promise<void> {
    expect(requests.length).to.be.at.least(count)
    for (const request of requests) {
      const name = JSON.stringify(request)
      const unpaid = await execute(request)
      expect(unpaid.status, name).to.equal(402)
      const paid = await execute(request, await service.pay(String(unpaid.headers['payment-required'])))
      expect(paid.status, `${name} ${paid.text}`).to.equal(200)
      expect(paid.headers['payment-response'], name).to.be.a('string')
      expect(paid.text, name).to.contain('"snapshot_id"')
    }
  }

  const a2a = (message: string): ExampleRequest => ({
    method: 'POST',
    url: `${service.url}/a2a`,
    headers: { ...JSON_TYPE, 'A2A-Version': '1.0', 'A2A-Extensions': `${service.url}/docs#http-x402-v1` },
    body: message,
  })

  it('in the agent card can be bought', async () => {
    const { skills } = JSON.parse(await read('/.well-known/agent-card.json')) as { skills: { examples: string[] }[] }
    const parts = skills.flatMap(({ examples }) => examples)
    const requests = parts.map((data) => a2a(messageBody({ parts: [{ data: JSON.parse(data) as unknown }] })))
    await buyAll(requests, 6)
  })

  it('in the OpenAPI description can be bought', async () => {
    const { paths } = JSON.parse(await read('/openapi.json')) as Description
    const requests = Object.entries(paths).flatMap(([template, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters = [], requestBody, responses }]): ExampleRequest[] => {
        if (!Object.hasOwn(responses, '402')) return []
        const given = parameters.filter(({ example }) => example !== undefined)
        const valuesIn = (place: string) =>
          given.flatMap((each) => (each.in === place ? [[each.name, String(each.example)]] : [])) as [string, string][]
        const inPath = new Map(valuesIn('path'))
        const path = template.replace(/\{(\w+)\}/g, (_, name: string) => inPath.get(name) ?? '')
        const query = new URLSearchParams(valuesIn('query')).toString()
        const base = {
          method: method.toUpperCase(),
          url: `${service.url}${path}${query === '' ? '' : `?${query}`}`,
          headers: { ...(requestBody && JSON_TYPE), ...Object.fromEntries(valuesIn('header')) },
        }
        if (!requestBody) return [base]
        return [{ ...base, body: JSON.stringify(requestBody.content['application/json']?.example) }]
      }),
    )
    await buyAll(requests, 8)
  })

  for (const [path, count] of [
    ['/llms.txt', 3],
    ['/docs/api.md', 3],
  ] as const) {
    it(`in ${path} can be bought`, async () => {
      const commands = [
        ...(await read(path)).matchAll(/curl -i (?:-X POST )?'?(http[^' ]+)'?(?: -H '([^']+)')?(?: -d '([^']+)')?/g),
      ]
      const requests = commands.map(([, url = '', header, body]): ExampleRequest => {
        const [name = '', value = ''] = header?.split(': ') ?? []
        // As curl does.
        const method = body === undefined ? 'GET' : 'POST'
        return { method, url, headers: header === undefined ? {} : { [name]: value }, body }
      })
      await buyAll(requests, count)
    })
  }

  it('in the list of tools can be bought, at the price that the description names', async () => {
    const headers = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' }
    const call = async (method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const { text } = await get('/mcp', undefined, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body })
      return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result
    }
    const { tools } = (await call('tools/list', {})) as { tools: { name: string; description: string }[] }
    const paid = tools.filter(({ description }) => description.includes('Example: '))
    expect(paid).to.have.length(tools.length - 1)
    for (const { name, description } of paid) {
      const args: unknown = JSON.parse(/Example: (\{.*\})\.$/.exec(description)?.[1] ?? '')
      const unpaid = await call('tools/call', { name, arguments: args })
      const price = /([0-9.]+) USDC on/.exec(description)?.[1]
      if (price) expect(unpaid.structuredContent.accepts[0].amount, name).to.equal(String(Number(price) * 1e6))
      const quote = Buffer.from(JSON.stringify(unpaid.structuredContent)).toString('base64')
      const _meta = { 'x402/payment': await service.pay(quote) }
      const sold = await call('tools/call', { name, arguments: args, _meta })
      expect(sold.isError ?? false, `${name} ${JSON.stringify(sold)}`).to.equal(false)
      expect(sold.structuredContent, name).to.include.keys('snapshot_id')
    }
  })

  it('in a quote can be bought by a program that read nothing else', async () => {
    const paths = ['/api/v1/company/00000000', '/api/v1/search?q=Alpha', '/api/v1/company/00000000/history']
    const posts = {
      '/api/v1/resolve': '{"name":"Alpha"}',
      '/api/v1/batch': '{"operation":"lookup","inputs":[{"company_number":"1"}]}',
    }
    const asked = [
      ...paths.map((path): ExampleRequest => ({ method: 'GET', url: service.url + path, headers: {} })),
      ...Object.entries(posts).map(([path, body]): ExampleRequest => {
        return { method: 'POST', url: service.url + path, headers: JSON_TYPE, body }
      }),
    ]
    const requests = asked.map(async (request): Promise<ExampleRequest> => {
      const { resource, extensions } = JSON.parse((await execute(request)).text) as Quote
      const { info, routeTemplate } = extensions.bazaar
      const { method, pathParams = {}, queryParams, body } = info.input
      const path = routeTemplate?.replace(/:(\w+)/g, (_, name: string) => pathParams[name] ?? '')
      const query = queryParams ? `?${new URLSearchParams(queryParams).toString()}` : ''
      const url = new URL((path ?? new URL(resource.url).pathname) + query, resource.url).href
      return { method, url, headers: body ? JSON_TYPE : {}, body: body && JSON.stringify(body) }
    })
    await buyAll(await Promise.all(requests), asked.length)
  })

  it('in the guide of A2A is a purchase with the stock SDK, as it stands, with the receipt', async () => {
    const [, program = ''] = /^```js\n(.*?)^```$/ms.exec(await read('/docs/a2a.md')) ?? []
    const statements = program.split('\n').filter((line) => line !== '' && !line.startsWith('import '))
    expect(statements.length).to.be.within(5, 10)
    const directory = await makeTemporaryDirectory()
    await symlink(
      fileURLToPath(new URL('node_modules', import.meta.resolve('#root/package.json'))),
      join(directory, 'node_modules'),
    )
    await writeFile(join(directory, 'buy.mjs'), program)
    const env = { PATH: process.env['PATH'], KEY: service.buyerKey }
    const { stdout } = await promisify(execFile)(process.execPath, [join(directory, 'buy.mjs')], { env })
    const { answer, metadata } = JSON.parse(stdout)
    expect(answer.company.company_number).to.equal('00000000')
    const settlement = metadata[`${service.url}/docs#http-x402-v1`]
    expect(settlement.success).to.equal(true)
    const { receipt } = settlement.extensions['payment-receipt'].info
    const keySet = JSON.parse(await read('/.well-known/jwks.json'))
    expect(await verifyReceipt({ receipt, answer, keySet })).to.include({ isValid: true })
  })
})
