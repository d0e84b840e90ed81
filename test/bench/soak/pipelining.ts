/** Measures the quotes and documents of one client while others pipeline requests without reading the answers. */
import { measurePipelining, type PipeliningResult } from '../load/pipelining.ts'
import type { ServerProcess } from '../load/server-process.ts'
import { lookupPath } from '../load/workloads.ts'

const CLIENTS = [180, 500]
const SECONDS = 10
const SECONDS_SHORT = 1
const P99_MS_MAX = 1_000
const ANONYMOUS_MIB_MAX = 400

/** One result for each number of pipelining clients. */
export async function measureAllPipelining(
  server: ServerProcess,
  { companyNumber, isShort }: { companyNumber: string; isShort: boolean },
): Promise<PipeliningResult[]> {
  const requests = [
    { path: lookupPath(companyNumber), status: 402 },
    { path: '/attribution', status: 200 },
  ]
  const seconds = isShort ? SECONDS_SHORT : SECONDS
  const results: PipeliningResult[] = []
  for (const connections of CLIENTS) results.push(await measurePipelining(server, { connections, seconds, requests }))
  return results
}

/** Memory does not depend on the speed of the machine, so it is always judged. */
export function pipeliningFaults(results: readonly PipeliningResult[], isLatencyJudged: boolean): string[] {
  return results.flatMap(({ connections, p99, anonymousMiB }) => {
    const faults: string[] = []
    if (isLatencyJudged && p99 >= P99_MS_MAX) faults.push(`p99 ${p99.toFixed(0)} ms`)
    if (anonymousMiB >= ANONYMOUS_MIB_MAX) faults.push(`${anonymousMiB.toFixed(0)} MiB of anonymous memory`)
    return faults.map((fault) => `${connections} pipelining clients: ${fault}`)
  })
}
