/** Tests of the command `snapshot-id` and of the worked example in docs/data.md. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { snapshotIdCommand } from '../../../store/import/command.ts'
import { HEADER } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the snapshot id', () => {
  let directory: string
  let printed: string[]
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    await mkdir(join(directory, 'temporary'))
    printed = []
  })

  const recompute = (path: string) =>
    snapshotIdCommand({
      path,
      temporaryDirectory: join(directory, 'temporary'),
      now: () => new Date(),
      print: (line) => void printed.push(line),
      onProgress: () => undefined,
    })

  it('[11.5] is that of the worked example, from its lines and from its file', async () => {
    const [csv = '', lines = '', id = ''] = await workedExample()
    expect(csv.split('\n')[0]).to.equal(HEADER)
    expect(`sha256:${createHash('sha256').update(lines).digest('hex')}`).to.equal(id.trim())
    const path = join(directory, 'example.csv')
    await writeFile(path, csv)
    await recompute(path)
    expect(printed.at(-1)).to.equal(`snapshot    ${id.trim()}`)
    expect(await readdir(join(directory, 'temporary'))).to.deep.equal([])
  })
})

/** Reads the fenced blocks of the example: the file, the hashed lines and the id. */
async function workedExample(): Promise<string[]> {
  const document = await readFile(new URL(import.meta.resolve('#root/docs/data.md')), 'utf8')
  const [, section = ''] = document.split('### A worked example')
  return [...section.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block = '']) => block)
}
