/**
 * Renders the page (contract 4.4.2), the quotes for browsers (5.1.2), and the head of the guides, from the templates
 * that the build has copied to dist/page.
 */
import { toJsonSchema } from '../../agent/operation/json-schema.ts'
import { requiredMembers, type OperationDefinition, type Operations } from '../../agent/operation/operation.ts'
import { escapeHtml } from '../../base/escape-html.ts'
import { assetElements, policyOf, readPageFile } from './assets.ts'
import type { DocumentedDeployment } from './examples.ts'
import { fill, readTemplate, type WrittenDocument } from './templates.ts'

const FAUCET = '<a href="https://faucet.circle.com">faucet.circle.com</a>'

const SAMPLES = [
  ['fetch', 'sample-fetch.js'],
  ['Python', 'sample-python.sh'],
  ['MCP', 'sample-mcp.js'],
  ['A2A', 'sample-a2a.js'],
] as const

/** What the button does, by operation. */
const VERBS: Record<string, string> = {
  lookup: 'Look up',
  search: 'Search',
  resolve: 'Decide',
  history: 'Show the history',
  as_of: 'Show that day',
  changes: 'Show the changes',
  list: 'Buy the list',
}

/** The members of the operations as a person reads them. The others have their own names. */
const LABELS: Record<string, string> = {
  q: 'Name, or a part of it',
  limit: 'At most',
  status: 'Only with this status',
  address: 'A part of the address',
  date: 'Day',
  before: 'Versions before',
  since: 'From',
  until: 'To',
  kind: 'Kind of change',
  field: 'Changed field',
  cursor: 'Continue after',
  company_numbers: 'Company numbers, with commas between them',
}

/** The values of a deployment that every page shows. The data of the register is in none of them. */
export type PageDeployment = Pick<DocumentedDeployment, 'baseUrl' | 'version' | 'terms' | 'sandboxAccount' | 'operator'>

interface Shown {
  title: string
  /** HTML. */
  main: string
  /** Default: that of the page. */
  scripts?: Parameters<typeof assetElements>[0]['scripts']
}

/** A document with the head and the foot of all pages. */
export function renderFrame(deployment: PageDeployment, { title, main, scripts = ['main'] }: Shown): WrittenDocument {
  const { baseUrl, version, terms, sandboxAccount, operator } = deployment
  const loaded = { baseUrl, scripts }
  const operatedBy = operator
    ? `<a href="${escapeHtml(operator.url)}" rel="noreferrer">${escapeHtml(operator.name)}</a> operates this service.`
    : ''
  const values = new Map([
    ['title', escapeHtml(title)],
    ['assets', assetElements(loaded)],
    ['base_url', escapeHtml(baseUrl)],
    ['mode', terms.mode],
    ['network', terms.network],
    ['account', sandboxAccount?.address ?? ''],
    ['version', escapeHtml(version)],
    ['operator', operatedBy],
    ['main', main],
  ])
  return {
    type: 'text/html',
    text: fill(readPageFile('page.html'), values),
    contentSecurityPolicy: policyOf(loaded),
  }
}

/** The form and the space for the answer. The values are HTML. */
function renderForm(
  { terms, sandboxAccount }: PageDeployment,
  values: Record<'intro' | 'fields' | 'button' | 'price' | 'quoted_url' | 'examples', string>,
): string {
  const { mode, payTo } = terms
  const verbs = Object.entries(VERBS).map(([name, verb]) => `data-${name}="${verb}"`)
  const place = sandboxAccount ? 'test money on the chain of this sandbox' : NETWORKS[mode]
  const shown = {
    ...values,
    verbs: verbs.join(' '),
    place,
    sandbox: sandboxAccount ? '<option value="sandbox">Sandbox account</option>' : '',
    receiver: `<code title="${payTo}">${payTo.slice(0, 8)}…${payTo.slice(-6)}</code>`,
  }
  return fill(readPageFile('buy.html'), new Map(Object.entries(shown)))
}

const NETWORKS = { mainnet: 'on Base', testnet: 'test money on Base Sepolia' }

/** The page at `/`. */
export function renderPage(deployment: DocumentedDeployment, values: ReadonlyMap<string, string>): WrittenDocument {
  const { terms, exampleNumbers } = deployment
  const { mode, operations } = terms
  const samples = SAMPLES.filter(([name]) => name !== 'Python' || mode === 'testnet')
  const links = exampleNumbers.map((each) => `<a href="/?operation=lookup&amp;company_number=${each}">${each}</a>`)
  const price = `${values.get('usd_lookup')} USDC`
  const form = renderForm(deployment, {
    intro: `<h1>Look up any Irish company</h1><p>From the open register, from ${price} an answer. No account.</p>`,
    fields: ['box', 'list']
      .map((name) => readPageFile(`${name}.html`))
      .concat(operations.map((each) => renderFields(each)))
      .join('\n'),
    button: `${VERBS['search']}, ${price}`,
    price,
    quoted_url: escapeHtml(values.get('first_url') ?? ''),
    examples: links.length > 0 ? `<p id="examples">For example ${links.join(' ')}</p>` : '',
  })
  const escaped = [...values].map(([name, value]): [string, string] => [name, escapeHtml(value)])
  const parts: [string, string][] = [
    ['prices', renderPrices(operations, values)],
    ['faucet', mode === 'testnet' ? `Test USDC comes from ${FAUCET}.` : ''],
    ['samples', samples.map(([name, file]) => renderSample(name, fill(readTemplate(file), values))).join('\n')],
  ]
  const home = fill(readPageFile('home.html'), new Map([...escaped, ...parts]))
  return renderFrame(deployment, { title: 'Irish company records, paid per answer', main: form + home })
}

interface BrowserQuote {
  definition: OperationDefinition
  /** The members of the input, as the URL has them. */
  members: ReadonlyMap<string, string>
  price: string
  url: string
}

/** The quote of an operation for a browser: its form, filled as requested, and nothing from the register. */
export function renderQuote(
  deployment: PageDeployment,
  { definition, members, price, url }: BrowserQuote,
): WrittenDocument {
  const { name, skill } = definition
  const intro = `<h1>${escapeHtml(skill.name)}</h1><p>${escapeHtml(skill.description)} Nothing is charged before you sign.</p>`
  const form = renderForm(deployment, {
    intro,
    fields: renderFields(definition, members),
    button: `${VERBS[name]}, ${price}`,
    price,
    // The page shows the URL in a shell command, in single quotes. A link can contain any URL.
    quoted_url: escapeHtml(url.replaceAll("'", '%27')),
    examples: '',
  })
  return renderFrame(deployment, { title: `${skill.name}, ${price}`, main: form })
}

/** What a browser gets for a path that does not exist. It leads on to the box. */
export function renderMissing(deployment: PageDeployment): WrittenDocument {
  const main = `<h1>There is no such page</h1>
<p><a href="/">Find a company</a> by its name or number, or read <a href="/docs">the guide</a>.</p>`
  return renderFrame(deployment, { title: 'There is no such page', main, scripts: [] })
}

function renderSample(name: string, code: string): string {
  return `<details name="samples"><summary>${name}</summary><pre tabindex="0">${escapeHtml(code)}</pre></details>`
}

function renderPrices(operations: Operations, values: ReadonlyMap<string, string>): string {
  const rows = operations.map(({ name, skill }) => [skill.name, values.get(`usd_${name}`) ?? ''])
  const cells = rows.map((row) => `<tr>${row.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`)
  return `<table><tr><th scope="col">Answer</th><th scope="col">USDC</th></tr>${cells.join('\n')}</table>`
}

/**
 * The members of a single operation as fields. Batches are bought as lists. The optional ones are more options.
 * @param values shown at once; without them, the script fills and shows the fields
 */
function renderFields(definition: OperationDefinition, values?: ReadonlyMap<string, string>): string {
  const { kind, name, skill, inputSchema } = definition
  if (kind === 'batch') return ''
  const { properties } = toJsonSchema(inputSchema, 'input') as { properties: Record<string, MemberSchema> }
  const required = requiredMembers(definition)
  const isShown = (member: string) => required.includes(member) || SHOWN.has(member)
  const render = (isWanted: boolean) =>
    Object.entries(properties)
      .filter(([member]) => isShown(member) === isWanted)
      .map(([member, schema]) => renderField(`${name}-${member}`, member, { ...schema, value: values?.get(member) }))
      .join('\n')
  const more = render(false)
  return `<fieldset name="${name}"${values ? '' : ' hidden disabled'}>
<legend>${escapeHtml(skill.name)}</legend>
${render(true)}
${more && `<details><summary>More options</summary>${more}</details>`}
</fieldset>`
}

/** Optional members that a person usually fills in. */
const SHOWN: ReadonlySet<string> = new Set(['name', 'eircode', 'address', 'until', 'company_numbers'])

interface MemberSchema {
  type?: string
  enum?: string[]
  format?: string
  minimum?: number
  maximum?: number
  value?: string | undefined
}

function renderField(id: string, member: string, schema: MemberSchema): string {
  return `<label for="${id}">${LABELS[member] ?? titleOf(member)}</label>${renderControl(id, member, schema)}`
}

function renderControl(id: string, member: string, schema: MemberSchema): string {
  const named = `id="${id}" name="${member}"`
  if (schema.enum) {
    const options = ['', ...schema.enum].map(
      (each) => `<option value="${each}"${each === schema.value ? ' selected' : ''}>${titleOf(each) || 'Any'}</option>`,
    )
    return `<select ${named}>${options.join('')}</select>`
  }
  const type = schema.format === 'date' ? 'date' : schema.type === 'integer' ? 'number' : 'text'
  const range = type === 'number' ? ` min="${schema.minimum}" max="${schema.maximum}"` : ''
  const value = schema.value === undefined ? '' : ` value="${escapeHtml(schema.value)}"`
  return `<input ${named} type="${type}"${range}${value} autocomplete="off" />`
}

const titleOf = (name: string): string => {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
