/** Renders the page (contract 4.4.2) from the operations and from the files that the build has written to dist/page. */
import { createHash } from 'node:crypto'
import { toJsonSchema } from '../../agent/operation/json-schema.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import {
  endpoint,
  requiredMembers,
  type ExampleCompany,
  type OperationDefinition,
  type Operations,
} from '../../agent/operation/operation.ts'
import { escapeHtml } from '../../store/base/escape-html.ts'
import type { DocumentedDeployment } from './examples.ts'
import { fill, readTemplate, type WrittenDocument } from './templates.ts'

const FAUCET = '<a href="https://faucet.circle.com">faucet.circle.com</a>'

/** Lines of a list that the page buys. */
const LIST_LINES_MAX = 300

const SAMPLES = [
  ['fetch', 'sample-fetch.js'],
  ['Python', 'sample-python.sh'],
  ['MCP', 'sample-mcp.js'],
  ['A2A', 'sample-a2a.js'],
] as const

/** Style and script are inline. The policy allows only these, by their hashes. */
export function renderPage(deployment: DocumentedDeployment, values: ReadonlyMap<string, string>): WrittenDocument {
  const { sandboxAccount, terms } = deployment
  const style = readPageFile('page.css')
  const flow = readTemplate('flow.svg')
  const scripts = ['main.js', ...(sandboxAccount ? ['sandbox.js'] : [])]
    // A script ends at the first end tag, also within a text.
    .map((name) => readPageFile(name).replaceAll('</script', '<\\/script'))
  const [, flowStyle = ''] = /<style>([^]*?)<\/style>/.exec(flow) ?? []
  const samples = SAMPLES.filter(([name]) => name !== 'Python' || terms.mode === 'testnet')
  const escaped = [...values].map(([name, value]): [string, string] => [name, escapeHtml(value)])
  const parts: [string, string][] = [
    ['style', `<style>${style}</style>`],
    ['script', scripts.map((text) => `<script type="module">${text}</script>`).join('')],
    ['account', sandboxAccount?.address ?? ''],
    ...renderForms(deployment),
    ['list_lines_max', String(LIST_LINES_MAX)],
    ['batch_lookup', String(lookup.batchInputsMax)],
    ['batch_resolve', String(resolve.batchInputsMax)],
    ['prices', renderPrices(terms.operations, values)],
    ['faucet', terms.mode === 'testnet' ? `Test USDC comes from ${FAUCET}.` : ''],
    ['flow', `<div class="wide" tabindex="0" role="region" aria-label="Picture">${flow}</div>`],
    ['samples', samples.map(([name, file]) => renderSample(name, fill(readTemplate(file), values))).join('\n')],
  ]
  return {
    type: 'text/html',
    text: fill(readPageFile('page.html'), new Map([...escaped, ...parts])),
    contentSecurityPolicy: policyOf([style, flowStyle], scripts),
  }
}

/** A file that the build has written from the folder `page`. */
export const readPageFile = (name: string) => readTemplate(name, '#root/dist/page')

/** The policy of a document with these styles and these scripts only. */
export function policyOf(styles: readonly string[], scripts: readonly string[] = []): string {
  return [
    "default-src 'none'",
    `style-src ${styles.map(cspHash).join(' ')}`,
    ...(scripts.length === 0 ? [] : [`script-src ${scripts.map(cspHash).join(' ')}`, "connect-src 'self'"]),
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function cspHash(text: string): string {
  return `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`
}

function renderSample(name: string, code: string): string {
  return `<details name="samples"><summary>${name}</summary><pre tabindex="0">${escapeHtml(code)}</pre></details>`
}

function renderPrices(operations: Operations, values: ReadonlyMap<string, string>): string {
  const heads = '<tr><th scope="col">Operation</th><th scope="col">Route</th><th scope="col">USDC</th></tr>'
  const rows = operations.map((definition) => {
    const cells = [definition.skill.name, endpoint(definition), values.get(`usd_${definition.name}`) ?? '']
    return `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`
  })
  return `<div class="wide" tabindex="0" role="region" aria-label="Prices"><table>${heads}${rows.join('\n')}</table></div>`
}

/** The single operations as choices, and the members of each. Batches are bought as lists. */
function renderForms(deployment: DocumentedDeployment): [string, string][] {
  const single = deployment.terms.operations.filter(({ kind }) => kind === 'single')
  const choices = single.map(({ name, skill }) => `<option value="${name}">${escapeHtml(skill.name)}</option>`)
  const fields = single.map((each, at) => renderFields(each, deployment.exampleCompany, at > 0))
  return [
    ['choices', choices.join('\n')],
    ['fields', fields.join('\n')],
  ]
}

/** The members of the first example, with its values, and the others as more options. */
function renderFields(definition: OperationDefinition, company: ExampleCompany | undefined, isHidden: boolean): string {
  const { name, tool, inputSchema } = definition
  const [example = {}] = definition.examples(company) as Record<string, string | number>[]
  const { properties } = toJsonSchema(inputSchema, 'input') as { properties: Record<string, MemberSchema> }
  const required = requiredMembers(definition)
  const members = Object.entries(properties)
  const isShown = ([member]: (typeof members)[number]) => member in example || required.includes(member)
  const render = ([member, schema]: (typeof members)[number]) =>
    renderField(`${name}-${member}`, member, schema, String(example[member] ?? ''))
  const more = members.filter((each) => !isShown(each)).map(render)
  return `<fieldset name="${name}"${isHidden ? ' hidden disabled' : ''}>
<legend>${escapeHtml(tool.title)}</legend>
${members.filter(isShown).map(render).join('\n')}
${more.length === 0 ? '' : `<details><summary>More options</summary><div class="fields">${more.join('\n')}</div></details>`}
<small>${escapeHtml(tool.charge)}</small>
</fieldset>`
}

interface MemberSchema {
  type?: string
  description?: string
  enum?: string[]
  format?: string
  minimum?: number
  maximum?: number
}

/** A description is a purpose, a colon and a rule. A member with a one-letter name, such as `q`, shows its purpose. */
function renderField(id: string, member: string, schema: MemberSchema, value: string): string {
  const [, purpose = '', rule = schema.description ?? ''] = /^([^:.]*): (.*)$/.exec(schema.description ?? '') ?? []
  const hint = `<small id="${id}-hint">${escapeHtml(rule)}</small>`
  return `<label for="${id}">${member.length > 1 ? titleOf(member) : purpose}${hint}${renderControl(id, member, schema, value)}</label>`
}

function renderControl(id: string, member: string, schema: MemberSchema, value: string): string {
  const named = `id="${id}" name="${member}" aria-describedby="${id}-hint"`
  if (schema.enum) {
    const options = ['', ...schema.enum].map((each) => `<option value="${each}">${titleOf(each) || 'any'}</option>`)
    return `<select ${named}>${options.join('')}</select>`
  }
  const type = schema.format === 'date' ? 'date' : schema.type === 'integer' ? 'number' : 'text'
  const range = type === 'number' ? ` min="${schema.minimum}" max="${schema.maximum}"` : ''
  return `<input ${named} type="${type}"${range} value="${escapeHtml(value)}" autocomplete="off" />`
}

const titleOf = (name: string): string => {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
