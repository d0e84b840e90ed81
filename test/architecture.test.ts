/** Checks docs/architecture.md: its paths exist, and its import table is exact. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

const DOCUMENT = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

/** The rows of the import table in docs/architecture.md: a room, and the rooms that it may import. */
const MAY_IMPORT = readImportTable(DOCUMENT)

/** An import of a file of this project. */
interface Import {
  file: string
  target: string
}

function readImportTable(markdown: string): Record<string, string[]> {
  const [, section = ''] = markdown.split('\n## Imports\n')
  const [table = ''] = section.split('\n## ')
  const rows = [...table.matchAll(/^\| `([^`]+)` +\| (.*)\|$/gm)]
  return Object.fromEntries(rows.map(([, folder = '', cell = '']) => [folder, findPaths(cell)]))
}

/** The code spans that are paths of the project. */
function findPaths(markdown: string): string[] {
  return [
    ...markdown.matchAll(/`((?:agent|base|buyer|docs|keys|operator|rest-facade|store|test)(?:\/[\w./-]*)?)`/g),
  ].map(([, path = '']) => path)
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
  const specifiers = [...text.matchAll(/\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)|^import '(\.[^']+)'/gm)]
  return specifiers.map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? ''
    return { file, target: relative(ROOT, join(ROOT, dirname(file), specifier)) }
  })
}

/** An entry of `agent`, the page of the buyer, or one of the other top folders. */
function roomOf(file: string): string {
  const [top = '', entry = ''] = file.split('/')
  return top === 'agent' || entry === 'page' ? `${top}/${entry}` : top
}

const files = ['agent', 'base', 'buyer', 'keys', 'operator', 'rest-facade', 'store'].flatMap(sourceFiles)
const imports = files.flatMap(importsOf)

describe('the architecture', () => {
  it('is checked with real imports and a real table', () => {
    expect(imports.length).to.be.greaterThan(100)
    expect(MAY_IMPORT['rest-facade']).to.include('agent/transport')
  })

  it('is documented with paths that exist', () => {
    const paths = findPaths(DOCUMENT)
    expect(paths.length).to.be.greaterThan(100)
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([])
  })

  it('has a table of imports that is exact', () => {
    const seen = new Map<string, Set<string>>()
    for (const file of files) seen.set(roomOf(file), seen.get(roomOf(file)) ?? new Set())
    for (const { file, target } of imports)
      if (roomOf(file) !== roomOf(target)) seen.get(roomOf(file))?.add(roomOf(target))
    const actual = [...seen].map(([room, targets]) => ({ room, targets: [...targets].toSorted() }))
    const documented = Object.entries(MAY_IMPORT).map(([room, targets]) => ({ room, targets: targets.toSorted() }))
    expect(actual).to.have.deep.members(documented)
  })

  it('has rooms that import only what stands above them in the table, from the lowest room to the highest', () => {
    const rooms = Object.keys(MAY_IMPORT)
    const up = imports.filter(({ file, target }) => rooms.indexOf(roomOf(target)) > rooms.indexOf(roomOf(file)))
    expect(up).to.deep.equal([])
  })

  it('performs the steps in the documented order', () => {
    const [, section = ''] = DOCUMENT.split('\n## The steps of one paid REST request\n')
    const [table = ''] = section.split('\n## ')
    const documented = [...table.matchAll(/^\| ([0-9, ]+) +\|/gm)].flatMap(([, cell = '']) => cell.trim().split(', '))
    const perform = readFileSync(join(ROOT, 'agent/sale/perform.ts'), 'utf8')
    const performed = [...perform.matchAll(/^ *\/\/ (\d+)(?: and (\d+))?\. /gm)].flatMap(([, first = '', second]) =>
      second === undefined ? [first] : [first, second],
    )
    expect(performed.length).to.be.greaterThan(8)
    const order = [...new Set(documented)].filter((step) => performed.includes(step))
    expect(order).to.deep.equal(performed)
  })

  it('ends every line of a comment before column 120', () => {
    const long = [...files, ...sourceFiles('test')].flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .filter((line) => line.length > 120 && /^ *(?:\*|\/\/|\/\*\*)/.test(line))
        .map(() => file),
    )
    expect(long).to.deep.equal([])
  })

  it('uses the process only where a program starts', () => {
    const seen = files.filter((file) =>
      /\bprocess\.(env|argv|exit|stdout|stderr|on)\b/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    expect(seen).to.have.members([
      'agent/command-line/run-in-process.ts',
      'operator/cli/serve.ts',
      'operator/cli/own-process-id.ts',
    ])
  })

  it('starts every file with a comment that describes it', () => {
    const silent = [...files, ...sourceFiles('test')].filter(
      (file) => !/^(#!.*\n)?(\/\*\*|\/\/ )/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    expect(silent).to.deep.equal([])
  })
})
