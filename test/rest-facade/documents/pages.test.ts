/** The written documents against the code: codes, routes, prices and examples are the ones that run; sizes stay readable. */
import { expect } from 'chai'
import { RPC_ERRORS } from '../../../agent/a2a/errors.ts'
import { paymentExtensionUri } from '../../../agent/a2a/card.ts'
import { REFUSALS, WIRE_REFUSALS } from '../../../agent/operation/refusal.ts'
import { companyResponseSchema, resolveResponseSchema, searchResponseSchema } from '../../../agent/operation/result.ts'
import { OPERATION_NAMES } from '../../../agent/operation/schema.ts'
import { DEPLOYMENTS, termsOf, type Mode } from '../../../agent/payments/terms.ts'
import { RESOLVE_BODY_BYTES_MAX } from '../../../rest-facade/paid.ts'
import { BODY_BYTES_MAX, CALLS_MAX } from '../../../agent/a2a/route.ts'
import { inDollars } from '../../../rest-facade/documents/deployment.ts'
import { pagesOf, type Page } from '../../../rest-facade/documents/pages.ts'
import { routesOf } from '../../../rest-facade/documents/routes.ts'

const PAY_TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const BASE_URL = 'https://a-rather-long-name-for-a-service.example.test'
/** What agents' readers take in whole. */
const MARKDOWN_BYTES_MAX = 20_000

function pagesFor(mode: Mode, a2aEnabled = true, contactEmail?: string) {
  return pagesOf({
    baseUrl: BASE_URL,
    version: '7.8.9',
    terms: termsOf(mode, PAY_TO),
    onSale: OPERATION_NAMES,
    rateLimitPerMinute: 77,
    a2aEnabled,
    retentionDays: 45,
    extensionUri: paymentExtensionUri(BASE_URL),
    contactEmail,
  })
}

const textOf = (pages: ReadonlyMap<string, Page>, path: string) => pages.get(path)?.text ?? ''

/** The blocks of JSON in a document, parsed. */
function jsonBlocks(markdown: string): Record<string, unknown>[] {
  return [...markdown.matchAll(/```json\n([^]*?)```/g)].flatMap(([, block = '']) => {
    const whole = block.trim()
    return whole.includes('}\n{') ? whole.split('\n').map((line) => JSON.parse(line)) : [JSON.parse(whole)]
  })
}

for (const mode of ['testnet', 'mainnet'] as const) {
  describe(`the written documents on ${mode}`, () => {
    let pages: ReadonlyMap<string, Page>
    before(async () => {
      pages = await pagesFor(mode)
    })

    for (const path of ['/docs/api.md', '/docs/a2a.md']) {
      it(`${path} has every error as the table has it`, () => {
        for (const [code, { status, charged, advice }] of Object.entries(REFUSALS)) {
          expect(textOf(pages, path)).to.contain(`| ${status} | ${code} | ${charged} | ${advice} |`)
        }
        const named = textOf(pages, path).match(/(?<=^\| \d{3} \| )\w+/gm) ?? []
        expect(named).to.have.members(Object.keys(REFUSALS))
      })

      it(`${path} is short enough to be read whole`, () => {
        expect(Buffer.byteLength(textOf(pages, path))).to.be.within(4_000, MARKDOWN_BYTES_MAX)
      })
    }

    it('/docs/api.md names what is refused before there is a route', () => {
      for (const code of WIRE_REFUSALS.keys()) expect(textOf(pages, '/docs/api.md')).to.contain(`\`${code}\``)
    })

    it('name network, asset, receiver, domain and prices of the deployment, and of no other', () => {
      const own = DEPLOYMENTS[mode]
      const other = DEPLOYMENTS[mode === 'testnet' ? 'mainnet' : 'testnet']
      for (const path of ['/docs/api.md', '/llms.txt', '/openapi.json'])
        expect(textOf(pages, path), path).to.contain(own.asset).and.contain(PAY_TO)
      for (const [path, { text }] of pages) {
        expect(text, path).not.to.contain(other.asset)
        expect(text, path).not.to.match(new RegExp(`${other.network}\\b`))
        expect(text, path).not.to.match(/\{\{|undefined|\[object/)
      }
      expect(textOf(pages, '/docs/api.md')).to.contain(`name \`${own.domain.name}\`, version \`${own.domain.version}\``)
      for (const name of OPERATION_NAMES) {
        const price = inDollars(own.prices[name])
        expect(textOf(pages, '/docs/api.md')).to.match(
          new RegExp(`\\| ${name} \\| .* \\| ${own.prices[name]} \\| ${price} \\|`),
        )
        expect(textOf(pages, '/docs/a2a.md')).to.match(new RegExp(`\\| ${name} \\| .* \\| ${price} \\|`))
        expect(textOf(pages, '/llms.txt')).to.contain(`: ${price} USD`).and.contain(`${name} (${price} USD)`)
      }
    })

    it('say the limits of the deployment', () => {
      expect(textOf(pages, '/docs/api.md')).to.contain('77 company requests a minute').and.contain('kept 45 days')
      expect(textOf(pages, '/llms.txt')).to.contain('share 77 requests a minute')
    })

    it('name every route of the deployment', () => {
      for (const { path, method, testnetOnly } of routesOf({ isTestnet: true, a2aEnabled: true })) {
        const here = mode === 'testnet' || !testnetOnly
        const text = path === '/a2a' ? textOf(pages, '/docs/a2a.md') : textOf(pages, '/docs/api.md')
        const name = path === '/a2a' ? `${BASE_URL}/a2a` : `${method.toUpperCase()} ${path}`
        expect(text.includes(name), path).to.equal(here)
      }
    })

    it('speak of the synthetic company and the test client on testnet only', () => {
      const all = [...pages.values()].map(({ text }) => text).join('\n')
      expect(all.includes('is always there')).to.equal(mode === 'testnet')
      expect(all.includes('testnet-client.py')).to.equal(mode === 'testnet')
    })

    it('show answers that the schemas of the answers accept', () => {
      const blocks = jsonBlocks(textOf(pages, '/docs/api.md'))
      expect(blocks).to.have.lengthOf(4)
      const [quote, lookup, search, resolve] = blocks
      expect(quote).to.include({ x402Version: 2 })
      companyResponseSchema.parse(lookup)
      searchResponseSchema.parse(search)
      resolveResponseSchema.parse(resolve)
    })

    it('begin llms.txt with a heading, a quotation and the instructions that the description repeats', () => {
      const llms = textOf(pages, '/llms.txt')
      expect(llms).to.match(/^# .+\n\n> .+\n\n## Instructions for agents\n\n1\. Never sign again after 500, 502, 503/)
      const { info } = JSON.parse(textOf(pages, '/openapi.json')) as { info: Record<string, string> }
      expect(info['x-guidance']?.length).to.be.within(1_000, 4_000)
      expect(llms).to.contain(info['x-guidance'])
      expect(info).to.include({ version: '7.8.9' })
    })

    it('end llms.txt with the e-mail address for questions, where there is one', async () => {
      const email = 'help@companies.example'
      const llms = textOf(await pagesFor(mode, true, email), '/llms.txt').trim()
      expect(llms.split('\n').at(-1)).to.equal(`- [Contact](mailto:${email}): ${email}`)
      expect(textOf(pages, '/llms.txt')).not.to.match(/contact|mailto/i)
    })

    it('link to nothing but this service and its documents', () => {
      for (const path of ['/docs/api.md', '/docs/a2a.md', '/llms.txt']) {
        const links = [...textOf(pages, path).matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => String(link))
        expect(links.length, path).to.be.at.least(3)
        const routes = routesOf({ isTestnet: mode === 'testnet', a2aEnabled: true })
        const known = new Set(routes.map((route) => BASE_URL + route.path))
        expect(
          links.filter((link) => !known.has(link)),
          path,
        ).to.deep.equal([])
      }
    })
  })
}

describe('the A2A guide', () => {
  it('has every protocol error of the door, and no other', async () => {
    const text = textOf(await pagesFor('testnet'), '/docs/a2a.md')
    const codes = [...new Set(Object.values(RPC_ERRORS).map(({ code }) => String(code)))]
    expect(text.match(/(?<=^\| )-32\d{3}/gm)).to.have.members(codes)
  })

  it('says the limits of the door', async () => {
    const text = textOf(await pagesFor('testnet'), '/docs/a2a.md')
    expect(text)
      .to.contain(`${BODY_BYTES_MAX / 1024} KiB`)
      .and.contain(`At most ${CALLS_MAX} calls`)
    const api = textOf(await pagesFor('testnet'), '/docs/api.md')
    expect(api).to.match(new RegExp(`body of a resolution +\\| ${RESOLVE_BODY_BYTES_MAX / 1024} KiB`))
  })

  it('says when there is no such door, which the description then leaves out', async () => {
    const pages = await pagesFor('testnet', false)
    expect(textOf(pages, '/docs/a2a.md')).to.contain('has no A2A interface')
    const { paths } = JSON.parse(textOf(pages, '/openapi.json')) as { paths: object }
    expect(paths).not.to.have.property('/a2a')
    expect(textOf(await pagesFor('testnet'), '/docs/a2a.md')).not.to.contain('has no A2A interface')
  })
})
