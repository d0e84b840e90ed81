/** Checks that docs/data.md lists the error codes of an import. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'

const read = (path: string) => readFile(new URL(import.meta.resolve(`#root/${path}`)), 'utf8')

describe('the error codes of an import', () => {
  it('are those of docs/data.md', async () => {
    const inCode = [...(await read('store/import/errors.ts')).matchAll(/^ {2}\| '([a-z_]+)'$/gm)]
    const [, table = ''] = /^\| code .*\n\|[ -|]+\n((?:\|.*\n)+)/m.exec(await read('docs/data.md')) ?? []
    const inDocument = [...table.matchAll(/^\| `([a-z_]+)` /gm)]
    const names = (found: RegExpMatchArray[]) => found.map(([, name]) => name)
    expect(names(inDocument)).to.have.members(names(inCode))
    expect(inCode.length).to.be.greaterThan(10)
  })
})
