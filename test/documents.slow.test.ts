/** The command blocks of the documents do what the documents show. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { findUnknown, isShown, readBlocks, runDocument } from './support/documents.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
/** Every block of these is run, unless a comment before it says why not. */
const RUN = [
  'README.md',
  'docs/operations/testnet.md',
  'docs/operations/drills.md',
  'docs/lists.md',
  'docs/served/mcp.md',
]
const BACKGROUND = '<!-- background -->\n```sh\necho ready now; sleep 60\n```\n'

const read = (name: string) => readFile(join(ROOT, name), 'utf8')

describe('the commands of the documents', function () {
  this.timeout(600_000)

  for (const name of RUN)
    it(`${name} shows what they do`, async () => {
      expect(await runDocument(await read(name))).to.deep.equal([])
    })

  it('name scripts, commands, options and paths that exist, also where they are not run', async () => {
    const folders = ['.', 'docs', 'docs/operations', 'docs/served', 'buyer/library']
    const listed = await Promise.all(
      folders.map(async (folder) => (await readdir(join(ROOT, folder))).map((name) => join(folder, name))),
    )
    const unknown: string[] = []
    for (const name of listed.flat().filter((each) => each.endsWith('.md')))
      for (const { line, script, mark } of readBlocks(await read(name)))
        if (mark.kind === 'not run' || !RUN.includes(name))
          unknown.push(...(await findUnknown(script)).map((what) => `${name} line ${line}: ${what}`))
    expect(unknown).to.deep.equal([])
  })
})

describe('the runner of the documents', function () {
  this.timeout(120_000)

  it('tells a wrong output and a wrong exit status by the line of the block', async () => {
    const wrong = 'A\n\n```sh\necho one\n```\n\n```text\ntwo\n```\n\n<!-- exit: 3 -->\n\n  ```sh\n  exit 4\n  ```\n'
    const faults = await runDocument(BACKGROUND + wrong)
    expect(faults.map((fault) => fault.split(':')[0])).to.deep.equal(['line 7 shows', 'line 17 ends with 4'])
  })

  it('compares lines with dots for any text, and a line of dots for any lines', () => {
    expect(isShown('a 1 b\nx\ny\nend\n', 'a ... b\n...\nend')).to.equal(true)
    expect(isShown('a 1 b\nend\n', 'a ... b\n...\nend')).to.equal(true)
    for (const other of ['a 1\nend\n', 'a 1 b\nx\n', 'a 1 b\nend\nx\n'])
      expect(isShown(other, 'a ... b\n...\nend')).to.equal(false)
  })

  it('finds options, commands, scripts and paths that do not exist', async () => {
    const script =
      'npm run nothing\nnpm run client -- reconcile x --colum y\nagent serv\ncat docs/none.md # docs/other.md\nagent check\n'
    expect(await findUnknown(script)).to.deep.equal([
      'docs/none.md',
      'npm run nothing',
      'client reconcile --colum',
      'serv',
    ])
  })
})
