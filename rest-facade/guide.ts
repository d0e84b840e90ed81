/** The HTML guide at `/docs`: a page of ours with the deployment's values and the table of errors filled in, at start. */
import { readFile } from 'node:fs/promises'
import { REFUSALS } from '../agent/operation/refusal.ts'
import { endpoint, type Facts } from './meta.ts'

const TEMPLATE = '#root/docs/served/guide.html'

/** Throws when the page asks for a value that isn't there. */
export async function guidePage({ terms, onSale }: Facts, extensionUri: string): Promise<string> {
  const template = await readFile(new URL(import.meta.resolve(TEMPLATE)), 'utf8')
  const values = new Map([
    ['operations', escape(onSale.map((each) => `${endpoint(each)}   ${terms.prices[each]} micro-USDC`).join('\n'))],
    ['extension_uri', escape(extensionUri)],
    ['errors', errorRows()],
  ])
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new Error(`The guide asks for ${name}`)
    return value
  })
}

function errorRows(): string {
  const rows = Object.entries(REFUSALS).map(([code, { status, charged, advice }]) => [status, code, charged, advice])
  return rows.map((row) => `<tr>${row.map((cell) => `<td>${escape(String(cell))}</td>`).join('')}</tr>`).join('\n')
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
