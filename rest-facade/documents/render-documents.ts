/**
 * Renders the guides and descriptions (contract 4.4.3) from the templates in docs/served and the values of the code.
 * They name the licence of the current dataset and, on mainnet, one of its companies as an example.
 */
import { MCP_ERRORS } from '../../agent/transport/mcp/protocol-error.ts'
import { NEXT, NEXT_OF_CASE, REFUSALS, type Next, UNCLEAR_STATUSES } from '../../agent/operation/refusal.ts'
import {
  A2A_PATH,
  FREE_PATHS,
  MCP_PATH,
  paymentExtensionUri,
  SERVICE_NAME,
  TESTNET_PATHS,
} from '../../agent/operation/endpoints.ts'
import {
  endpoint,
  exampleParts,
  firstExample,
  requiredMembers,
  toNamed,
  type ExampleCompany,
  type OperationDefinition,
} from '../../agent/operation/operation.ts'
import { MADE_UP_EXAMPLE } from '../../agent/operation/examples.ts'
import { resourceUrl } from '../../agent/operation/resource.ts'
import type { Catalog } from '../../store/dataset/catalog.ts'
import { CRO_COMPANIES } from '../../store/dataset/source.ts'
import { QUOTE_LIFETIME_SECONDS, toUsdc } from '../../agent/payment/terms.ts'
import { exampleQuote, exampleRpcAnswer, exampleRpcRequest, type DocumentedDeployment } from './examples.ts'
import { buildOpenApi } from './openapi.ts'
import { describeRoutes, isDocument } from '../routes.ts'
import { renderPage } from './page.ts'
import { renderGuide } from './readable-guide.ts'
import { fill, readTemplate, type WrittenDocument } from './templates.ts'
import { apiCatalog } from './well-known.ts'

export type Documents = ReadonlyMap<string, WrittenDocument>

/** The page at `/`, which no other path has. */
export const PAGE = 'page'

interface DocumentOptions extends Omit<
  DocumentedDeployment,
  'exampleCompany' | 'exampleCompanies' | 'statuses' | 'licence' | 'isMadeUp'
> {
  shown: () => Pick<DocumentedDeployment, 'exampleCompanies' | 'statuses'> & {
    exampleCompany: ExampleCompany | undefined
  }
  catalog: Pick<Catalog, 'current' | 'retrieval'>
}

/** The documents by path. They are rendered again only when a value that they show has changed. */
export function openDocuments({ shown, catalog, ...deployment }: DocumentOptions): () => Documents {
  let last: { key: string; documents: Documents } | undefined
  return () => {
    // `retrieval` reads the disk each time, and also works while the snapshot cannot be read.
    const source = (catalog.current() ?? catalog.retrieval())?.source ?? CRO_COMPANIES
    const { license, license_url, synthetic: isMadeUp } = source
    const { exampleCompany = MADE_UP_EXAMPLE, ...others } = shown()
    const current = { ...others, exampleCompany, licence: { name: license, url: license_url }, isMadeUp }
    const key = JSON.stringify(current)
    if (last?.key !== key) last = { key, documents: renderDocuments({ ...deployment, ...current }) }
    return last.documents
  }
}

/** The documents by path. Throws if a template names an unknown value. */
export function renderDocuments(deployment: DocumentedDeployment): Documents {
  const values = templateValues(deployment)
  const guidance = fill(readTemplate('guidance.txt'), values).trim()
  const withGuidance = new Map([...values, ['guidance', guidance]])
  const render = (name: string, type: WrittenDocument['type']): WrittenDocument => ({
    type,
    text: fill(readTemplate(name), withGuidance),
  })
  const apiGuide = render('api.md', 'text/markdown')
  const readableGuide = renderGuide(deployment, apiGuide.text)
  const others = [
    [FREE_PATHS.a2aGuide, render('a2a.md', 'text/plain')],
    [FREE_PATHS.mcpGuide, render('mcp.md', 'text/plain')],
  ] as const
  return new Map([
    [FREE_PATHS.index, jsonDocument(listLinks(deployment))],
    [PAGE, renderPage(deployment, values)],
    [FREE_PATHS.apiGuide, apiGuide],
    [readablePath(FREE_PATHS.apiGuide), readableGuide],
    // The URI of the payment extension has this path.
    [FREE_PATHS.page, readableGuide],
    ...others,
    ...others.map(([path, { text }]) => [readablePath(path), renderGuide(deployment, text)] as const),
    [FREE_PATHS.llmsTxt, render('llms.txt', 'text/plain')],
    [FREE_PATHS.robotsTxt, render('robots.txt', 'text/plain')],
    [FREE_PATHS.openApi, jsonDocument(buildOpenApi(deployment, guidance))],
    [FREE_PATHS.x402, jsonDocument(x402Manifest(deployment))],
    [FREE_PATHS.apiCatalog, apiCatalog(deployment)],
    ...(deployment.terms.mode === 'testnet' ? [[TESTNET_PATHS.testnetClient, testnetClient(deployment)] as const] : []),
  ])
}

/** The path of a guide as HTML. */
const readablePath = (path: string) => path.replace('.md', '')

export function jsonDocument(body: object): WrittenDocument {
  return { type: 'application/json', text: JSON.stringify(body) }
}

/** What programs get from `/`. */
function listLinks({ baseUrl, version, a2aEnabled }: DocumentedDeployment) {
  const { page, apiGuide, llmsTxt, openApi, metadata, x402, agentCard, jwks } = FREE_PATHS
  const paths = {
    guide: page,
    api_guide: apiGuide,
    llms_txt: llmsTxt,
    openapi: openApi,
    metadata,
    x402,
    keys: jwks,
    mcp: MCP_PATH,
    ...(a2aEnabled && { a2a: A2A_PATH, agent_card: agentCard }),
  }
  const links = Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, baseUrl + path]))
  return { name: SERVICE_NAME, version, links }
}

function x402Manifest({ baseUrl, terms }: DocumentedDeployment) {
  const instructions = `Inputs, answers and prices are in ${baseUrl}${FREE_PATHS.openApi}.`
  return { version: 1, resources: terms.operations.map(endpoint), instructions }
}

/** The only line that differs between deployments. */
const BASE_URL_LINE = /^BASE_URL = ".*"(?=  # filled in by the service that serves this file$)/m

function testnetClient({ baseUrl }: DocumentedDeployment): WrittenDocument {
  // A JSON string literal is also a Python string literal.
  const line = `BASE_URL = ${JSON.stringify(baseUrl)}`
  return { type: 'text/x-python', text: readTemplate('testnet-client.py').replace(BASE_URL_LINE, () => line) }
}

function templateValues(deployment: DocumentedDeployment): ReadonlyMap<string, string> {
  const { baseUrl, version, terms, rateLimitPerMinute, addressBudget, a2aEnabled, retentionDays } = deployment
  const { exampleCompany, licence } = deployment
  const first = firstExample(terms.operations, exampleCompany)
  const isTestnet = terms.mode === 'testnet'
  const paidPaths = [...terms.operations.map(({ path }) => path), A2A_PATH, MCP_PATH]
  const priceRows = terms.operations.map((each) => {
    return [each.name, endpoint(each), listedPrice(deployment, each), usd(deployment, each)]
  })
  const a2aRows = terms.operations.map((each) => [each.name, listFields(each), usd(deployment, each)])
  const freeRoutes = describeRoutes(deployment).filter(isDocument)
  return new Map([
    ...terms.operations.flatMap((each) => operationValues(each, deployment)),
    ['base_url', baseUrl],
    ['version', version],
    ['mode', terms.mode],
    ['network', terms.network],
    ['asset', terms.asset],
    ['pay_to', terms.payTo],
    ['domain_name', terms.domain.name],
    ['domain_version', terms.domain.version],
    ['quote_seconds', String(QUOTE_LIFETIME_SECONDS)],
    ['rate_limit', String(rateLimitPerMinute)],
    ['address_budget', String(addressBudget)],
    ['retention_days', String(retentionDays)],
    ['unclear_statuses', UNCLEAR_STATUSES.join(', ')],
    ['extension_uri', paymentExtensionUri(baseUrl)],
    ['operations', terms.operations.map((each) => describeOperation(each, deployment)).join('\n')],
    // robots.txt matches prefixes, so each path ends before its first parameter.
    ['paid_paths', [...new Set(paidPaths.map((path) => `Disallow: ${path.replace(/\{.*/, '')}`))].join('\n')],
    ['first_url', resourceUrl(baseUrl, first)],
    ['statuses', deployment.statuses === '' ? 'no dataset is loaded' : deployment.statuses],
    ['licence', licence.name],
    ['licence_url', licence.url],
    // Without the extensions, which are long.
    ['quote', toText({ ...exampleQuote(deployment, 'Payment is required'), extensions: {} })],
    ['rpc_request', toText(exampleRpcRequest(deployment))],
    ['rpc_answer', toText(exampleRpcAnswer(deployment))],
    ['first_part', JSON.stringify(toNamed(first))],
    ['example_parts', terms.operations.flatMap((each) => exampleParts(each, exampleCompany)).join('\n')],
    ['a2a_note', a2aEnabled ? '' : '**This deployment has no A2A interface.**'],
    ['synthetic_note', isTestnet ? SYNTHETIC_NOTE : ''],
    ['testnet_links', testnetLinks(deployment).join('\n')],
    ['error_table', markdownTable(['status', 'code', 'charged', 'next'], groupErrors())],
    ['next_list', NEXT_LINES.join('\n')],
    ['mcp_error_table', markdownTable(['status', 'code', 'message'], MCP_ERROR_ROWS)],
    ['free_list', freeRoutes.map(({ path }) => `\`GET ${path}\``).join(', ')],
    ['price_table', markdownTable(['operation', 'route', 'micro-USDC', 'USD'], priceRows)],
    ['a2a_table', markdownTable(['operation', 'input', 'USD'], a2aRows)],
  ])
}

/** In micro-USDC, or in words. */
function listedPrice({ terms }: DocumentedDeployment, definition: OperationDefinition): number | string {
  return definition.kind === 'single' ? definition.prices[terms.mode] : 'the sum of its items'
}

function usd(deployment: DocumentedDeployment, definition: OperationDefinition): string {
  const price = listedPrice(deployment, definition)
  return typeof price === 'number' ? String(toUsdc(price)) : price
}

/** The route, the price, and the first example as a command, if there is one. */
function describeOperation(definition: OperationDefinition, deployment: DocumentedDeployment): string {
  const { baseUrl, exampleCompany } = deployment
  const unit = definition.kind === 'single' ? ' USD' : ''
  const priced = `- ${endpoint(definition)}: ${usd(deployment, definition)}${unit}`
  const [input] = definition.examples(exampleCompany)
  if (!input) return priced
  const url = resourceUrl(baseUrl, { definition, input })
  const body = definition.method === 'POST' ? ` -H 'Content-Type: application/json' -d '${JSON.stringify(input)}'` : ''
  return `${priced}, for example \`curl -i '${url}'${body}\``
}

/** The price of an operation, its route, an answer, and its first example as a URL and as a body. */
function operationValues(definition: OperationDefinition, deployment: DocumentedDeployment): [string, string][] {
  const { name } = definition
  const { baseUrl, exampleCompany } = deployment
  const [input] = definition.examples(exampleCompany)
  return [
    [`usd_${name}`, usd(deployment, definition)],
    [`${name}_answer`, toText(shortAnswer(definition, deployment))],
    [`${name}_url`, input ? resourceUrl(baseUrl, { definition, input }) : ''],
    [`${name}_body`, JSON.stringify(input ?? {})],
  ]
}

/** Members that an example shows once: a record and its source in a lookup, the candidates in a search. */
const SHOWN_BEFORE: Record<string, string> = {
  company: 'as in a lookup',
  source: 'as in a lookup',
  snapshot_id: 'as in a lookup',
  match: 'the first candidate',
  candidates: 'as in a search',
  matching_version: 'as in a search',
  score_definition: 'as in a search',
}

/** The example answer without what an example before it has shown. */
function shortAnswer(definition: OperationDefinition, { terms }: DocumentedDeployment): object {
  const { name } = definition
  const answer: object = definition.exampleAnswer(terms.mode)
  if (name === 'lookup') return answer
  const isShown = (member: string) => !Object.hasOwn(SHOWN_BEFORE, member) || (name === 'search' && RANKING.has(member))
  const shorten = (member: string, value: unknown): unknown =>
    isShown(member) || value === null ? value : SHOWN_BEFORE[member]
  return JSON.parse(JSON.stringify(answer, shorten)) as object
}

const RANKING: ReadonlySet<string> = new Set(['candidates', 'matching_version', 'score_definition'])

const SYNTHETIC_NOTE =
  'On testnet, company 00000000 is always available: a synthetic company for a complete test purchase with test money.'

function testnetLinks({ baseUrl, terms }: DocumentedDeployment): string[] {
  if (terms.mode !== 'testnet') return []
  return [
    `- [Test client](${baseUrl}${TESTNET_PATHS.testnetClient}): Python, buys the synthetic company`,
    `- [Registration](${baseUrl}${TESTNET_PATHS.registrationFile}): ERC-8004 registration file`,
  ]
}

/** The input fields of an operation. Optional ones have a question mark. */
function listFields(definition: OperationDefinition): string {
  const required = requiredMembers(definition)
  return Object.keys(definition.inputSchema.shape)
    .map((field) => `\`${field}${required.includes(field) ? '' : '?'}\``)
    .join(', ')
}

/** Codes with the same status, charge and next step share a row. */
function groupErrors(): (string | number)[][] {
  const ofCase: Partial<Record<string, Next>> = NEXT_OF_CASE
  const rows = new Map<string, { status: number; cells: string[]; codes: string[] }>()
  for (const [code, each] of Object.entries(REFUSALS)) {
    const cells = [each.charged, [each.next, ofCase[code] ?? []].flat().join(' or ')]
    const key = [each.status, ...cells].join()
    rows.set(key, { status: each.status, cells, codes: [...(rows.get(key)?.codes ?? []), code] })
  }
  return Array.from(rows.values(), ({ status, cells, codes }) => [status, codes.join(', '), ...cells])
}

const NEXT_LINES = Object.entries(NEXT).map(([code, sentence]) => `- \`${code}\`: ${sentence}`)

const MCP_ERROR_ROWS = MCP_ERRORS.map(({ statuses, code, message }) => [statuses.join(', '), code, message])

function markdownTable(head: string[], rows: readonly (string | number)[][]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** A member a line. What they contain is in one line, if it is short. */
function toText(value: unknown, indent = ''): string {
  const line = JSON.stringify(value)
  if (indent.length + line.length <= LINE_CHARACTERS_MAX || typeof value !== 'object' || value === null) return line
  const deeper = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((each) => deeper + toText(each, deeper))
    : Object.entries(value).map(([name, each]) => `${deeper}${JSON.stringify(name)}: ${toText(each, deeper)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${members.join(',\n')}\n${indent}${close}`
}

const LINE_CHARACTERS_MAX = 160
