/** Every example of a request is complete: sent as it stands it gets a quote, and with a payment the answer. */
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { send, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

interface ExampleRequest {
  method: string
  /** Under the base URL of the service. */
  url: string
  headers: Record<string, string>
  body?: string
}

interface BazaarInput {
  method: string
  pathParams?: Record<string, string>
  queryParams?: Record<string, string>
  body?: Record<string, unknown>
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
        requestBody?: { content: Record<string, { examples: Record<string, { value: object }> }> }
        responses: Record<string, object>
      }
    >
  >
}

/** Without a body if it is undefined, because the compiler tells absent from undefined. */
function makeRequest({ method, url, headers }: Omit<ExampleRequest, 'body'>, body: string | undefined): ExampleRequest {
  return body === undefined ? { method, url, headers } : { method, url, headers, body }
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

describe('[4.4.13] the examples of requests', function () {
  this.timeout(120_000)
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service.stop())

  const read = async (path: string) => (await send({ url: service.url, path })).text

  function execute({ method, url, headers, body }: ExampleRequest, payment?: string): Promise<RawReply> {
    expect(url.startsWith(`${service.url}/`), url).to.equal(true)
    const own = payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment }
    const path = url.slice(service.url.length)
    return send({
      url: service.url,
      method,
      path,
      headers: { ...headers, ...own },
      ...(body !== undefined && { body }),
    })
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

  it('in quotes can be bought', async () => {
    const quotes = [
      await send({ url: service.url, path: '/api/v1/company/73848' }),
      await send({ url: service.url, path: '/api/v1/search?q=alpha' }),
      await send({
        url: service.url,
        method: 'POST',
        path: '/api/v1/resolve',
        headers: JSON_TYPE,
        body: '{"name":"alpha"}',
      }),
    ]
    const requests = quotes.map((quote): ExampleRequest => {
      const { resource, extensions = {} } = decodePaymentRequiredHeader(String(quote.headers['payment-required']))
      const { info, routeTemplate } = extensions['bazaar'] as { info: { input: BazaarInput }; routeTemplate?: string }
      const { method, pathParams = {}, queryParams, body } = info.input
      const url = new URL(resource?.url ?? '')
      if (routeTemplate !== undefined)
        url.pathname = routeTemplate.replace(/:(\w+)/g, (_, name: string) => pathParams[name] ?? '')
      url.search = new URLSearchParams(queryParams ?? {}).toString()
      return makeRequest({ method, url: url.href, headers: body ? JSON_TYPE : {} }, body && JSON.stringify(body))
    })
    await buyAll(requests, 3)
  })

  it('in the agent card can be bought', async () => {
    const { skills } = JSON.parse(await read('/.well-known/agent-card.json')) as { skills: { examples: string[] }[] }
    const parts = skills.flatMap(({ examples }) => examples)
    const requests = parts.map((data) =>
      a2a(
        `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${data}}]}}}`,
      ),
    )
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
        const examples = Object.values(requestBody.content['application/json']?.examples ?? {})
        const bodies = examples.map(({ value }) => JSON.stringify(value))
        // A question in words is free.
        return bodies.filter((body) => !body.includes('"text"')).map((body) => makeRequest(base, body))
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
        return makeRequest({ method, url, headers: header === undefined ? {} : { [name]: value } }, body)
      })
      await buyAll(requests, count)
    })
  }
})
