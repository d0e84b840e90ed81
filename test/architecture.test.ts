/** Holds the table of who may import whom, types included, and where each package lives (docs/architecture.md). */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

/** A folder lists only folders and files below it. `agent` is the files directly in it, which may import everything. */
const MAY_IMPORT: Record<string, string[]> = {
  keys: [],
  store: [],
  'store/index': ['store'],
  'store/import': ['store', 'store/index'],
  'agent/operation': ['store'],
  'agent/matching': ['agent/operation', 'store', 'store/index'],
  'agent/skills': ['agent/operation', 'agent/matching', 'store', 'store/index'],
  'agent/payments': ['agent/operation', 'store'],
  'agent/registry': ['store/hidden.ts'],
  'agent/executor': ['agent/operation', 'agent/skills', 'agent/payments', 'store'],
  'agent/a2a': ['agent/operation', 'agent/executor', 'agent/payments/terms.ts', 'keys'],
  'agent/client': ['agent/operation', 'store/hidden.ts'],
  'rest-facade/documents': ['agent/operation', 'agent/matching', 'agent/payments', 'agent/registry', 'store'],
  'rest-facade': [
    'rest-facade/documents',
    'agent/operation',
    'agent/executor',
    'agent/payments/terms.ts',
    'agent/registry',
    'store',
    'keys',
  ],
  'agent/sandbox': ['agent/operation', 'agent/payments', 'agent/registry', 'store', 'store/import'],
}

/** Packages that hold a decision of ours have a home. */
const PACKAGE_HOMES: [pattern: RegExp, homes: string[]][] = [
  [/^lmdb$/, ['store']],
  [/^jose$/, ['keys']],
  [/^@a2a-js\/sdk/, ['agent/a2a', 'agent/executor', 'keys']],
  [/^@x402\//, ['agent/payments', 'agent/client', 'agent/sandbox', 'agent']],
  [/^viem/, ['agent/payments', 'agent/registry', 'agent/client', 'agent/sandbox']],
  [/^express$/, ['rest-facade', 'agent/a2a']],
  [/^(yauzl|csv-parse)/, ['store/import']],
  [/^(secp256k1|hash-wasm)$/, ['agent/payments']],
  [/^safe-stable-stringify$/, ['agent/operation']],
  [/^pino$/, ['agent']],
]

interface Import {
  file: string
  folder: string
  specifier: string
  /** The imported file's folder when it is ours. */
  target: string | undefined
  targetFile: string | undefined
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
  it('is read from real imports', () => {
    expect(imports.length).to.be.greaterThan(100)
    expect(imports.some(({ target }) => target === 'agent/payments')).to.equal(true)
  })

  it('lets a folder import only what its row of the table names', () => {
    const wrong = imports
      .filter(({ folder, target }) => target !== undefined && target !== folder && folder !== 'agent')
      .filter(({ folder, target = '', targetFile = '' }) => {
        const allowed = MAY_IMPORT[folder] ?? []
        return !allowed.includes(target) && !allowed.includes(targetFile)
      })
    expect(wrong.map(({ file, specifier }) => `${file} -> ${specifier}`)).to.deep.equal([])
  })

  it('has a row for every folder', () => {
    const folders = new Set(imports.map(({ folder }) => folder))
    expect([...folders].filter((folder) => folder !== 'agent' && !MAY_IMPORT[folder])).to.deep.equal([])
  })

  it('lets nothing import the files that put the parts together', () => {
    const wrong = imports.filter(({ folder, target }) => target === 'agent' && folder !== 'agent')
    expect(wrong.map(({ file }) => file)).to.deep.equal([])
  })

  it('keeps every package in its home', () => {
    const wrong = imports.filter(({ folder, specifier }) =>
      PACKAGE_HOMES.some(([pattern, homes]) => pattern.test(specifier) && !homes.includes(folder)),
    )
    expect(wrong.map(({ file, specifier }) => `${file} -> ${specifier}`)).to.deep.equal([])
  })

  it('leaves the process to agent/main.ts', () => {
    const files = ['agent', 'rest-facade', 'store', 'keys'].flatMap(sourceFiles)
    const seen = files.filter((file) =>
      /\bprocess\.(env|argv|exit|stdout|stderr|on)\b/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    expect(seen).to.deep.equal(['agent/main.ts'])
  })

  it('opens every file with a sentence that says what it is', () => {
    const files = ['agent', 'rest-facade', 'store', 'keys', 'test'].flatMap(sourceFiles)
    const silent = files.filter((file) => !/^(\/\*\*|\/\/ )/.test(readFileSync(join(ROOT, file), 'utf8')))
    expect(silent).to.deep.equal([])
  })
})
