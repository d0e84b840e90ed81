/** The written documents (spec 4.4), filled at start from the templates in docs/served with what the code itself holds. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { EXAMPLE_INPUTS, exampleParts } from '../../agent/operation/examples.ts'
import { REFUSALS } from '../../agent/operation/refusal.ts'
import { endpoint, resourceUrl } from '../../agent/operation/resource.ts'
import { INPUT_SCHEMAS, OPERATION_NAMES, type OperationName } from '../../agent/operation/schema.ts'
import { QUOTE_LIFETIME_SECONDS } from '../../agent/payments/terms.ts'
import { inDollars, type Deployment } from './deployment.ts'
import {
  ANSWERS,
  exampleOperation,
  exampleQuote,
  exampleRpcRequest,
  LOOKUP_EXAMPLE_PATH,
  RPC_LOOKUP_ANSWER,
} from './examples.ts'
import { openApi } from './openapi.ts'
import { routesOf } from './routes.ts'

const FOLDER = '#root/docs/served'

export interface Page {
  type: 'text/html' | 'text/markdown' | 'text/plain' | 'text/x-python' | 'application/json'
  text: string
  /** What the page may load, where it is one that loads anything. */
  contentSecurityPolicy?: string
}

/** Every written document by its path. Throws when a template asks for a value that isn't there. */
export async function pagesOf(deployment: Deployment): Promise<ReadonlyMap<string, Page>> {
  const values = valuesOf(deployment)
  const guidance = fill(await template('guidance.txt'), values).trim()
  const withGuidance = new Map([...values, ['guidance', guidance]])
  const written = async (name: string, type: Page['type']): Promise<Page> => ({
    type,
    text: fill(await template(name), withGuidance),
  })
  return new Map([
    ['/docs', await guide(values)],
    ['/docs/api.md', await written('api.md', 'text/markdown')],
    ['/docs/a2a.md', await written('a2a.md', 'text/plain')],
    ['/llms.txt', await written('llms.txt', 'text/plain')],
    ['/robots.txt', await written('robots.txt', 'text/plain')],
    ['/openapi.json', { type: 'application/json', text: JSON.stringify(openApi(deployment, guidance)) }],
  ])
}

/** The HTML guide: style and script are parts of the page, and the page may run nothing else (CSP by their hashes). */
async function guide(values: ReadonlyMap<string, string>): Promise<Page> {
  const style = await template('guide.css')
  const script = await template('guide.js')
  const escaped = [...values].map(([name, value]): [string, string] => [name, escapeHtml(value)])
  const parts: [string, string][] = [
    ['style', `<style>${style}</style>`],
    ['script', `<script type="module">${script}</script>`],
    ['price_rows', htmlRows(priceRows(values))],
    ['error_rows', htmlRows(errorRows())],
  ]
  return {
    type: 'text/html',
    text: fill(await template('guide.html'), new Map([...escaped, ...parts])),
    contentSecurityPolicy: [
      "default-src 'none'",
      `style-src '${hashOf(style)}'`,
      `script-src '${hashOf(script)}'`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  }
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}`
}

function template(name: string): Promise<string> {
  return readFile(new URL(import.meta.resolve(`${FOLDER}/${name}`)), 'utf8')
}

function fill(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new Error(`A document asks for ${name}`)
    return value
  })
}

function valuesOf(deployment: Deployment): ReadonlyMap<string, string> {
  const { baseUrl, version, terms, onSale, rateLimitPerMinute, a2aEnabled, retentionDays, extensionUri } = deployment
  const isTestnet = terms.mode === 'testnet'
  const prices = OPERATION_NAMES.flatMap((name): [string, string][] => [
    [`usd_${name}`, inDollars(terms.prices[name])],
    [`micro_${name}`, String(terms.prices[name])],
    [`endpoint_${name}`, endpoint(name)],
    [`${name}_answer`, pretty(ANSWERS[name])],
  ])
  const values = new Map([
    ...prices,
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
    ['retention_days', String(retentionDays)],
    ['extension_uri', extensionUri],
    ['operations', onSale.map((name) => `- ${endpoint(name)}: ${inDollars(terms.prices[name])} USD`).join('\n')],
    ['lookup_path', LOOKUP_EXAMPLE_PATH],
    ['lookup_number', EXAMPLE_INPUTS.lookup[0].company_number],
    ['search_url', resourceUrl(baseUrl, exampleOperation('search'))],
    ['search_text', EXAMPLE_INPUTS.search[0].q],
    ['resolve_body', JSON.stringify(EXAMPLE_INPUTS.resolve[0])],
    ['resolve_name', EXAMPLE_INPUTS.resolve[0].name],
    ['resolve_eircode', EXAMPLE_INPUTS.resolve[0].eircode],
    ['quote', pretty(shortQuote(deployment))],
    ['rpc_lookup', pretty(exampleRpcRequest('lookup'))],
    ['rpc_answer', pretty(RPC_LOOKUP_ANSWER)],
    ['example_parts', onSale.flatMap(exampleParts).join('\n')],
    ['a2a_note', a2aEnabled ? '' : '**This deployment has no A2A interface.**'],
    ['synthetic_note', isTestnet ? SYNTHETIC_NOTE : ''],
    ['more_links', moreLinks(deployment).join('\n')],
    ['error_table', markdownTable(['status', 'code', 'charged', 'what to do'], errorRows())],
    ['free_table', markdownTable(['route', 'is'], freeRows(deployment))],
  ])
  values.set('price_table', markdownTable(['operation', 'route', 'micro-USDC', 'USD'], priceRows(values)))
  values.set('a2a_table', markdownTable(['operation', 'input', 'USD'], a2aRows(values)))
  return values
}

/** What is signed and compared; the extensions are for programs. */
function shortQuote(deployment: Deployment) {
  const { extensions, ...quote } = exampleQuote(deployment, 'lookup', 'PAYMENT-SIGNATURE header is required')
  return extensions === undefined ? quote : { ...quote, extensions: {} }
}

const SYNTHETIC_NOTE =
  'On this testnet company 00000000 is always there: a synthetic company, for trying the whole purchase with test money.'

/** What not every deployment has. */
function moreLinks({ baseUrl, terms, contactEmail }: Deployment): string[] {
  const testnet = [
    `- [Test client](${baseUrl}/testnet-client.py): Python, standard library only, buys the synthetic company`,
    `- [Registration](${baseUrl}/.well-known/agent-registration.json): ERC-8004 registration file`,
  ]
  const contact = contactEmail === undefined ? [] : [`- [Contact](mailto:${contactEmail}): ${contactEmail}`]
  return [...(terms.mode === 'testnet' ? testnet : []), ...contact]
}

const priceRows = (values: ReadonlyMap<string, string>): string[][] =>
  OPERATION_NAMES.map((name) => [
    name,
    ...['endpoint', 'micro', 'usd'].map((each) => values.get(`${each}_${name}`) ?? ''),
  ])

const a2aRows = (values: ReadonlyMap<string, string>): string[][] =>
  OPERATION_NAMES.map((name) => [name, fieldsOf(name), values.get(`usd_${name}`) ?? ''])

/** The fields of an operation's input, the optional ones with a question mark. */
function fieldsOf(name: OperationName): string {
  return Object.entries(INPUT_SCHEMAS[name].shape)
    .map(([field, schema]) => `\`${field}${schema.safeParse(undefined).success ? '?' : ''}\``)
    .join(', ')
}

const errorRows = (): string[][] =>
  Object.entries(REFUSALS).map(([code, { status, charged, advice }]) => [String(status), code, charged, advice])

function freeRows({ terms, a2aEnabled }: Deployment): string[][] {
  return routesOf({ isTestnet: terms.mode === 'testnet', a2aEnabled })
    .filter(({ sells, a2aOnly }) => !sells && !a2aOnly)
    .map(({ method, path, description }) => [`${method.toUpperCase()} ${path}`, description])
}

function markdownTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function htmlRows(rows: string[][]): string {
  return rows.map((cells) => `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`).join('\n')
}

/** As wide as the lines of the guides. */
const LINE_CHARACTERS_MAX = 100

/** JSON in lines, where what fits on a line is not broken: a third shorter than with a line for every value. */
function pretty(value: unknown, indent = ''): string {
  const flat = JSON.stringify(value, null, 1).replace(/\n */g, ' ')
  if (typeof value !== 'object' || value === null || indent.length + flat.length <= LINE_CHARACTERS_MAX) return flat
  const deeper = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((each) => `${deeper}${pretty(each, deeper)}`)
    : Object.entries(value).map(([name, each]) => `${deeper}${JSON.stringify(name)}: ${pretty(each, deeper)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
