/**
 * `npm run tool -- production`: runs `npm ci --omit=dev && npm run build` in a copy of the sources, removes the build
 * tools as deploy/Containerfile does, and starts the service. The chain comes from this checkout, because the copy
 * has no anvil.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { stopTestChain, testChainUrl } from '../support/chain.ts'
import { REGISTER } from '../support/fixtures.ts'
import { testTerms } from '../support/payments.ts'
import { makeTemporaryDirectory, removeTemporaryDirectories } from '../support/temporary-directory.ts'
import { readArguments } from '../support/arguments.ts'

/** A checkout without the tests. */
const SOURCES = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'tsconfig.json',
  'tsconfig.build.json',
  'agent',
  'base',
  'buyer',
  'keys',
  'operator',
  'rest-facade',
  'store',
  'docs/served',
]
/** They are dependencies, so that a build needs no test tools. The built service needs none of them. */
const BUILD_TOOLS = ['typescript', '@typescript', '@types', 'esbuild', '@esbuild']
const INSTALL_MS_MAX = 300_000
const BUILD_MS_MAX = 300_000
const START_MS_MAX = 60_000

readArguments('')

const root = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const folder = await makeTemporaryDirectory()

async function install(): Promise<void> {
  for (const path of SOURCES) await cp(join(root, path), join(folder, path), { recursive: true })
  await npm(['ci', '--omit=dev', '--no-audit', '--no-fund'], INSTALL_MS_MAX)
  const packages = await readdir(join(folder, 'node_modules'))
  expect(packages).to.include.members(['lmdb', ...BUILD_TOOLS])
  for (const name of ['mocha', '@foundry-rs']) expect(packages).to.not.include(name)
}

async function build(): Promise<void> {
  await npm(['run', 'build'], BUILD_MS_MAX)
  expect(await readdir(join(folder, 'dist'))).to.have.members([
    '.built',
    '.tsbuildinfo',
    'agent',
    'base',
    'buyer',
    'keys',
    'operator',
    'page',
    'rest-facade',
    'store',
  ])
  for (const name of BUILD_TOOLS) await rm(join(folder, 'node_modules', name), { recursive: true })
}

async function npm(args: string[], timeout: number): Promise<void> {
  await promisify(execFile)('npm', args, { cwd: folder, timeout })
}

/** Starts the installed service. The PATH has no anvil. */
function start(environment: Record<string, string>) {
  const env = { PATH: folder, DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'silent', ...environment }
  const child = spawn(process.execPath, [join(folder, 'dist/operator/main.js'), 'serve'], { cwd: folder, env })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (output.stderr += text))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, output, ended }
}

async function refusesTheSandbox(): Promise<void> {
  const { output, ended } = start({})
  expect(await ended).to.equal(1)
  expect(output.stderr).to.match(/^The sandbox needs anvil, a development dependency: [^\n]+\n$/)
}

async function servesTheTestnet(): Promise<void> {
  const { child, output, ended } = start({
    FACILITATOR: 'http://127.0.0.1:9',
    RPC_URL: await testChainUrl(),
    PAY_TO: testTerms.payTo,
    DATASET: REGISTER,
  })
  const signal = AbortSignal.timeout(START_MS_MAX)
  while (!output.stdout.includes('\n')) {
    await Promise.race([once(child.stdout, 'data', { signal }), ended.then(() => expect.fail(output.stderr))])
  }
  const url = /^ready (\S+)\n$/.exec(output.stdout)?.[1] ?? ''
  expect((await fetch(`${url}/api/v1/meta`)).status).to.equal(200)
  expect((await fetch(`${url}/api/v1/company/00000000`)).status).to.equal(402)
  expect(await (await fetch(`${url}/docs`)).text()).to.contain('<script type="module" src=')
  child.kill('SIGTERM')
  expect(await ended).to.equal(0)
}

try {
  await install()
  await build()
  await refusesTheSandbox()
  await servesTheTestnet()
  console.log('a production install builds and starts')
} finally {
  await stopTestChain()
  await removeTemporaryDirectories()
}
