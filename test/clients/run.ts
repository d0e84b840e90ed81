/**
 * `npm run clients`: third-party clients buy from a new sandbox over REST, A2A and MCP, each in its own process, and
 * the official conformance suite of MCP tests it. The tokens for Coinbase's facilitator are compared with those of its
 * SDK. They are installed in this folder, separate from the packages of the service.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { ready, startChild } from '../support/child.ts'
import { compareTokens } from './compare-tokens.ts'
import { conform } from './conformance.ts'

const CLIENTS = ['axios', 'faremeter', 'mppx', 'a2a', 'mcp', 'agents']
const CLIENT_MS_MAX = 60_000

const run = promisify(execFile)

async function start(program: string, environment: Record<string, string>): Promise<string> {
  const path = fileURLToPath(new URL(import.meta.resolve(`#root/test/clients/${program}.js`)))
  const { PATH = '', HOME = '' } = process.env
  const { stdout } = await run(process.execPath, [path], {
    env: { PATH, HOME, ...environment },
    timeout: CLIENT_MS_MAX,
  })
  return stdout
}

async function buy(client: string, url: string, key: string): Promise<string | undefined> {
  const stdout = await start(client, { BUYER_KEY: key, RESOURCE: `${url}/api/v1/company/00000000` })
  const [status, receipt = ''] = stdout.trim().split(' ')
  if (status !== '200') return undefined
  const { success, transaction } = decodePaymentResponseHeader(receipt)
  return success ? transaction : undefined
}

const directory = await mkdtemp(join(tmpdir(), 'clients-'))
const service = startChild('agent/main.js', ['serve'], { DATA_DIR: directory, PORT: '0', LOG_LEVEL: 'silent' })
try {
  const url = await ready(service)
  const key = (await readFile(join(directory, 'sandbox', 'buyer.key'), 'utf8')).trim()
  const transactions = new Set<string>()
  for (const client of CLIENTS) {
    const transaction = await buy(client, url, key).catch((cause: unknown) => {
      console.error(cause)
      return undefined
    })
    if (transaction !== undefined) transactions.add(transaction)
    console.log(`${client.padEnd(10)} ${transaction ?? 'FAILED'}`)
  }
  const faults = await conform(`${url}/mcp`, join(directory, 'conformance'))
  for (const fault of faults) console.error(fault)
  const differing = await compareTokens((environment) => start('cdp-token', environment))
  console.log(
    differing.length === 0 ? 'tokens for CDP equal those of its SDK' : `tokens DIFFER: ${differing.join(', ')}`,
  )
  const isDone = transactions.size === CLIENTS.length && faults.length === 0 && differing.length === 0
  process.exitCode = isDone ? 0 : 1
} finally {
  service.process.kill('SIGTERM')
  await service.ended
  await rm(directory, { recursive: true })
}
