/**
 * The ways to reach the service, other than the REST routes. Agent card, registration file and server.json all name
 * them from here.
 */
import { A2A_PATH, FREE_PATHS, MCP_PATH } from './paths.ts'

export const A2A_VERSION = '1.0'

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

export function listEntries(baseUrl: string) {
  return {
    guide: { url: `${baseUrl}${FREE_PATHS.guide}` },
    a2a: { url: `${baseUrl}${A2A_PATH}`, card: `${baseUrl}${FREE_PATHS.agentCard}`, version: A2A_VERSION },
    mcp: { url: `${baseUrl}${MCP_PATH}`, version: MCP_VERSIONS[0] },
    openApi: { url: `${baseUrl}${FREE_PATHS.openApi}` },
  }
}
