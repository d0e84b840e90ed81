/** The lock of a process, held by real processes. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { acquireProcessLock } from '../../../store/files/process-lock.ts'
import { ready, startChild, type Child } from '../../support/child.ts'

describe('the lock of a process', () => {
  let folder: string
  let children: Child[]

  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'lock-')), 'lock')
    children = []
  })
  afterEach(async () => {
    for (const child of children) await kill(child)
    await rm(join(folder, '..'), { recursive: true })
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

  const acquire = () => acquireProcessLock({ folder, ownPid: process.pid })

  it('is held by one of several processes', async () => {
    const others = await Promise.all([startOther(), startOther(), startOther()])
    expect(others.map(({ kind }) => kind).toSorted()).to.deep.equal(['acquired', 'taken', 'taken'])
    expect((await acquire()).kind).to.equal('taken')
  })

  it('is free again as soon as its process was killed', async () => {
    const { child } = await startOther()
    expect((await acquire()).kind).to.equal('taken')
    await kill(child)
    const lock = await acquire()
    expect(lock.kind).to.equal('acquired')
    if (lock.kind === 'acquired') await lock[Symbol.asyncDispose]()
  })
})
