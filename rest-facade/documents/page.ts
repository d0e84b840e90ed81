/**
 * Renders the page (contract 4.4.2), the quotes for browsers (5.1.5), and the head of the guides, from the templates
 * that the build has copied to dist/page.
 */
import { toJsonSchema } from '../../agent/operation/json-schema.ts'
import { FOR_PEOPLE } from '../../agent/operation/for-people.ts'
import { requiredMembers, type OperationDefinition } from '../../agent/operation/operation.ts'
import { NETWORK_NAMES, priceInWords, toUsdc, type Terms } from '../../agent/payment/terms.ts'
import { escapeHtml } from '../../base/escape-html.ts'
import { toHead } from '../../base/grammar.ts'
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
  company_number: 'Company number',
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
    ['network', NETWORK_NAMES[terms.mode]],
    ['seller', escapeHtml(operator?.name ?? '')],
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
  const { mode } = terms
  const verbs = Object.entries(FOR_PEOPLE).map(([name, { verb }]) => `data-${name}="${verb}"`)
  const place = sandboxAccount ? 'test money of this sandbox' : `on ${NETWORK_NAMES[mode]}`
  const shown = {
    ...values,
    verbs: verbs.join(' '),
    place,
    sandbox: sandboxAccount ? '<option value="sandbox">Sandbox account</option>' : '',
  }
  return fill(readPageFile('buy.html'), new Map(Object.entries(shown)))
}

/** The page at `/`. */
export function renderPage(deployment: DocumentedDeployment, values: ReadonlyMap<string, string>): WrittenDocument {
  const { terms, exampleCompanies, isMadeUp } = deployment
  const { mode, operations } = terms
  const samples = SAMPLES.filter(([name]) => name !== 'Python' || mode === 'testnet')
  const links = exampleCompanies.map(
    ({ company_number: number, legal_name }) =>
      `<li><a href="/?operation=lookup&amp;company_number=${number}">${escapeHtml(legal_name)}</a> ${number}</li>`,
  )
  const lowest = Math.min(...operations.flatMap((each) => (each.kind === 'single' ? each.prices[mode] : [])))
  const price = `${toUsdc(lowest)} USDC`
  const form = renderForm(deployment, {
    intro: `<h1>Look up any Irish company</h1>
<p>From the open file of the companies register, without an account. An answer costs from ${price}, ${priceInWords(lowest)}.</p>
${isMadeUp ? '<p class="doubt">The companies here are made up, for trying.</p>' : ''}`,
    fields: ['box', 'list']
      .map((name) => readPageFile(`${name}.html`))
      .concat(operations.map((each) => renderFields(each)))
      .join('\n'),
    button: `${FOR_PEOPLE['search']?.verb}, ${price}`,
    price,
    quoted_url: escapeHtml(values.get('first_url') ?? ''),
    examples: links.length > 0 ? `<div id="examples">For example <ul>${links.join('\n')}</ul></div>` : '',
  })
  const escaped = [...values].map(([name, value]): [string, string] => [name, escapeHtml(value)])
  const parts: [string, string][] = [
    ['prices', renderPrices(terms)],
    ['faucet', mode === 'testnet' ? ` Test USDC is free at ${FAUCET}.` : ''],
    ['receiver', `<code>${terms.payTo}</code>`],
    ['network_name', NETWORK_NAMES[mode]],
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
  const { title = '', verb = '', purpose = '' } = FOR_PEOPLE[definition.name] ?? {}
  const intro = `<h1>${title}</h1><p>${purpose} Nothing is charged before you agree in the wallet.</p>`
  const form = renderForm(deployment, {
    intro,
    fields: renderFields(definition, members),
    button: `${verb}, ${price}`,
    price,
    // The page shows the URL in a shell command, in single quotes. A link can contain any URL.
    quoted_url: escapeHtml(url.replaceAll("'", '%27')),
    examples: '',
  })
  return renderFrame(deployment, { title: `${title}, ${price}`, main: form })
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

/** The batch is that of a list, whose rows have the prices above it. */
function renderPrices({ mode, operations }: Terms): string {
  const rows = operations.flatMap((each) => {
    const { title = '', purpose = '' } = FOR_PEOPLE[each.name] ?? {}
    if (each.kind !== 'single') return []
    const price = each.prices[mode]
    return [[title, purpose, String(toUsdc(price)), priceInWords(price)]]
  })
  const cells = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
  const heads = ['Answer', 'What you get', 'USDC', 'In words'].map((head) => `<th scope="col">${head}</th>`)
  return `<table class="prices"><tr>${heads.join('')}</tr>${cells.join('\n')}</table>`
}

/**
 * The members of a single operation as fields. Batches are bought as lists. The optional ones are more options.
 * @param values shown at once; without them, the script fills and shows the fields
 */
function renderFields(definition: OperationDefinition, values?: ReadonlyMap<string, string>): string {
  const { kind, name, inputSchema } = definition
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
<legend>${FOR_PEOPLE[name]?.title}</legend>
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

const titleOf = (name: string): string => toHead(name.replaceAll('_', ' '))
