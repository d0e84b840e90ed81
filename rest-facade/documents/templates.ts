/** Reads the templates of the documents, and fills values into them. */
import { readFileSync } from 'node:fs'

const FOLDER = '#root/docs/served'

export interface WrittenDocument {
  type:
    | 'text/html'
    | 'text/markdown'
    | 'text/plain'
    | 'text/x-python'
    | 'application/json'
    | `application/linkset+json; ${string}`
  text: string
  /** For `Last-Modified`, if the time is known. */
  modifiedAt?: Date
  /** Absent if the document has the same policy as all other responses. */
  contentSecurityPolicy?: string
}

const files = new Map<string, string>()

/** Reads a file once, so that all documents come from the files that were there at the start. */
export function readTemplate(name: string, folder = FOLDER): string {
  const text = files.get(name) ?? readFileSync(new URL(import.meta.resolve(`${folder}/${name}`)), 'utf8')
  files.set(name, text)
  return text
}

/** @throws if the text names an unknown value */
export function fill(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new Error(`A template names the unknown value ${name}`)
    return value
  })
}
