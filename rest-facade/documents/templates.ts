/** Reads the templates of the documents, and fills values into them. */
import { readFile } from 'node:fs/promises'

const FOLDER = '#root/docs/served'
/** Written by the build from the folder `page`. */
const PAGE_FOLDER = '#root/dist/page'

export interface WrittenDocument {
  type: 'text/html' | 'text/markdown' | 'text/plain' | 'text/x-python' | 'application/json'
  text: string
  /** For `Last-Modified`, if the time is known. */
  modifiedAt?: Date
  /** Absent if the document has the same policy as all other responses. */
  contentSecurityPolicy?: string
}

const TEMPLATES = [
  'guidance.txt',
  'api.md',
  'a2a.md',
  'mcp.md',
  'llms.txt',
  'robots.txt',
  'testnet-client.py',
  'flow.svg',
  'sample-fetch.js',
  'sample-python.sh',
  'sample-mcp.js',
  'sample-a2a.js',
] as const

const PAGE_FILES = ['page.html', 'page.css', 'main.js', 'sandbox.js'] as const

export type Templates = Record<(typeof TEMPLATES)[number] | (typeof PAGE_FILES)[number], string>

export async function loadTemplates(): Promise<Templates> {
  const readFrom = (folder: string) => async (name: string) =>
    [name, await readFile(new URL(import.meta.resolve(`${folder}/${name}`)), 'utf8')] as const
  const files = [...TEMPLATES.map(readFrom(FOLDER)), ...PAGE_FILES.map(readFrom(PAGE_FOLDER))]
  return Object.fromEntries(await Promise.all(files)) as Templates
}

/** @throws if the text names an unknown value */
export function fill(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new Error(`A template names the unknown value ${name}`)
    return value
  })
}
