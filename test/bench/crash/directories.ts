/** Programs that write a data directory: the first start of a service, and imports into one that is used. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { SnapshotHash } from '../../../store/dataset/snapshot-id.ts'
import { HistoryDatabase } from '../../../store/history/history-database.ts'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { startChain } from '../../../agent/sandbox/chain.ts'
import { ready, startChild } from '../../support/child.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { sampleRegister } from '../../support/sample/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import type { Scene } from '../crash.ts'
import { ONE_THREAD, PRINTS_ID } from './trace.ts'

const ROWS = 2_000
/** The second register lacks each such row. */
const REMOVED_EVERY = 250

/** Each run is the first start with a new data directory. Afterwards the service must start and answer. */
export async function openFirstStartScene(): Promise<Scene> {
  const chain = await startChain({ directory: await makeTemporaryDirectory(), chainId: DEPLOYMENTS.testnet.chainId })
  let directory = ''
  const start = (tracer: readonly string[]) =>
    startChild(
      'operator/main.js',
      ['serve'],
      { ...ONE_THREAD, DATA_DIR: directory, RPC_URL: chain.url, DATASET: REGISTER, PORT: '0', LOG_LEVEL: 'silent' },
      tracer,
    )
  const readyAndKilled = async (tracer: readonly string[] = []): Promise<string[]> => {
    const child = start([...tracer, ...PRINTS_ID])
    const url = await ready(child).catch((cause: unknown) => String(cause))
    const isReady = url.startsWith('http')
    const faults = isReady ? await answerFaults(url) : [url]
    if (isReady && child.process.signalCode === null) process.kill(Number(child.said.get('pid')), 'SIGKILL')
    await child.ended
    return faults
  }
  return {
    async run(tracer) {
      directory = await makeTemporaryDirectory()
      await readyAndKilled(tracer)
    },
    recover: () => readyAndKilled(),
    [Symbol.asyncDispose]: () => chain.stop(),
  }
}

/** A service that dies after its ready line answers nothing. */
async function answerFaults(url: string): Promise<string[]> {
  const status = await fetch(`${url}/api/v1/company/00000000`).then(
    (response) => response.status,
    () => 0,
  )
  return status === 402 ? [] : [`${status} instead of a quote`]
}

/**
 * Imports two registers in turn. After each death the snapshot that is served must be whole, old or new. After the next
 * import the new one must be served, and the journal must have it.
 */
export async function openImportScene(): Promise<Scene> {
  const directory = await makeTemporaryDirectory()
  const rows = [...sampleRegister({ rows: ROWS, seed: 1 })]
  const paths = [join(directory, '1.csv'), join(directory, '2.csv')]
  await writeFile(paths[0] ?? '', rows.join(''))
  await writeFile(paths[1] ?? '', rows.filter((_, index) => index % REMOVED_EVERY !== 1).join(''))
  const start = (options: string[], tracer?: readonly string[]) =>
    startChild(
      'operator/main.js',
      ['import', path, '--synthetic', ...options],
      { ...ONE_THREAD, DATA_DIR: directory },
      tracer,
    )
  let path = paths[0] ?? ''
  let runs = 0
  const expected = new Map<string, string>()
  for (path of paths) {
    await start([]).ended
    expected.set(path, (await servedId(directory)) ?? '')
  }
  return {
    async run(tracer) {
      path = paths[runs++ % paths.length] ?? ''
      await start([], tracer).ended
    },
    async recover() {
      const served = await servedId(directory)
      const faults = [...expected.values()].includes(served ?? '') ? [] : ['no whole snapshot is served']
      // An archive at which the build has died is only tried again by force.
      const again = start(['--force'])
      const code = await again.ended
      if (code !== 0) faults.push(`the next import ends with ${code}: ${again.stderr()}`)
      const wanted = expected.get(path)
      if ((await servedId(directory)) !== wanted) faults.push('the next import does not serve its snapshot')
      if ((await newestRecorded(directory)) !== wanted) faults.push('the journal does not end with the snapshot')
      return faults
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** The id that the catalog serves, if the records of its snapshot have the same hash. */
async function servedId(directory: string): Promise<string | undefined> {
  const catalog = new Catalog(directory)
  try {
    const snapshot = catalog.current()?.snapshot
    if (!snapshot) return undefined
    const hash = new SnapshotHash()
    for (const [number, entry] of snapshot.entries()) hash.add(number, entry)
    return hash.id() === snapshot.info.snapshot_id ? snapshot.info.snapshot_id : undefined
  } finally {
    await catalog.close()
  }
}

async function newestRecorded(directory: string): Promise<string | undefined> {
  const journal = new HistoryDatabase(directory, { readOnly: true })
  try {
    return journal.findStep(journal.stepBefore() ?? '')?.snapshot_id
  } finally {
    await journal.close()
  }
}
