/** The content of `GET /testnet-client.py` (contract 4.4.3): the template with the base URL of this deployment. */
import { readFile } from 'node:fs/promises'
import type { Mode } from '../agent/payment/terms.ts'

const TEMPLATE = '#root/docs/served/testnet-client.py'
/** The only line that differs between deployments. */
const BASE_URL_LINE = /^BASE_URL = ".*"(?=  # filled in by the service that serves this file$)/m

/** Undefined on mainnet, which has no synthetic company to buy. */
export async function loadTestnetClient(mode: Mode, baseUrl: string): Promise<string | undefined> {
  if (mode !== 'testnet') return undefined
  const template = await readFile(new URL(import.meta.resolve(TEMPLATE)), 'utf8')
  if (!BASE_URL_LINE.test(template)) throw new Error(`${TEMPLATE} has no BASE_URL line`)
  // A JSON string literal is also a Python string literal.
  return template.replace(BASE_URL_LINE, () => `BASE_URL = ${JSON.stringify(baseUrl)}`)
}
