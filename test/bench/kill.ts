/**
 * `npm run bench -- kill --runs N`: N SIGKILLs of the real service at each point of a sale, each followed by a restart and
 * two retries. Says how many ended in one transfer and the stored answer; fails when one did not.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'
import { startChain } from '../../agent/sandbox/chain.ts'
import { KILL_POINTS } from '../support/kill-points.ts'
import { runKills, type KillResult } from '../support/kill-run.ts'

const RUNS_DEFAULT = '20'

const isGood = ({ killed, status, transfers, identical, receipt }: KillResult) =>
  killed && status === 200 && transfers === 1 && identical && receipt

export async function kill({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'kill-chain-'))
  const chain = await startChain({ directory, chainId: DEPLOYMENTS.testnet.chainId })
  try {
    const points = Array.from({ length: Number(runs) }, () => KILL_POINTS).flat()
    const results = await runKills({ rpcUrl: chain.url, points })
    for (const point of KILL_POINTS) {
      const at = results.filter((result) => result.point === point)
      process.stdout.write(
        `${point.padEnd(10)} ${at.length} kills, ${at.filter(isGood).length} with one transfer and the stored answer\n`,
      )
    }
    for (const bad of results.filter((result) => !isGood(result))) process.stdout.write(`${JSON.stringify(bad)}\n`)
    return results.length === points.length && results.every(isGood)
  } finally {
    await chain.stop()
    await rm(directory, { recursive: true })
  }
}
