/** Services that share a data directory and have the same process id, as in containers. */
import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { childrenOf } from '../../support/child-processes.ts'
import { AS_FIRST, ready, startChild, type Child } from '../../support/child.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const PROGRAM = fileURLToPath(new URL(import.meta.resolve('#root/dist/operator/main.js')))

describe('[14.10] a service whose process id another process of the data directory has', function () {
  // Each start takes seconds on a loaded machine.
  this.timeout(240_000)
  let directory: string
  let environment: Record<string, string>
  let started: Child[]

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    started = []
    environment = {
      DATA_DIR: directory,
      DATASET: REGISTER,
      FACILITATOR: 'http://127.0.0.1:1',
      RPC_URL: 'http://127.0.0.1:1',
      PAY_TO: '0x00000000000000000000000000000000000000c7',
      PORT: '0',
    }
  })
  afterEach(async () => {
    for (const child of started) {
      child.process.kill('SIGKILL')
      await child.ended
    }
  })

  /** Starts a service. `pid` is its id outside of its namespace. */
  async function start() {
    const child = startChild('operator/main.js', ['serve'], environment, AS_FIRST)
    started.push(child)
    const url = await ready(child)
    const [pid] = await childrenOf(child.process.pid ?? 0)
    return { url, pid: pid ?? expect.fail('no process'), ended: child.ended }
  }

  const statusOf = async (url: string) => (await fetch(`${url}/api/v1/meta`)).status

  it('runs in a child process beside the other one, stops alone, and starts again after a kill of both', async function () {
    // Some users may not create namespaces of process ids.
    const [unshare = '', ...options] = AS_FIRST
    if (spawnSync(unshare, [...options, 'true'], { timeout: 10_000 }).status !== 0) return this.skip()
    const first = await start()
    expect(await childrenOf(first.pid)).to.deep.equal([])
    const second = await start()
    const third = await start()
    for (const { url } of [first, second, third]) expect(await statusOf(url)).to.equal(200)
    // The program runs in a child process, which has another id.
    for (const { pid } of [second, third]) expect(await childrenOf(pid)).to.have.lengthOf(1)

    process.kill(third.pid, 'SIGTERM')
    expect(await third.ended).to.equal(0)
    for (const { url } of [first, second]) expect(await statusOf(url)).to.equal(200)

    for (const { pid } of [first, second]) process.kill(pid, 'SIGKILL')
    await Promise.all([first.ended, second.ended])
    expect(await statusOf((await start()).url)).to.equal(200)
  })

  it('stops if its parent asks for it before the start is complete', async () => {
    const child = fork(PROGRAM, ['serve'], {
      env: { ...process.env, ...environment, ADMIN_PORT: 'off', COMPANY_AGENT_CHILD: '1' },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const ended = once(child, 'exit')
    child.disconnect()
    // Before the time limit of the test, so that no process is left.
    const limit = setTimeout(() => child.kill('SIGKILL'), 100_000)
    expect(await ended).to.deep.equal([0, null])
    clearTimeout(limit)
  })
})
