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

const build = (baseUrl: string) => buildServerJson({ baseUrl, version: '1.2.3' })
const LOCAL = 'localhost/irish-company-agent'

describe('/server.json', () => {
  for (const [baseUrl, name] of [
    ['https://companies.example.com', 'com.example.companies/irish-company-agent'],
    ['https://Companies.Example.com:8443', 'com.example.companies/irish-company-agent'],
    ['https://companies.example.com.', 'com.example.companies/irish-company-agent'],
    ['https://caf\u00e9.example', 'example.xn--caf-dma/irish-company-agent'],
    ['http://localhost:4021', LOCAL],
    ['http://203.0.113.7', LOCAL],
    ['http://[::1]:4021', LOCAL],
    ['https://a_b.example.com', LOCAL],
    ['https://-a.example.com', LOCAL],
    [`https://${'a.'.repeat(100)}ie`, LOCAL],
  ] as const) {
    it(`[4.6.9] has the name ${name} for ${baseUrl.slice(0, 40)}`, () => {
      const document = build(baseUrl)
      expect(document.name).to.equal(name)
      expect(formatSchema.parse(document)).to.deep.equal(document)
    })
  }
})
