/** The served documents over HTTP: types, ETags, compression, content negotiation and links (contract 4.4). */
import { expect } from 'chai'
import { expectRefusal, send } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const TYPES = {
  'text/html': ['/docs', '/docs/api', '/docs/a2a', '/docs/mcp'],
  'text/markdown': ['/docs/api.md'],
  'text/plain': ['/docs/a2a.md', '/docs/mcp.md', '/llms.txt', '/robots.txt'],
  'application/json': ['/openapi.json'],
}
const DOCUMENTS = Object.entries(TYPES).flatMap(([type, paths]) => paths.map((path) => ({ path, type })))
const PATHS = DOCUMENTS.map(({ path }) => path)
const API_CATALOG = '/.well-known/api-catalog'
const JSON_ROUTES = ['/', '/api/v1/meta', '/attribution', '/.well-known/jwks.json', '/.well-known/agent-card.json']

describe('the free documents', () => {
  const { service } = useService(() => startTestService())

  const get = (path: string, headers: Record<string, string> = {}) => send({ url: service.url, path, headers })
  const getAs = (encodings: string, path: string) => get(path, { 'Accept-Encoding': encodings })

  for (const { path, type } of DOCUMENTS) {
    it(`[4.4.3] ${path} is free, has its content type, a short max-age and links to other documents`, async () => {
      const { status, headers, text } = await get(path)
      expect(status).to.equal(200)
      expect(headers['content-type']).to.equal(`${type}; charset=utf-8`)
      expect(headers['cache-control']).to.equal('public, max-age=60')
      expect(text.length).to.be.greaterThan(200)
      expect(text).not.to.contain('{{')
      expect(headers['link']).to.contain('</openapi.json>; rel="service-desc"')
      expect(headers['link']).to.contain('</docs>; rel="service-doc"')
      expect(headers['link']).to.contain('</llms.txt>')
    })
  }

  for (const path of JSON_ROUTES) {
    it(`[4.4.3] ${path} is JSON with a public max-age`, async () => {
      const { headers } = await get(path)
      expect(headers['content-type']).to.equal('application/json; charset=utf-8')
      expect(headers['cache-control']).to.match(/^public, max-age=[0-9]+$/)
    })
  }

  it('[4.4.3] the catalogue of the APIs leads to what describes REST, MCP and A2A', async () => {
    const { headers, json } = await get(API_CATALOG)
    expect(headers['content-type']).to.match(/^application\/linkset\+json;/)
    expect(headers['content-type']).to.contain('profile="https://www.rfc-editor.org/info/rfc9727"')
    const head = await send({ url: service.url, path: API_CATALOG, method: 'HEAD' })
    expect(head.headers['link']).to.contain(`<${API_CATALOG}>; rel="api-catalog"`)
    const { linkset } = json as { linkset: Record<string, unknown>[] }
    const paths: string[] = []
    for (const { anchor, ...relations } of linkset)
      for (const { href, type } of Object.values(relations).flat() as { href: string; type: string }[]) {
        expect(String(anchor)).to.match(new RegExp(`^${service.url}/`))
        const path = href.replace(service.url, '')
        const reply = await get(path)
        expect([reply.status, reply.headers['content-type']]).to.deep.equal([200, `${type}; charset=utf-8`])
        paths.push(path)
      }
    expect(linkset.map(({ anchor }) => anchor)).to.deep.equal(
      ['/api/v1', '/mcp', '/a2a'].map((path) => service.url + path),
    )
    expect(paths).to.include.members(['/openapi.json', '/docs', '/docs/mcp.md', '/.well-known/agent-card.json'])
  })

  it('[4.4.3] have no security.txt without an operator', async () => {
    expectRefusal(await get('/.well-known/security.txt'), 'not_found')
  })

  for (const path of [...PATHS, ...JSON_ROUTES, API_CATALOG]) {
    it(`[4.4.3, 4.7.5] ${path} has an ETag, 304, HEAD without a body, and 405 for other methods`, async () => {
      const first = await get(path)
      const etag = String(first.headers['etag'])
      expect(etag).to.match(/^W\/"[^"]+"$/)
      expect((await get(path)).text).to.equal(first.text)
      for (const match of [etag, `"other", ${etag}`, etag.slice(2), '*']) {
        const unchanged = await get(path, { 'If-None-Match': match })
        expect(unchanged).to.deep.include({ status: 304, text: '' })
        expect(unchanged.headers['etag']).to.equal(etag)
        expect(unchanged.headers['vary'])
          .to.equal(first.headers['vary'])
          .and.match(/Accept-Encoding/)
      }
      expect((await get(path, { 'If-None-Match': '"other"' })).status).to.equal(200)
      const head = await send({ url: service.url, path, method: 'HEAD' })
      expect(head).to.deep.include({ status: 200, text: '' })
      expect(head.headers).to.include({ etag, 'content-length': String(Buffer.byteLength(first.text)) })
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const refused = await send({ url: service.url, path, method })
        expectRefusal(refused, 'method_not_allowed')
        expect(refused.headers['allow']).to.equal('GET, HEAD')
      }
    })
  }

  for (const path of ['/api/v1/meta', ...PATHS.filter((each) => each !== '/robots.txt')]) {
    it(`[4.4.5] sends ${path} compressed with gzip, with the same text and the same weak ETag`, async () => {
      const plain = await getAs('identity', path)
      expect(plain.headers).not.to.have.property('content-encoding')
      const packed = await getAs('gzip, deflate, br', path)
      expect(packed.headers['content-encoding']).to.equal('gzip')
      expect(packed.headers['vary']).to.match(/Accept-Encoding/)
      expect(Number(packed.headers['content-length'])).to.be.lessThan(Buffer.byteLength(plain.text) * 0.7)
      expect(packed.text).to.equal(plain.text)
      const etag = String(packed.headers['etag'])
      expect(etag).to.equal(plain.headers['etag'])
      const again = await get(path, { 'Accept-Encoding': 'gzip', 'If-None-Match': etag })
      expect(again).to.deep.include({ status: 304, text: '' })
      expect(again.headers).not.to.have.property('content-encoding')
    })
  }

  it('[4.4.9] has the time of its signature in Last-Modified of the agent card', async () => {
    const path = '/.well-known/agent-card.json'
    const { etag, 'last-modified': signed } = (await get(path)).headers
    const after = (ms: number) => new Date(Date.parse(String(signed)) + ms).toUTCString()
    for (const ms of [-1_000, 0, 1_000]) {
      const reply = await get(path, { 'If-Modified-Since': after(ms) })
      expect(reply.status, String(ms)).to.equal(ms < 0 ? 200 : 304)
      expect(reply.headers).to.include({ etag, 'last-modified': after(0) })
      expect(reply.text === '').to.equal(ms >= 0)
    }
  })

  it('does not compress short documents or use a refused encoding', async () => {
    const encodingOf = async (path: string, encodings: string) =>
      (await getAs(encodings, path)).headers['content-encoding'] ?? 'identity'
    expect(await encodingOf('/robots.txt', 'br, gzip')).to.equal('identity')
    for (const encodings of ['br;q=0, gzip;q=0', 'identity, gzip;q=0.5', 'br'])
      expect(await encodingOf('/docs', encodings), encodings).to.equal('identity')
    expect(await encodingOf('/docs', 'br;q=0, gzip')).to.equal('gzip')
  })

  it('[4.4.2] serves /docs as markdown when the client prefers it, otherwise as HTML', async () => {
    const markdown = await get('/docs/api.md')
    const html = await get('/docs/api')
    expect(html.text).to.contain('id="http-x402-v1"')
    for (const accept of ['text/markdown', 'text/markdown, text/html;q=0.9', 'text/markdown;q=1, */*;q=0.1']) {
      const reply = await get('/docs', { Accept: accept })
      expect(reply.headers['content-type'], accept).to.equal('text/markdown; charset=utf-8')
      expect(reply.headers['vary']).to.match(/\bAccept\b,/)
      expect(reply.headers['content-security-policy']).to.equal("default-src 'none'; frame-ancestors 'none'")
      expect(reply.text).to.equal(markdown.text)
    }
    for (const accept of ['text/html', '*/*', 'text/html,application/xhtml+xml,*/*;q=0.8', 'application/json']) {
      const { headers, text } = await get('/docs', { Accept: accept })
      expect(headers['content-type'], accept).to.match(/^text\/html/)
      expect([headers['etag'], text]).to.deep.equal([html.headers['etag'], html.text])
    }
  })

  it('show the quote that the service sends', async () => {
    const { text } = await get('/docs/api.md')
    const { json } = await get('/api/v1/company/00000000')
    const [, block = ''] = /```json\n([^]*?)```/.exec(text) ?? []
    expect(JSON.parse(block)).to.deep.equal({ ...json, error: 'Payment is required', extensions: {} })
  })

  it('show the answer that a lookup of the synthetic company gets', async () => {
    const path = '/api/v1/company/00000000'
    const payment = await service.pay(String((await get(path)).headers['payment-required']))
    const { json } = await get(path, { 'PAYMENT-SIGNATURE': payment })
    const { text } = await get('/docs/api.md')
    const [, block = ''] = [...text.matchAll(/```json\n([^]*?)```/g)][1] ?? []
    expect(JSON.parse(block)).to.deep.equal(json)
  })
})
