/** The lock of a process, held by real processes. */
import { join } from 'node:path'
import { expect } from 'chai'
import { acquireProcessLock } from '../../../store/files/process-lock.ts'
import { ready, startChild, type Child } from '../../support/child.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the lock of a process', () => {
  let folder: string
  let children: Child[]

  beforeEach(async () => {
    folder = join(await makeTemporaryDirectory(), 'lock')
    children = []
  })
  afterEach(async () => {
    for (const child of children) await kill(child)
  })

  async function startOther() {
    const child = startChild('test/programs/hold-lock.js', [folder], {})
    children.push(child)
    return { child, kind: await ready(child) }
  }

  async function kill(child: Child): Promise<void> {
    child.process.kill('SIGKILL')
    await child.ended
  }

  const acquire = () => acquireProcessLock(folder)

  it('is held by one of several processes', async () => {
    const others = await Promise.all([startOther(), startOther(), startOther()])
    expect(others.map(({ kind }) => kind).toSorted()).to.deep.equal(['acquired', 'taken', 'taken'])
    expect(await acquire()).to.equal(undefined)
  })

  it('is free again as soon as its process was killed', async () => {
    const { child } = await startOther()
    expect(await acquire()).to.equal(undefined)
    await kill(child)
    await using lock = await acquire()
    expect(lock).not.to.equal(undefined)
  })
})
