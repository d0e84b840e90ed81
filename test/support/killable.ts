/**
 * The service as a process that kills itself (SIGKILL) at a named point of the next sale: the real parts, with two doors
 * that watch its steps. Retries of older sales pass unharmed. Run as `node dist/test/support/killable.js POINT`; surroundings come by the environment.
 */
import { readConfig } from '../../agent/config.ts'
import { openSandbox } from '../../agent/sandbox/sandbox.ts'
import { startService, type Doors } from '../../agent/service.ts'
import type { KillPoint } from './kill-points.ts'
import { openResponseLog, type ResponseLog } from '../../store/responses.ts'

/** The identity of the sale that began in this process: the one that is to be killed. */
let victim: string | undefined

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}

function killableLog(dataDirectory: string, point: KillPoint): ResponseLog {
  const log = openResponseLog(dataDirectory)
  return {
    ...log,
    async claim(record) {
      const claim = await log.claim(record)
      victim = record.identity
      return point === 'prepared' ? die() : claim
    },
    async advance(from, change) {
      const record = await log.advance(from, change)
      return point === change.state && from.identity === victim ? die() : record
    },
  }
}

function killableDoors(doors: Doors, point: KillPoint): Doors {
  const { facilitator } = doors
  const settle: typeof facilitator.settle = async (payload, requirements) => {
    const settlement = facilitator.settle(payload, requirements)
    const { authorization } = payload.payload as { authorization: { from: string; nonce: string } }
    const isVictim = victim?.endsWith(authorization.nonce.toLowerCase()) ?? false
    if (point === 'broadcast' && isVictim) {
      while (!(await isUsed(doors, requirements.asset, authorization)))
        await new Promise((resolve) => void setImmediate(resolve))
      return die()
    }
    const reply = await settlement
    return point === 'sent' && isVictim ? die() : reply
  }
  return { ...doors, facilitator: { ...facilitator, settle } }
}

async function isUsed({ chain }: Doors, asset: string, authorization: object): Promise<boolean> {
  const query = { asset, authorization: { validBefore: '0', ...authorization } as never, fromBlock: 0n }
  return (await chain.evidence(query).catch(() => undefined))?.nonce !== 'free'
}

const [point = 'never'] = process.argv.slice(2) as KillPoint[]
const config = readConfig(process.env)
const sandbox = await openSandbox({ config, log: () => undefined })
const service = await startService({
  config,
  version: '0.1.0',
  doors: killableDoors(sandbox.doors, point),
  openLog: (dataDirectory) => killableLog(dataDirectory, point),
  processes: { own: process.pid, token: 'test', isRunning: () => true },
  now: () => new Date(),
  random: Math.random,
  timer: () => () => undefined,
  report: (event) => void process.stderr.write(`${event}\n`),
})
process.stdout.write(`buyer ${sandbox.buyerKey}\nreceiver ${sandbox.doors.payTo}\nready ${service.baseUrl}\n`)
process.on('SIGTERM', () => void service.stop().then(() => sandbox.stop()))
