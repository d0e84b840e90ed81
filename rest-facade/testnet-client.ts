/** `GET /testnet-client.py`: a buyer in one file of Python, with the address of this deployment filled in. */
import { readFile } from 'node:fs/promises'
import type { Mode } from '../agent/payments/terms.ts'

const TEMPLATE = '#root/docs/served/testnet-client.py'
/** The one line that differs between deployments. */
const MARKED_LINE = /^BASE_URL = ".*"(?=  # filled in by the service that serves this file$)/m

/** The file's text; nothing on mainnet, where it would have nothing to buy. */
export async function testnetClient(mode: Mode, baseUrl: string): Promise<string | undefined> {
  if (mode !== 'testnet') return undefined
  const template = await readFile(new URL(import.meta.resolve(TEMPLATE)), 'utf8')
  if (!MARKED_LINE.test(template)) throw new Error('The test client has no line for the base URL')
  // A JSON string is a Python string too.
  return template.replace(MARKED_LINE, () => `BASE_URL = ${JSON.stringify(baseUrl)}`)
}
