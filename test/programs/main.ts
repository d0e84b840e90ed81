/** `npm run tool -- NAME [ARGUMENT...]`: runs a program that writes or checks files of the project. */
import { spawnSync } from 'node:child_process'
import { readArguments } from '../support/arguments.ts'

const TYPES = 'tsc -p tsconfig.types.json'

/** The commands of each tool, one after the other. The last one gets the arguments. */
const TOOLS: Record<string, [does: string, ...commands: string[]]> = {
  register: [
    'writes the register of the sandbox again, or one of any size',
    'node dist/test/programs/generate-register.js',
  ],
  pictures: ['makes the pictures of the page again', 'node dist/test/programs/page-pictures.js'],
  contracts: ['compiles the contracts again', 'node dist/test/programs/compile-contracts.js'],
  package: ['packs the service', TYPES, 'npm pack'],
  'package-client': ["packs the buyer's library", TYPES, 'node dist/test/programs/pack-client.js'],
  'packed-client': ["installs and runs the buyer's library", TYPES, 'node dist/test/programs/packed-client.js'],
  production: [
    'installs and runs the service without development packages',
    'node dist/test/programs/production-install.js',
  ],
  sbom: ['checks the licences of all packages', 'node dist/test/programs/check-sbom.js'],
  openapi: ['lints the OpenAPI description', 'test/openapi/lint'],
  clients: [
    'buys with the clients of others, and writes docs/clients.md',
    'npm ci --prefix test/clients --ignore-scripts --no-audit --no-fund',
    'node dist/test/clients/run.js',
  ],
  coverage: ['runs all tests with their coverage', 'c8 mocha dist/test/**/*.test.js'],
}

const EXIT_USAGE = 2

function run(commands: readonly string[], args: readonly string[]): number {
  for (const [at, command] of commands.entries()) {
    const [program = '', ...words] = command.split(' ')
    const all = at === commands.length - 1 ? [...words, ...args] : words
    const { status, error } = spawnSync(program, all, { stdio: 'inherit' })
    if (error) throw error
    if (status !== 0) return status ?? 1
  }
  return 0
}

const [name = '', ...args] = readArguments('[NAME] [ARGUMENT...]')
const [, ...commands] = Object.hasOwn(TOOLS, name) ? TOOLS[name]! : ['']
if (commands.length > 0) process.exitCode = run(commands, args)
else {
  const lines = Object.entries(TOOLS).map(([tool, [does]]) => `  ${tool.padEnd(16)} ${does}\n`)
  process.stderr.write(`usage: npm run tool -- NAME [ARGUMENT...]\n\n${lines.join('')}`)
  process.exitCode = EXIT_USAGE
}
