/**
 * The service as a process that kills itself (SIGKILL) at a named point of one sale, known by its payment's nonce: the real
 * parts, with doors that watch its steps. Every other sale passes unharmed. What happens on the wire to the node is
 * kill-gate's to kill at. Run as `node dist/test/support/killable.js POINT NONCE DELAY_MS`; surroundings come by the environment.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { readConfig } from '../../agent/config.ts'
import { openChain } from '../../agent/payments/chain.ts'
import { openInProcessFacilitator } from '../../agent/payments/in-process-facilitator.ts'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'
import { openAccounts } from '../../agent/sandbox/accounts.ts'
import { startService, type Doors } from '../../agent/service.ts'
import { openResponseLog, type ResponseLog } from '../../store/responses.ts'
import type { KillPoint } from './kill-points.ts'

const POLLING_MS = 20

type Arguments = [point: KillPoint | 'never', nonce?: string, delayMs?: string]

const [point, nonce = '', delayMs] = process.argv.slice(2) as Arguments

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}

/** What was asked for meanwhile goes on, and nobody is told of it. */
function dieSoon(): Promise<never> {
  setTimeout(() => void die(), Number(delayMs))
  return new Promise(() => undefined)
}

/** An identity ends with its nonce. */
const isVictim = (identity: string) => identity.toLowerCase().endsWith(nonce)

function killableLog(log: ResponseLog): ResponseLog {
  return {
    ...log,
    read: (identity, paymentId) => (point === 'request' && isVictim(identity) ? die() : log.read(identity, paymentId)),
    async claim(record) {
      const writing = log.claim(record)
      if (!isVictim(record.identity)) return writing
      if (point === 'claiming') return dieSoon()
      const claim = await writing
      return point === 'claimed' ? die() : claim
    },
    async advance(from, change) {
      const writing = log.advance(from, change)
      if (!isVictim(from.identity)) return writing
      if (point === 'settling' && change.state === 'settled') return dieSoon()
      if (point === 'confirming' && change.state === 'confirmed') return dieSoon()
      const record = await writing
      return point === 'settled' && change.state === 'settled' ? die() : record
    },
  }
}

type Payload = Parameters<Doors['facilitator']['settle']>[0]

function killableFacilitator(facilitator: Doors['facilitator']): Doors['facilitator'] {
  const isOfVictim = ({ payload }: Payload) =>
    isVictim((payload as { authorization: { nonce: string } }).authorization.nonce)
  return {
    ...facilitator,
    async verify(payload, requirements) {
      const verifying = facilitator.verify(payload, requirements)
      if (point === 'verifying' && isOfVictim(payload)) return dieSoon()
      const reply = await verifying
      return point === 'verified' && isOfVictim(payload) ? die() : reply
    },
    async settle(payload, requirements) {
      const reply = await facilitator.settle(payload, requirements)
      return point === 'answered' && isOfVictim(payload) ? die() : reply
    },
  }
}

/** A retry finds something to do only where the reconciler, which comes first, did not get through to the node. */
let isNodeAway = point === 'retry' || point === 'retry settling'

function killableChain(chain: Doors['chain']): Doors['chain'] {
  return {
    ...chain,
    async evidence(question) {
      const isOfVictim = isVictim(question.authorization.nonce)
      if (isOfVictim && isNodeAway) {
        isNodeAway = false
        throw new Error('The node is away')
      }
      const evidence = await chain.evidence(question)
      return isOfVictim && (point === 'reconciling' || point === 'retry') ? die() : evidence
    },
  }
}

/** Of the answer to the victim's request only half leaves, under the head of the whole. */
function dieInAnswer({ request, response }: { request: IncomingMessage; response: ServerResponse }): void {
  const payment = Buffer.from(String(request.headers['payment-signature']), 'base64').toString()
  if (!payment.includes(nonce)) return
  const end = response.end.bind(response) as (chunk: string | Buffer) => ServerResponse
  response.end = ((chunk: string | Buffer) => {
    if (response.statusCode !== 200) return end(chunk)
    const bytes = Buffer.from(chunk)
    response.write(bytes.subarray(0, bytes.length / 2), () => void die())
    return response
  }) as typeof response.end
}

if (point === 'half') subscribe('http.server.request.start', (message) => dieInAnswer(message as never))

const config = readConfig(process.env)
const { receiver, relayer } = await openAccounts({ directory: join(config.dataDirectory, 'sandbox') })
const deployment = DEPLOYMENTS.testnet
const rpcUrl = config.rpcUrl ?? ''
const report = (event: string, cause: unknown) => void process.stderr.write(`${event} ${String(cause)}\n`)
const now = () => new Date()
const facilitator = openInProcessFacilitator({
  deployment,
  rpcUrl,
  relayerKey: relayer.privateKey,
  pollingMs: POLLING_MS,
  now,
  report,
})
const service = await startService({
  config,
  version: '0.1.0',
  doors: {
    facilitator: killableFacilitator(facilitator),
    chain: killableChain(openChain({ url: rpcUrl, chainId: deployment.chainId })),
    payTo: receiver,
  },
  openLog: (dataDirectory) => killableLog(openResponseLog(dataDirectory)),
  processes: { own: process.pid, token: 'test', isRunning: () => true },
  now,
  random: Math.random,
  timer(callback, milliseconds) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
  report,
})
process.stdout.write(`ready ${service.baseUrl}\n`)
process.on('SIGTERM', () => void service.stop())
