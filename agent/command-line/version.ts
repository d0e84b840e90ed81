/** The version of the package. */
import { readFile } from 'node:fs/promises'

export async function readVersion(): Promise<string> {
  const manifest = await readFile(new URL(import.meta.resolve('#root/package.json')), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
