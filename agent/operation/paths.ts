/** The paths of all routes but the paid ones, which the operations define. */

export const API_PREFIX = '/api/v1'

export const A2A_PATH = '/a2a'

export const MCP_PATH = '/mcp'

export const FREE_PATHS = {
  metadata: `${API_PREFIX}/meta`,
  attribution: '/attribution',
  index: '/',
  guide: '/docs',
  apiGuide: '/docs/api.md',
  a2aGuide: '/docs/a2a.md',
  mcpGuide: '/docs/mcp.md',
  llmsTxt: '/llms.txt',
  openApi: '/openapi.json',
  serverJson: '/server.json',
  robotsTxt: '/robots.txt',
  jwks: '/.well-known/jwks.json',
  agentCard: '/.well-known/agent-card.json',
  x402: '/.well-known/x402',
} as const

/** Free routes of testnet deployments. */
export const TESTNET_PATHS = {
  registrationFile: '/.well-known/agent-registration.json',
  registryIdentity: '/agent.json',
  reputation: `${API_PREFIX}/reputation`,
  testnetClient: '/testnet-client.py',
} as const
