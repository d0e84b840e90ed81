/**
 * `npm run package-client [FOLDER]`: writes the buyer's library as a package of its own. It has the compiled files that the two
 * entry points import, and the packages that these files import, in the versions of the main package.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join, posix, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const NAME = 'irish-company-agent-client'
const ENTRY_POINTS = { '.': 'agent/client/buyer', './buy-once': 'agent/client/buy-once' }
const DESCRIPTION = 'Buys Irish company records from irish-company-agent: a fetch that pays each request once.'

interface MainPackage {
  version: string
  license: string
  engines: object
  dependencies: Record<string, string>
}

const root = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const compiled = join(root, 'dist')

/** The files that a file imports, itself included, and the names of the packages that they import. */
async function followImports(file: string, found = { files: new Set<string>(), packages: new Set<string>() }) {
  if (found.files.has(file)) return found
  found.files.add(file)
  const text = await readFile(join(compiled, file), 'utf8')
  for (const [, specifier = ''] of text.matchAll(/\b(?:from|import)\s*\(?\s*'([^']+)'/g)) {
    if (specifier.startsWith('.')) {
      // A declaration names the source of another declaration.
      const name = specifier.replace(/(?<!\.d)\.ts$/, '.d.ts')
      await followImports(posix.join(posix.dirname(file), name), found)
    } else if (!builtinModules.includes(specifier.replace('node:', ''))) {
      found.packages.add(/^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    }
  }
  return found
}

async function writePackage(folder: string): Promise<void> {
  const found = { files: new Set<string>(), packages: new Set<string>() }
  for (const entry of Object.values(ENTRY_POINTS))
    for (const suffix of ['.js', '.d.ts']) await followImports(`${entry}${suffix}`, found)
  for (const file of found.files) await cp(join(compiled, file), join(folder, file))
  const main = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as MainPackage
  const { version, license, engines, dependencies } = main
  const exports = Object.fromEntries(
    Object.entries(ENTRY_POINTS).map(([name, path]) => [name, { types: `./${path}.d.ts`, default: `./${path}.js` }]),
  )
  const content = {
    name: NAME,
    version,
    description: DESCRIPTION,
    private: true,
    type: 'module',
    license,
    engines,
    exports,
    dependencies: Object.fromEntries(
      [...found.packages].toSorted().map((name) => [name, versionOf(dependencies, name)]),
    ),
  }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
}

function versionOf(dependencies: MainPackage['dependencies'], name: string): string {
  const version = dependencies[name]
  if (version === undefined) throw new Error(`The client imports ${name}, which is no dependency of the main package`)
  return version
}

const folder = await mkdtemp(join(tmpdir(), 'pack-client-'))
try {
  await writePackage(folder)
  const args = ['pack', '--pack-destination', resolve(process.argv[2] ?? root), '--silent']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: folder })
  process.stdout.write(stdout)
} finally {
  await rm(folder, { recursive: true, force: true })
}
