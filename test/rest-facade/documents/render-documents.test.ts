/** The rendered documents are consistent with the code: codes, routes, prices, limits and examples. */
import { expect } from 'chai'
import { resolve as resolveOperation } from '../../../agent/operation/resolve.ts'
import { extensionRequired, RPC_ERRORS } from '../../../agent/transport/a2a/errors.ts'
import { REFUSALS } from '../../../agent/operation/refusal.ts'
import { SINGLE_OPERATIONS } from '../../../agent/operation/operations.ts'
import { DEPLOYMENTS, type Mode, toUsdc } from '../../../agent/payment/terms.ts'
import { CALL_BODY_BYTES_MAX, CALLS_MAX } from '../../../agent/transport/call-limits.ts'
import { renderDocuments } from '../../../rest-facade/documents/render-documents.ts'
import type { WrittenDocument } from '../../../rest-facade/documents/templates.ts'
import { describeRoutes } from '../../../rest-facade/routes.ts'
import { deploymentOf, PAY_TO } from '../../support/deployment.ts'

const { baseUrl: BASE_URL, licence: LICENCE } = deploymentOf('testnet')

const renderFor = (mode: Mode, a2aEnabled = true) => renderDocuments(deploymentOf(mode, { a2aEnabled }))

/** The guides of the transports that are not REST. */
const GUIDES = new Map([
  ['/a2a', '/docs/a2a.md'],
  ['/mcp', '/docs/mcp.md'],
])

const readText = (pages: ReadonlyMap<string, WrittenDocument>, path: string) => pages.get(path)?.text ?? ''

/** The grammar of `llms_txt/miniparse.py`, the parser of the specification: every line below a heading is a link. */
function parseLlmsTxt(text: string) {
  const [start = '', ...rest] = text.split(/^##\s*(.*?)$/m)
  const { title, summary } = /^#\s*(?<title>.+?)$\n+(?:^>\s*(?<summary>.+?)$)?\n+/m.exec(start.trim())?.groups ?? {}
  const sections = new Map<string, string[]>()
  for (let at = 0; at < rest.length; at += 2) {
    const lines = (rest[at + 1] ?? '').trim().split(/\n+/)
    const urls = lines.map((line) => /-\s*\[[^\]]+\]\(([^)]+)\)(?::\s*.*)?/.exec(line)?.[1] ?? `no link: ${line}`)
    sections.set(rest[at] ?? '', urls)
  }
  return { title, summary, sections }
}

for (const mode of ['testnet', 'mainnet'] as const) {
  describe(`the documents on ${mode}`, () => {
    const pages = renderFor(mode)

    for (const path of ['/docs/api.md', '/docs/a2a.md', '/docs/mcp.md']) {
      it(`${path} has exactly the errors of the table of refusals`, () => {
        const rows = [...readText(pages, path).matchAll(/^\| (\d{3}) \| ([\w, ]+) \| (\w+) \| (\w+|\w+ or \w+) \|$/gm)]
        const named = rows.flatMap(([, status, codes = '', charged, next]) =>
          codes.split(', ').map((code) => `${code} ${status} ${charged} ${next}`),
        )
        const codes = Object.entries(REFUSALS).map(
          ([code, { status, charged, next }]) => `${code} ${status} ${charged} ${next}`,
        )
        const ofCases = Object.entries({
          invalid_company_number: 'search',
          company_not_found: 'history',
          payment_rejected: 'add_funds',
        })
        const all = codes.map((line) =>
          [line, ...ofCases.flatMap(([code, next]) => (line.startsWith(`${code} `) ? next : []))].join(' or '),
        )
        expect(named).to.have.members(all)
      })
    }

    it('have network, asset, receiver, domain and prices of this deployment only', () => {
      const own = DEPLOYMENTS[mode]
      const other = DEPLOYMENTS[mode === 'testnet' ? 'mainnet' : 'testnet']
      for (const path of ['/docs/api.md', '/llms.txt', '/openapi.json'])
        expect(readText(pages, path), path).to.contain(own.asset).and.contain(PAY_TO)
      for (const [path, { text }] of pages) {
        expect(text, path).not.to.contain(other.asset)
        expect(text, path).not.to.match(new RegExp(`${other.network}\\b`))
        if (path !== '/testnet-client.py') expect(text, path).not.to.match(/\{\{|undefined|\[object/)
      }
      expect(readText(pages, '/docs/api.md')).to.contain(
        `domain \`${own.domain.name}\` version \`${own.domain.version}\``,
      )
      for (const { name, prices } of SINGLE_OPERATIONS) {
        const price = String(toUsdc(prices[mode]))
        expect(readText(pages, '/docs/api.md')).to.match(
          new RegExp(`\\| ${name} \\| .* \\| ${prices[mode]} \\| ${price} \\|`),
        )
        expect(readText(pages, '/docs/a2a.md')).to.match(new RegExp(`\\| ${name} \\| .* \\| ${price} \\|`))
        expect(readText(pages, '/llms.txt')).to.contain(`: ${price} USD`).and.contain(`${name} (${price} USD)`)
      }
    })

    it('[4.4.13] have the licence of the dataset', () => {
      expect(readText(pages, '/docs/api.md')).to.contain(`is\n${LICENCE.name}, ${LICENCE.url};`)
      expect(readText(pages, 'page')).to.match(new RegExp(`the\\s+licence\\s+${LICENCE.name}`))
      const { info } = JSON.parse(readText(pages, '/openapi.json')) as { info: { license: object } }
      expect(info.license).to.deep.equal({ name: `Data: ${LICENCE.name}`, url: LICENCE.url })
      const own = ({ text }: WrittenDocument) => text.replace(/Creative Commons Zero[^"&]*/g, '')
      for (const [path, page] of pages) expect(own(page), path).not.to.match(/Creative Commons|CC BY/)
    })

    it('have exactly the routes of the deployment', () => {
      const own = new Set(describeRoutes(deploymentOf(mode)).map(({ path }) => path))
      for (const { path, method } of describeRoutes(deploymentOf('testnet'))) {
        const guide = GUIDES.get(path)
        const text = readText(pages, guide ?? '/docs/api.md')
        const name = guide === undefined ? `${method.toUpperCase()} ${path}` : `${BASE_URL}${path}`
        expect(text.includes(name), path).to.equal(own.has(path))
      }
    })

    it('start llms.txt with a heading, a summary and the instructions that OpenAPI repeats', () => {
      const llms = readText(pages, '/llms.txt')
      expect(llms).to.match(
        /^# .+\n\n> .+\n\n\*\*Instructions for agents\*\*\n\n1\. Never sign again after 500, 502, 503, 504 or no answer/,
      )
      const { info } = JSON.parse(readText(pages, '/openapi.json')) as { info: Record<string, string> }
      expect(info['x-guidance']?.length).to.be.within(1_000, 4_000)
      expect(llms).to.contain(info['x-guidance'])
      expect(info).to.include({ version: '7.8.9' })
    })

    it('have an llms.txt that the parser of its specification reads', () => {
      const { title, summary, sections } = parseLlmsTxt(readText(pages, '/llms.txt'))
      expect(title).to.equal('Irish company records')
      expect(summary).to.match(/^Irish company records from the open dataset .+/)
      expect([...sections.keys()]).to.deep.equal(['Documents', 'Optional'])
      expect(sections.get('Optional')).to.include.members([`${BASE_URL}/docs`, `${BASE_URL}/.well-known/x402`])
      for (const url of [...sections.values()].flat()) expect(url).to.match(/^https:/)
      expect(sections.get('Documents')).to.include(`${BASE_URL}/openapi.json`)
    })

    it('list the paid routes for catalogues, and keep crawlers from each of them', () => {
      const { version, resources } = JSON.parse(readText(pages, '/.well-known/x402')) as Record<string, string[]>
      const described = JSON.parse(readText(pages, '/openapi.json')) as { paths: Record<string, object> }
      const paid = Object.entries(described.paths).flatMap(([path, methods]) =>
        Object.entries(methods).flatMap(([method, { 'x-payment-info': price }]: [string, Record<string, unknown>]) =>
          price === undefined ? [] : [`${method.toUpperCase()} ${path}`],
        ),
      )
      expect(version).to.equal(1)
      expect(resources).to.have.lengthOf(7).and.to.have.members(paid)
      // Some parsers take the longest rule that fits, and others the first.
      const rules = [...readText(pages, '/robots.txt').matchAll(/^(Allow|Disallow): (.+)$/gm)]
      expect(new Set(rules.map(String))).to.have.property('size', rules.length)
      for (const resource of resources ?? []) {
        const [, verb] = rules.find(([, , path = '']) => resource.split(' ')[1]?.startsWith(path)) ?? []
        expect(verb, resource).to.equal('Disallow')
      }
    })
  })
}

describe('the A2A guide', () => {
  it('has exactly the protocol errors and the limits of the A2A route', () => {
    const pages = renderFor('testnet')
    const text = readText(pages, '/docs/a2a.md')
    const errors = [...Object.values(RPC_ERRORS), extensionRequired('')]
    const codes = [...new Set(errors.map(({ code }) => String(code)))]
    expect(text.match(/(?<=^\| )-32\d{3}/gm)).to.have.members(codes)
    for (const limit of [`${CALL_BODY_BYTES_MAX / 1024} KiB`, `At most ${CALLS_MAX} structured calls settle at once`])
      expect(text).to.contain(limit)
    const resolution = `\`Content-Type: application/json\`, at most ${resolveOperation.bodyBytesMax! / 1024} KiB,`
    expect(readText(pages, '/docs/api.md')).to.contain(resolution)
    expect(text).not.to.contain('has no A2A interface')
  })

  it('states that A2A is disabled, and OpenAPI then omits the route', () => {
    const pages = renderFor('testnet', false)
    expect(readText(pages, '/docs/a2a.md')).to.contain('has no A2A interface')
    const { paths } = JSON.parse(readText(pages, '/openapi.json')) as { paths: object }
    expect(paths).not.to.have.property('/a2a')
  })
})
