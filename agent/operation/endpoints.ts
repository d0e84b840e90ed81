/** The name of the service, the paths of A2A, MCP and the free documents, and the versions of the protocols. */

/** In card, MCP, OpenAPI, registration and quote. There x402 allows 32 ASCII characters. */
export const SERVICE_NAME = 'Irish company records'

export const API_PREFIX = '/api/v1'

export const A2A_PATH = '/a2a'

export const MCP_PATH = '/mcp'

/** Only in a sandbox: signs for its page. */
export const SANDBOX_SIGNATURE_PATH = '/sandbox/signature'

/** Only with `OPERATOR_URL`. */
export const SECURITY_TXT_PATH = '/.well-known/security.txt'

export const FREE_PATHS = {
  metadata: `${API_PREFIX}/meta`,
  attribution: '/attribution',
  index: '/',
  page: '/docs',
  apiGuide: '/docs/api.md',
  a2aGuide: '/docs/a2a.md',
  mcpGuide: '/docs/mcp.md',
  llmsTxt: '/llms.txt',
  openApi: '/openapi.json',
  robotsTxt: '/robots.txt',
  jwks: '/.well-known/jwks.json',
  agentCard: '/.well-known/agent-card.json',
  x402: '/.well-known/x402',
  apiCatalog: '/.well-known/api-catalog',
} as const

export const TESTNET_PATHS = {
  registrationFile: '/.well-known/agent-registration.json',
  registryIdentity: '/agent.json',
  reputation: `${API_PREFIX}/reputation`,
  testnetClient: '/testnet-client.py',
} as const

export const A2A_VERSION = '1.0'

export const OPENAPI_VERSION = '3.1.0'

/** The versions of MCP that the SDK speaks, newest first. */
export const MCP_VERSIONS = [
  '2026-07-28',
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
] as const

/** A patch number does not count (A2A 1.0 section 3.6). */
export function isA2aVersion(version: string | undefined): boolean {
  return version?.replace(/^([0-9]+\.[0-9]+)\.[0-9]+$/, '$1') === A2A_VERSION
}

/** The URI of the payment extension of A2A. It links to a section of the page. */
export function paymentExtensionUri(baseUrl: string): string {
  return `${baseUrl}${FREE_PATHS.page}#http-x402-v1`
}
