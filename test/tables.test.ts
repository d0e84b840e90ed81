/** Holds the tables of the documents that name parts of the code against those parts. */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** The code names in the first column of every table of a document. */
function named(document: string): string[] {
  const firstColumn = [...read(document).matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell)
  return firstColumn.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

function sources(): string[] {
  return ['agent', 'rest-facade', 'store', 'keys'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => read(join(folder, path))),
  )
}

describe('the tables of the documents', () => {
  it('have every variable of the environment, and no other', () => {
    const variables = [...read('agent/service/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)].map(
      ([, name = '']) => name,
    )
    expect(variables).to.include('DATA_DIR')
    const told = named('docs/operations.md').filter((name) => /^[A-Z][A-Z0-9_]+$/.test(name))
    expect(told.toSorted()).to.deep.equal(variables.toSorted())
  })

  it('have every event that is logged as a warning', () => {
    const events = sources().flatMap((source) =>
      [...source.matchAll(/report\('([a-z0-9_]+)'/g)].map(([, name = '']) => name),
    )
    expect(events).to.include('chain_unavailable')
    const told = ['docs/operations.md', 'docs/data.md'].map(read).join('\n')
    expect(events.filter((event) => !told.includes(`\`${event}\``))).to.deep.equal([])
  })

  it('have every code of the errors of the buyer, and no other', () => {
    const codes = [...read('agent/buyer/library/purchase-error.ts').matchAll(/^ {2}([a-z_]+): '/gm)].map(
      ([, name = '']) => name,
    )
    expect(codes).to.include('outcome_unknown')
    const [, section = ''] = read('docs/payments.md').split('`PurchaseError`')
    const [table = ''] = section.split('Delete a purchase file')
    const told = [...table.matchAll(/^\| `([a-z_]+)`/gm)].map(([, name = '']) => name)
    expect(told.toSorted()).to.deep.equal(codes.toSorted())
  })

  it('have every code of the errors of an import, and no other', () => {
    const codes = [...read('store/import/errors.ts').matchAll(/^ {2}\| '([a-z_]+)'$/gm)].map(([, name]) => name)
    expect(codes).to.include('source_cut')
    const [, table = ''] = /^\| code .*\n\|[ -|]+\n((?:\|.*\n)+)/m.exec(read('docs/data.md')) ?? []
    const told = [...table.matchAll(/^\| `([a-z_]+)` /gm)].map(([, name]) => name)
    expect(told).to.have.members(codes)
  })

  it('have every package that the service depends on, and no other', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    const [, packages = ''] = read('docs/decisions.md').split('## Dependencies')
    const rows = [...packages.matchAll(/^\| (`[^|]+`) +\|/gm)].map(([, cell = '']) => cell)
    const told = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    expect(told.toSorted()).to.deep.equal(Object.keys(dependencies).toSorted())
  })
})
