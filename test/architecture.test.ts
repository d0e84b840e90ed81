/** Checks docs/architecture.md: its paths exist, and its import table is exact. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

/** Folders that connect the parts. They may import everything, and only they import each other. */
const COMPOSITION = new Set(['agent', 'agent/cli', 'agent/check'])

const DOCUMENT = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

/** The rows of the import table in docs/architecture.md: a folder, and the folders and files that it may import. */
const MAY_IMPORT = readImportTable(DOCUMENT)

interface Import {
  file: string
  folder: string
  specifier: string
  /** The folder of an imported file of this project. */
  target: string | undefined
  targetFile: string | undefined
}

function readImportTable(markdown: string): Record<string, string[]> {
  const [, section = ''] = markdown.split('\n## Imports\n')
  const [table = ''] = section.split('\n## ')
  const rows = [...table.matchAll(/^\| `([^`]+)` +\| (.*)\|$/gm)]
  return Object.fromEntries(rows.map(([, folder = '', cell = '']) => [folder, findPaths(cell)]))
}

/** The code spans that are paths of the project. */
function findPaths(markdown: string): string[] {
  return [...markdown.matchAll(/`((?:agent|rest-facade|store|keys|docs|test)(?:\/[\w./-]*)?)`/g)].map(
    ([, path = '']) => path,
  )
}

function sourceFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : sourceFiles(path)
    return path.endsWith('.ts') ? [path] : []
  })
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const specifiers = [...text.matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)|^import '([^']+)'/gm)]
  return specifiers.map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? ''
    const targetFile = specifier.startsWith('.') ? relative(ROOT, join(ROOT, dirname(file), specifier)) : undefined
    return { file, folder: dirname(file), specifier, targetFile, target: targetFile && dirname(targetFile) }
  })
}

const imports = ['agent', 'rest-facade', 'store', 'keys'].flatMap(sourceFiles).flatMap(importsOf)

describe('the architecture', () => {
  it('is checked with real imports and a real table', () => {
    expect(imports.length).to.be.greaterThan(100)
    expect(MAY_IMPORT['rest-facade']).to.include('agent/http')
  })

  it('is documented with paths that exist', () => {
    const paths = findPaths(DOCUMENT)
    expect(paths.length).to.be.greaterThan(100)
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([])
  })

  it('allows each folder to import only what its row names', () => {
    const wrong = imports
      .filter(({ folder, target }) => target !== undefined && target !== folder && !COMPOSITION.has(folder))
      .filter(({ folder, target = '', targetFile = '' }) => {
        const allowed = MAY_IMPORT[folder] ?? []
        return !allowed.includes(target) && !allowed.includes(targetFile)
      })
    expect(wrong.map(({ file, specifier }) => `${file} -> ${specifier}`)).to.deep.equal([])
  })

  it('has no row that names an unused import', () => {
    const unused = Object.entries(MAY_IMPORT).flatMap(([row, allowed]) =>
      allowed
        .filter((path) => !imports.some((each) => each.folder === row && [each.target, each.targetFile].includes(path)))
        .map((path) => `${row} -> ${path}`),
    )
    expect(unused).to.deep.equal([])
  })

  it('has a row for every folder', () => {
    const folders = new Set(imports.map(({ folder }) => folder))
    expect([...folders].filter((folder) => !COMPOSITION.has(folder) && !MAY_IMPORT[folder])).to.deep.equal([])
  })

  it('allows nothing to import the files that connect the parts', () => {
    const wrong = imports.filter(({ folder, target }) => COMPOSITION.has(target ?? '') && !COMPOSITION.has(folder))
    expect(wrong.map(({ file }) => file)).to.deep.equal([])
  })

  it('uses the process only where a program starts', () => {
    const files = ['agent', 'rest-facade', 'store', 'keys'].flatMap(sourceFiles)
    const seen = files.filter((file) =>
      /\bprocess\.(env|argv|exit|stdout|stderr|on)\b/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    expect(seen).to.have.members([
      'agent/command-line/run-in-process.ts',
      'agent/operator/cli/serve.ts',
      'agent/operator/cli/own-process-id.ts',
      'agent/sandbox/keep-chain.ts',
      'store/import/build-child.ts',
      // Passes the variables of certificates on to its child processes.
      'store/import/build-process.ts',
    ])
  })

  it('starts every file with a comment that describes it', () => {
    const files = ['agent', 'rest-facade', 'store', 'keys', 'test'].flatMap(sourceFiles)
    const silent = files.filter((file) => !/^(#!.*\n)?(\/\*\*|\/\/ )/.test(readFileSync(join(ROOT, file), 'utf8')))
    expect(silent).to.deep.equal([])
  })
})
