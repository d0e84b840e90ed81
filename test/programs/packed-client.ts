/**
 * `npm run tool -- packed-client`: packs the buyer's library, installs it in an empty folder, compiles the documented
 * program with its types, and runs it in two processes, one after the other. Then it calls a tool of the packed
 * command `mcp`.
 */
import { execFile } from 'node:child_process'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'chai'
import { writeTable } from '../../buyer/table/table-file.ts'
import { readArguments } from '../support/arguments.ts'
import { stopTestChain } from '../support/chain.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { makeTemporaryDirectory, removeTemporaryDirectories } from '../support/temporary-directory.ts'

const INSTALL_MS_MAX = 300_000
const RUN_MS_MAX = 60_000
/** The packages that a buyer needs. */
const CLIENT_PACKAGES = [
  '@modelcontextprotocol/server',
  '@noble/hashes',
  '@x402/core',
  'commander',
  'csv-parse',
  'entities',
  'fflate',
  'jose',
  'safe-stable-stringify',
  'viem',
  'zod',
]
/** With the packages of these packages. */
const INSTALLED_MAX = 40

readArguments('')

const root = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const folder = await makeTemporaryDirectory()
const run = promisify(execFile)

/** The lines that a user writes. The last one has a wrong type, which shows that the types are found. */
const USER_PROGRAM = `
import { createBuyer, describeOutcome, PurchaseError } from 'irish-company-agent-client'
import { privateKeyToAccount } from 'viem/accounts'

const [url = '', key = '', payTo = ''] = process.argv.slice(2)
const buyer = createBuyer({
  key,
  folder: 'purchases',
  expected: {
    network: 'eip155:84532',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    domain: { name: 'USDC', version: '2' },
    payTo,
    amountMax: 5000,
  },
})
const answer = await buyer.fetch(\`\${url}/api/v1/company/73848\`)
console.log(answer.status, answer.headers.get('Receipt-Check'), await answer.text(), PurchaseError.name)
/** An account of viem signs, and answers and the bodies of results have the types of their operations. */
export async function withTypes(): Promise<string> {
  const own = createBuyer({ url, key: privateKeyToAccount(key as \`0x\${string}\`), onStep: ({ kind }) => console.log(kind) })
  const answer = await own.resolve({ name: 'x' })
  const { results } = await own.batch('resolve', [{ name: 'x' }]).catch((cause: unknown) => {
    throw new Error(cause instanceof PurchaseError ? describeOutcome(cause.outcome) : 'x')
  })
  const [first] = results
  const decided = first?.http_status === 200 && first.body.status === 'matched' ? first.body.candidates[0]?.score : 0
  return \`\${answer.status === 'matched' ? answer.match.company.legal_name : ''} \${decided}\`
}
// @ts-expect-error The options lack the key. Fails to compile if the types are not found.
export const refused = () => createBuyer({ url: 'https://companies.example' })
`

async function install(): Promise<void> {
  const { stdout } = await run(process.execPath, [join(root, 'dist/test/programs/pack-client.js'), folder])
  const filename = stdout.trim()
  await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  await cp(join(root, '.npmrc'), join(folder, '.npmrc'))
  const args = ['install', `./${filename}`, '--no-audit', '--no-fund']
  await run('npm', args, { cwd: folder, timeout: INSTALL_MS_MAX })
  const client = join(folder, 'node_modules', 'irish-company-agent-client')
  const { dependencies } = JSON.parse(await readFile(join(client, 'package.json'), 'utf8')) as { dependencies: object }
  expect(Object.keys(dependencies)).to.deep.equal(CLIENT_PACKAGES)
  const lock = await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8')
  const installed = Object.keys((JSON.parse(lock) as { packages: object }).packages)
  expect(installed.length).to.be.at.most(INSTALLED_MAX)
  const files = await readdir(client, { recursive: true, withFileTypes: true })
  const names = files.flatMap((file) => (file.isFile() ? join(file.parentPath, file.name) : []))
  expect(names.filter((name) => !/\.(js|d\.ts)$|package\.json$|README\.md$/.test(name))).to.deep.equal([])
}

async function compile(): Promise<void> {
  await writeFile(join(folder, 'program.ts'), USER_PROGRAM)
  await cp(join(root, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'), { recursive: true })
  await cp(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'), { recursive: true })
  const options = ['--module', 'NodeNext', '--target', 'ES2023', '--strict', '--skipLibCheck', '--types', 'node']
  const compiler = join(root, 'node_modules/.bin/tsc')
  await run(compiler, [...options, 'program.ts'], { cwd: folder }).catch((cause: { stdout: string }) =>
    expect.fail(cause.stdout),
  )
}

async function buyTwice(service: TestService): Promise<void> {
  const { url, buyerKey, payTo } = service
  const before = (await service.paid()).transfers
  const buy = async () => {
    const args = ['program.js', url, buyerKey, payTo]
    return (await run(process.execPath, args, { cwd: folder, timeout: RUN_MS_MAX })).stdout
  }
  const first = await buy()
  expect(first).to.match(/^200 valid \{.*"company_number":"73848".* PurchaseError\n$/)
  expect(await buy()).to.equal(first)
  expect((await service.paid()).transfers - before).to.equal(1)
}

/** The sheet of an analyst. */
async function reconcileSheet({ url, buyerKey }: TestService): Promise<void> {
  const keyFile = join(folder, 'analyst.key')
  await writeFile(keyFile, buyerKey, { mode: 0o600 })
  const format = { kind: 'csv', separator: ',', lineEnd: '\n', hasByteOrderMark: true } as const
  await writeTable(join(folder, 'list.xlsx'), [['Name'], ['Plain Fixture']], { format })
  const command = join(folder, 'node_modules/.bin/irish-company-agent-client')
  const args = ['reconcile', 'list.xlsx', '--column', 'Name', '--url', url, '--key-file', keyFile, '--yes']
  const { stdout } = await run(command, args, { cwd: folder, timeout: RUN_MS_MAX })
  expect(stdout).to.contain('1 row in list.reconciled.xlsx: 1 matched')
}

async function callTool({ url, buyerKey, rpcUrl }: TestService): Promise<void> {
  const keyFile = join(folder, 'buyer.key')
  await writeFile(keyFile, buyerKey, { mode: 0o600 })
  const client = new Client({ name: 'packed-client', version: '1' })
  const command = join(folder, 'node_modules/.bin/irish-company-agent-client')
  const args = ['mcp', '--url', url, '--key-file', keyFile, '--folder', join(folder, 'tools'), '--rpc', rpcUrl]
  await client.connect(new StdioClientTransport({ command, args }))
  const { isError, structuredContent } = await client.callTool({
    name: 'lookup_company',
    arguments: { company_number: '73848' },
  })
  await client.close()
  expect({ isError, structuredContent }).to.have.nested.property('structuredContent.company.company_number', '73848')
}

try {
  await install()
  await compile()
  const service = await startTestService()
  try {
    await buyTwice(service)
    await callTool(service)
    await reconcileSheet(service)
  } finally {
    await service.stop()
  }
  console.log('a packed client buys')
} finally {
  await stopTestChain()
  await removeTemporaryDirectories()
}
