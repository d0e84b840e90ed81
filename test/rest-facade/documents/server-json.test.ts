/** `/server.json` has the format that the registry of MCP servers accepts. */
import { expect } from 'chai'
import { z } from 'zod'
import { buildServerJson } from '../../../rest-facade/documents/server-json.ts'

/**
 * The constraints on a remote server of https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json.
 * Unlike that schema, this one refuses unknown members. Members of local packages are absent.
 */
const formatSchema = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.string().max(255),
  websiteUrl: z.url(),
  remotes: z.array(z.strictObject({ type: z.literal('streamable-http'), url: z.url().regex(/^https?:\/\/[^\s]+$/) })),
})

/** What the registry requires beyond the format: a namespace that begins and ends with a letter or digit, and https. */
const registrySchema = formatSchema.extend({
  name: formatSchema.shape.name.regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]\//),
  version: z.string().regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/),
  websiteUrl: z.url({ protocol: /^https$/ }),
  remotes: z
    .array(z.strictObject({ type: z.literal('streamable-http'), url: z.url({ protocol: /^https$/ }) }))
    .length(1),
})

const build = (baseUrl: string) => buildServerJson({ baseUrl, version: '1.2.3' })
const LOCAL = 'localhost/irish-company-agent'

/** A domain with this number of characters. */
const domainOf = (characters: number) =>
  `${'a.'.repeat(Math.floor((characters - 2) / 2))}${characters % 2 ? 'abc' : 'ab'}`
const NAMESPACE_CHARACTERS_MAX = 200 - '/irish-company-agent'.length

describe('/server.json', () => {
  it('[4.6.9] is what the registry accepts', () => {
    const document = build('https://companies.example.com')
    expect(registrySchema.parse(document)).to.deep.equal(document)
    expect(document).to.include({ version: '1.2.3', websiteUrl: 'https://companies.example.com/docs' })
    expect(document.remotes).to.deep.equal([{ type: 'streamable-http', url: 'https://companies.example.com/mcp' }])
  })

  for (const [baseUrl, name] of [
    ['https://companies.example.com', 'com.example.companies/irish-company-agent'],
    ['https://Companies.Example.com:8443', 'com.example.companies/irish-company-agent'],
    ['https://companies.example.com.', 'com.example.companies/irish-company-agent'],
    ['https://caf\u00e9.example', 'example.xn--caf-dma/irish-company-agent'],
    ['http://localhost:4021', LOCAL],
    ['http://127.0.0.1:4021', LOCAL],
    ['http://203.0.113.7', LOCAL],
    ['http://[::1]:4021', LOCAL],
    ['https://a_b.example.com', LOCAL],
    ['https://-a.example.com', LOCAL],
    [`https://${domainOf(NAMESPACE_CHARACTERS_MAX + 1)}`, LOCAL],
  ] as const) {
    it(`[4.6.9] has the name ${name} for ${baseUrl.slice(0, 40)}`, () => {
      const document = build(baseUrl)
      expect(document.name).to.equal(name)
      expect(formatSchema.parse(document)).to.deep.equal(document)
    })
  }

  for (const characters of [NAMESPACE_CHARACTERS_MAX - 1, NAMESPACE_CHARACTERS_MAX]) {
    it(`[4.6.9] has the reversed domain as namespace for a domain of ${characters} characters`, () => {
      const domain = domainOf(characters)
      expect(domain).to.have.lengthOf(characters)
      const { name } = registrySchema.parse(build(`https://${domain}`))
      expect(name).to.equal(`${domain.split('.').toReversed().join('.')}/irish-company-agent`)
    })
  }
})
