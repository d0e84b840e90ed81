/** The worked example in docs/data.md has the snapshot id that `import` prints. */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../../support/cli.ts'
import { HEADER } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the snapshot id', () => {
  it('[11.5] is that of the worked example in docs/data.md, from its lines and from its file', async () => {
    const document = await readFile(new URL(import.meta.resolve('#root/docs/data.md')), 'utf8')
    const [, section = ''] = document.split('### A worked example')
    const blocks = [...section.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    const [csv = '', lines = '', id = ''] = blocks
    expect(csv.split('\n')[0]).to.equal(HEADER)
    expect(`sha256:${createHash('sha256').update(lines).digest('hex')}`).to.equal(id.trim())
    const path = join(await makeTemporaryDirectory(), 'example.csv')
    await writeFile(path, csv)
    const dataDirectory = await makeTemporaryDirectory()
    const { lines: printed } = await runCommand(['import', path], { environment: { DATA_DIR: dataDirectory } })
    expect(printed.slice(0, 8)).to.deep.equal([
      'imported',
      'rows        3',
      'companies   1',
      'quarantined 1',
      'rejected    0',
      '  date_sentinel 1',
      '  row_contradicting 1',
      `snapshot    ${id.trim()}`,
    ])
  })
})
