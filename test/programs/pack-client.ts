/**
 * `npm run tool -- package-client [FOLDER]`: writes the buyer's library, `irish-company-agent/client`, and its
 * program as a package of their own. It has the compiled files that they import, and the packages that the files
 * import, in the versions of the main package.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join, posix, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readArguments } from '../support/arguments.ts'

/** The exports of the main package whose names begin like this. */
const EXPORTED = './client'
const NAME = 'irish-company-agent-client'
/** The program of the package, which has the same name. */
const PROGRAM = 'buyer/main.js'
const DESCRIPTION = 'Buys Irish company records from irish-company-agent: a fetch that pays each request once.'

interface ExportedFiles {
  types: string
  default: string
}

interface MainPackage {
  version: string
  /** Where an import is not always the same file, by the condition of the runtime or bundler. */
  imports: Record<string, string | Record<string, string>>
  license: string
  engines: object
  exports: Record<string, ExportedFiles>
  dependencies: Record<string, string>
}

const root = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const compiled = join(root, 'dist')

const main = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as MainPackage
const conditional = Object.fromEntries(
  Object.entries(main.imports).flatMap(([name, targets]) => (typeof targets === 'string' ? [] : [[name, targets]])),
)
const inCompiled = (path: string) => posix.normalize(path.replace('./dist/', './'))

interface Found {
  /** Compiled files. */
  files: Set<string>
  packages: Set<string>
  /** Other files of the repository that the program reads. */
  assets: Set<string>
}

/** Adds the files that a file imports, itself included, with their packages and assets. */
async function followImports(file: string, found: Found): Promise<Found> {
  if (found.files.has(file)) return found
  found.files.add(file)
  const text = await readFile(join(compiled, file), 'utf8')
  for (const [, specifier = ''] of text.matchAll(/(?<!')\b(?:from |import ?\(?)\s*'([^']+)'/g)) {
    if (specifier.startsWith('.')) {
      // A declaration imports the `.ts` name of another file, whose declaration is a `.d.ts` file.
      const name = specifier.replace(/(?<!\.d)\.ts$/, '.d.ts')
      await followImports(posix.join(posix.dirname(file), name), found)
    } else if (specifier in conditional) {
      for (const target of Object.values(conditional[specifier] ?? {})) await followImports(inCompiled(target), found)
    } else if (!builtinModules.includes(specifier.replace('node:', ''))) {
      found.packages.add(/^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    }
  }
  for (const [, asset = ''] of text.matchAll(/'#root\/([^']+)'/g)) if (asset !== 'package.json') found.assets.add(asset)
  return found
}

async function writePackage(folder: string): Promise<void> {
  const exports = clientExports()
  const found: Found = { files: new Set(), packages: new Set(), assets: new Set() }
  for (const files of Object.values(exports))
    for (const file of [files.default, files.types]) await followImports(posix.normalize(file), found)
  await followImports(PROGRAM, found)
  for (const asset of found.assets) await cp(join(root, asset), join(folder, asset))
  for (const file of found.files) await cp(join(compiled, file), join(folder, file))
  await cp(join(root, 'buyer/library/README.md'), join(folder, 'README.md'))
  const { version, license, engines, imports, dependencies } = main
  const content = {
    name: NAME,
    version,
    description: DESCRIPTION,
    private: true,
    type: 'module',
    license,
    engines,
    bin: { [NAME]: PROGRAM },
    exports,
    imports: JSON.parse(shorten(JSON.stringify(imports))) as object,
    dependencies: Object.fromEntries(
      [...found.packages].toSorted().map((name) => [name, versionOf(dependencies, name)]),
    ),
  }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
}

/** The files of the package are not in `dist`. */
const shorten = (path: string) => path.replaceAll('./dist/', './')

/** `./client` of the main package becomes `.`. */
function clientExports(): Record<string, ExportedFiles> {
  const exported = Object.entries(main.exports).filter(([name]) => name.startsWith(EXPORTED))
  return Object.fromEntries(
    exported.map(([name, files]) => [
      name.replace(EXPORTED, '.'),
      { types: shorten(files.types), default: shorten(files.default) },
    ]),
  )
}

function versionOf(dependencies: MainPackage['dependencies'], name: string): string {
  const version = dependencies[name]
  if (version === undefined) throw new Error(`The client imports ${name}, which is no dependency of the main package`)
  return version
}

const [target = root] = readArguments('[FOLDER]')
const folder = await mkdtemp(join(tmpdir(), 'pack-client-'))
try {
  await writePackage(folder)
  const args = ['pack', '--pack-destination', resolve(target), '--silent']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: folder })
  process.stdout.write(stdout)
} finally {
  await rm(folder, { recursive: true, force: true })
}
