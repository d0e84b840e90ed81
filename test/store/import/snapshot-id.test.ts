/** The command `snapshot-id`, and the worked example of docs/data.md: the id can be recomputed by hand. */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { snapshotIdCommand } from '../../../store/import/snapshot-id-command.ts'
import { PROCESSES, REGISTER } from '../../support/fixtures.ts'
import { HEADER, outcomeOf } from '../../support/register.ts'

describe('the snapshot id', () => {
  let directory: string
  let printed: string[]
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'snapshot-id-test-'))
    await mkdir(join(directory, 'temporary'))
    printed = []
  })
  afterEach(() => rm(directory, { recursive: true }))

  const recompute = (path: string) =>
    snapshotIdCommand({
      path,
      temporaryDirectory: join(directory, 'temporary'),
      processes: PROCESSES,
      now: () => new Date(),
      print: (line) => void printed.push(line),
      progress: () => undefined,
    })
  const left = () => readdir(join(directory, 'temporary'))

  it('is recomputed with its counts, and nothing is kept', async () => {
    expect(await recompute(REGISTER)).to.equal(0)
    expect(printed).to.include.members(['rows        30', 'companies   27', 'quarantined 1'])
    expect(printed.at(-1)).to.match(/^snapshot {4}sha256:[0-9a-f]{64}$/)
    expect(await left()).to.deep.equal([])
  })

  it('is of no file that is refused, of which nothing is kept either', async () => {
    const path = join(directory, 'page.html')
    await writeFile(path, '<!DOCTYPE html>\n')
    expect(await outcomeOf(recompute(path))).to.equal('wrong_header')
    expect(await left()).to.deep.equal([])
  })

  it('is what the worked example says, by its lines and by its file', async () => {
    const [csv = '', lines = '', id = ''] = await workedExample()
    expect(csv.split('\n')[0]).to.equal(HEADER)
    expect(`sha256:${createHash('sha256').update(lines).digest('hex')}`).to.equal(id.trim())
    const path = join(directory, 'example.csv')
    await writeFile(path, csv)
    await recompute(path)
    expect(printed.at(-1)).to.equal(`snapshot    ${id.trim()}`)
  })
})

/** The fenced blocks of the example's section: the file, the hashed lines, the id. Each ends with its line feed. */
async function workedExample(): Promise<string[]> {
  const document = await readFile(new URL(import.meta.resolve('#root/docs/data.md')), 'utf8')
  const [, section = ''] = document.split('### A worked example')
  return [...section.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block = '']) => block)
}
