/**
 * `npm run tool -- clients`: third-party clients buy from a new sandbox over REST, A2A and MCP, each in its own
 * process or in a browser, and suites and validators of others test it. They are installed in this folder, separate
 * from the packages of the service. Writes docs/clients.md.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { format } from 'prettier'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { endpoint } from '../../agent/operation/operation.ts'
import { ready, startChild } from '../support/child.ts'
import { BROWSER_KITS, buyInBrowser } from './browser.ts'
import { compareTokens } from './compare-tokens.ts'
import { conform } from './conformance.ts'
import { buyGenerated, GENERATED } from './generated.ts'

/** By program: the package, and what it does. */
const CLIENTS: Record<string, [kit: string, what: string]> = {
  axios: ['@x402/axios', 'buys a lookup over REST'],
  faremeter: ['@faremeter/fetch', 'buys a lookup over REST'],
  mppx: ['mppx', 'buys a lookup over REST'],
  a2a: ['@a2a-js/sdk', 'buys a lookup over A2A'],
  mcp: ['@modelcontextprotocol/client', 'buys a lookup over MCP'],
  agents: ['agents', 'buys a lookup over MCP'],
}
const CLIENT_MS_MAX = 60_000

const HEAD = `# Clients of others

What \`npm run tool -- clients\` runs against a sandbox, with the versions of \`test/clients/package.json\`. The run writes this file.
`

const run = promisify(execFile)
const PACKAGE = new URL(import.meta.resolve('#root/test/clients/package.json'))
const { dependencies: VERSIONS } = JSON.parse(await readFile(PACKAGE, 'utf8')) as {
  dependencies: Record<string, string>
}

async function start(program: string, environment: Record<string, string>): Promise<string> {
  const path = fileURLToPath(new URL(import.meta.resolve(`#root/test/clients/${program}.js`)))
  const { PATH = '', HOME = '' } = process.env
  const { stdout } = await run(process.execPath, [path], {
    env: { PATH, HOME, ...environment },
    timeout: CLIENT_MS_MAX,
  })
  return stdout
}

/** The receipt. */
async function buy(client: string, url: string, key: string): Promise<string | undefined> {
  const stdout = await start(client, { BUYER_KEY: key, RESOURCE: `${url}/api/v1/company/00000000` })
  const [status, receipt = ''] = stdout.trim().split(' ')
  return status === '200' ? receipt : undefined
}

function readTransaction(receipt: string): string | undefined {
  try {
    const { success, transaction } = decodePaymentResponseHeader(receipt)
    return success ? transaction : undefined
  } catch {
    return undefined
  }
}

/** Each client with the transactions that it has paid, and how many were expected. */
class Results {
  readonly #rows: string[] = []
  readonly #transactions = new Set<string>()
  #failed = 0

  add(kit: string, what: string, isPassed: boolean, detail = ''): void {
    if (!isPassed) this.#failed += 1
    const result = isPassed ? 'passed' : 'FAILED'
    console.log(`${kit.padEnd(30)} ${result}  ${what} ${detail}`)
    this.#rows.push(`| \`${kit}\` | ${VERSIONS[kit] ?? ''} | ${what} | ${result} |`)
  }

  /** No two purchases may have the same transaction. */
  addPurchases(kit: string, what: string, receipts: readonly (string | undefined)[], count: number): void {
    const paid = receipts.flatMap((receipt) => readTransaction(receipt ?? '') ?? [])
    const fresh = new Set(paid.filter((transaction) => !this.#transactions.has(transaction)))
    for (const transaction of fresh) this.#transactions.add(transaction)
    const isPassed = fresh.size === count
    this.add(kit, what, isPassed, isPassed ? '' : receipts.join(' '))
  }

  get isPassed(): boolean {
    return this.#failed === 0
  }

  /** The same text for the same versions and results. */
  async write(): Promise<void> {
    const text = [
      HEAD,
      '| client or kit | version | what it does | result |',
      '| --- | --- | --- | --- |',
      ...this.#rows,
    ]
    const path = fileURLToPath(new URL('docs/clients.md', import.meta.resolve('#root/package.json')))
    await writeFile(path, await format(text.join('\n'), { parser: 'markdown', printWidth: 120 }))
  }
}

const directory = await mkdtemp(join(tmpdir(), 'clients-'))
const service = startChild('operator/main.js', ['serve'], { DATA_DIR: directory, PORT: '0', LOG_LEVEL: 'silent' })
try {
  const url = await ready(service)
  const key = (await readFile(join(directory, 'sandbox', 'buyer.key'), 'utf8')).trim()
  const results = new Results()
  for (const [client, [kit, what]] of Object.entries(CLIENTS)) {
    const receipt = await buy(client, url, key).catch(String)
    results.addPurchases(kit, what, [receipt], 1)
  }
  const inBrowser = await buyInBrowser(url, key)
  for (const kit of BROWSER_KITS) {
    const what = 'buys a lookup, a resolution and a batch in Chromium, from another origin'
    results.addPurchases(kit, what, inBrowser.get(kit) ?? [], 3)
  }
  const generated = await buyGenerated(url, key)
  for (const kit of GENERATED)
    results.addPurchases(
      kit,
      'generates a client that compiles, and buys a lookup and a batch',
      generated.get(kit) ?? [],
      2,
    )
  const listed = JSON.parse(await start('discovery', { TARGET: url })) as string[]
  const isExact = JSON.stringify(listed.toSorted()) === JSON.stringify(OPERATIONS.map(endpoint).toSorted())
  results.add(
    '@agentcash/discovery',
    'lists the paid routes and nothing else',
    isExact,
    isExact ? '' : listed.join(', '),
  )
  const faults = await conform(`${url}/mcp`, join(directory, 'conformance'))
  const suite = 'tests the server for the features that it offers'
  results.add('@modelcontextprotocol/conformance', suite, faults.length === 0, faults.join('\n'))
  const differing = await compareTokens((environment) => start('cdp-token', environment))
  const tokens = 'makes the same tokens for the facilitator'
  results.add('@coinbase/cdp-sdk', tokens, differing.length === 0, differing.join(', '))
  await results.write()
  process.exitCode = results.isPassed ? 0 : 1
} finally {
  service.process.kill('SIGTERM')
  await service.ended
  await rm(directory, { recursive: true })
}
