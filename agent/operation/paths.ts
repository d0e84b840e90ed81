/** The paths of all routes. `ROUTES` in resource.ts adds the methods of the paid ones. */

const API_PREFIX = '/api/v1'

/** The path of a lookup is followed by `/` and the company number. */
export const PAID_PATHS = {
  lookup: `${API_PREFIX}/company`,
  search: `${API_PREFIX}/search`,
  resolve: `${API_PREFIX}/resolve`,
} as const

export const A2A_PATH = '/a2a'

export const MCP_PATH = '/mcp'

export const FREE_PATHS = {
  metadata: `${API_PREFIX}/meta`,
  attribution: '/attribution',
  guide: '/docs',
  apiGuide: '/docs/api.md',
  a2aGuide: '/docs/a2a.md',
  mcpGuide: '/docs/mcp.md',
  llmsTxt: '/llms.txt',
  openApi: '/openapi.json',
  /** Absent if MCP is disabled. */
  serverJson: '/server.json',
  robotsTxt: '/robots.txt',
  /** Absent without a contact. */
  securityTxt: '/.well-known/security.txt',
  jwks: '/.well-known/jwks.json',
  agentCard: '/.well-known/agent-card.json',
} as const

/** Free routes of testnet deployments. */
export const TESTNET_PATHS = {
  registrationFile: '/.well-known/agent-registration.json',
  registryIdentity: '/agent.json',
  reputation: `${API_PREFIX}/reputation`,
  testnetClient: '/testnet-client.py',
} as const
