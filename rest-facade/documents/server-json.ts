/** Describes the MCP server in the format of the registry at https://registry.modelcontextprotocol.io. */
import { FREE_PATHS, MCP_PATH } from '../../agent/operation/endpoints.ts'
import type { DocumentedDeployment } from './examples.ts'
import { SERVICE_NAME } from './metadata.ts'

/** The newest released version of the format. */
const SERVER_JSON_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

/** The limit of the format. */
const NAME_CHARACTERS_MAX = 200

const DOMAIN_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/

export function buildServerJson({ baseUrl, version }: Pick<DocumentedDeployment, 'baseUrl' | 'version'>) {
  return {
    $schema: SERVER_JSON_SCHEMA,
    name: serverName(new URL(baseUrl).hostname),
    title: 'Irish company records',
    description: 'Irish company records: lookup, search and name resolution, paid per answer in USDC with x402.',
    version,
    websiteUrl: `${baseUrl}${FREE_PATHS.page}`,
    remotes: [{ type: 'streamable-http', url: `${baseUrl}${MCP_PATH}` }],
  }
}

/** The reversed domain and the name of the service. Without a domain, the namespace is `localhost`. */
function serverName(host: string): string {
  const labels = host.replace(/\.$/, '').split('.')
  const name = `${labels.toReversed().join('.')}/${SERVICE_NAME}`
  // The last label of an IPv4 address is a number, and that of a domain is not.
  const isDomain = labels.every((label) => DOMAIN_LABEL.test(label)) && !/^[0-9]+$/.test(labels.at(-1) ?? '')
  return isDomain && name.length <= NAME_CHARACTERS_MAX ? name : `localhost/${SERVICE_NAME}`
}
