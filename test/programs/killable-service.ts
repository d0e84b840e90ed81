/**
 * The real service, which kills itself (SIGKILL) at a named point of the sale with a given nonce. Wrappers around its
 * externals and its response log watch the steps. test/support/kill-proxy.ts kills at the calls to the node. Run as
 * `node killable-service.js POINT NONCE DELAY_MS`; the configuration comes from the environment.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { readConfig } from '../../agent/service/config.ts'
import { openChain } from '../../agent/settlement/chain/chain.ts'
import { openInProcessFacilitator } from '../../agent/settlement/facilitator/in-process-facilitator.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { openAccounts } from '../../agent/sandbox/accounts.ts'
import { startService, type Externals } from '../../agent/service/service.ts'
import { openConfiguredLog } from '../../agent/service/response-log.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import type { KillPoint } from '../support/kill-points.ts'
import { SOLD } from '../support/operations.ts'

const POLLING_MS = 20

const [point, nonce = '', delayMs] = process.argv.slice(2) as [KillPoint | 'never', string?, string?]

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}

/** The call in progress continues, but its caller gets no result. */
function dieSoon(): Promise<never> {
  setTimeout(() => void die(), Number(delayMs))
  return new Promise(() => undefined)
}

/** The identity of a record ends with the nonce. */
const isTarget = (identity: string) => identity.toLowerCase().endsWith(nonce)

function killableLog(log: ResponseLog): ResponseLog {
  const [read, claim, advance] = [log.read.bind(log), log.claim.bind(log), log.advance.bind(log)]
  return Object.assign(log, {
    read: ((identity, paymentId) =>
      point === 'request' && isTarget(identity) ? die() : read(identity, paymentId)) satisfies ResponseLog['read'],
    async claim(record: Parameters<ResponseLog['claim']>[0]) {
      const writing = claim(record)
      if (!isTarget(record.identity)) return writing
      if (point === 'claiming') return dieSoon()
      const claimed = await writing
      return point === 'claimed' ? die() : claimed
    },
    async advance(...[from, change]: Parameters<ResponseLog['advance']>) {
      const hasReceipt = change.state === 'settled' && change.receipt !== undefined
      if (point === 'receipted' && hasReceipt && isTarget(from.identity)) return die()
      const writing = advance(from, change)
      if (!isTarget(from.identity)) return writing
      if (point === 'settling' && change.state === 'settled') return dieSoon()
      if (point === 'confirming' && change.state === 'confirmed') return dieSoon()
      const record = await writing
      return point === 'settled' && change.state === 'settled' ? die() : record
    },
  })
}

type Payload = Parameters<Externals['facilitator']['settle']>[0]

function killableFacilitator(facilitator: Externals['facilitator']): Externals['facilitator'] {
  const isOfTarget = ({ payload }: Payload) =>
    isTarget((payload as { authorization: { nonce: string } }).authorization.nonce)
  return {
    ...facilitator,
    async verify(payload, requirements) {
      const verifying = facilitator.verify(payload, requirements)
      if (point === 'verifying' && isOfTarget(payload)) return dieSoon()
      const reply = await verifying
      return point === 'verified' && isOfTarget(payload) ? die() : reply
    },
    async settle(payload, requirements) {
      const reply = await facilitator.settle(payload, requirements)
      if (point === 'looking' && isOfTarget(payload)) throw new Error('The reply is lost')
      return point === 'answered' && isOfTarget(payload) ? die() : reply
    },
  }
}

/** The reconciler runs before a retry. A retry has work only if the reconciler could not reach the node. */
let isNodeUnreachable = point === 'retry' || point === 'retry settling'

function killableChain(chain: Externals['chain']): Externals['chain'] {
  return {
    ...chain,
    async observe(observed, options) {
      // Before a sale no block is recorded.
      const isOfTarget = observed.some((each) => each.recordedBlock !== undefined && isTarget(each.nonce))
      if (isOfTarget && isNodeUnreachable) {
        isNodeUnreachable = false
        throw new Error('The node is unreachable')
      }
      const observation = await chain.observe(observed, options)
      const isPoint = point === 'looking' || point === 'reconciling' || point === 'retry'
      return isOfTarget && isPoint ? die() : observation
    },
  }
}

/** Sends the head and half of the body of the target's response. */
function dieInResponse({ request, response }: { request: IncomingMessage; response: ServerResponse }): void {
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

if (point === 'half') subscribe('http.server.request.start', (message) => dieInResponse(message as never))

const config = readConfig({ ADMIN_PORT: 'off', ...process.env })
const { receiver, relayer } = await openAccounts({ directory: join(config.dataDirectory, 'sandbox') })
const deployment = DEPLOYMENTS.testnet
const rpcUrl = config.rpcUrls[0] ?? ''
const report = (event: string, cause: unknown) => void process.stderr.write(`${event} ${String(cause)}\n`)
const now = () => new Date()
const facilitator = openInProcessFacilitator({
  deployment,
  rpcUrls: [rpcUrl],
  relayerKey: relayer.privateKey,
  pollingMs: POLLING_MS,
  now,
  report,
})
const service = await startService({
  ...SOLD,
  config,
  version: '0.1.0',
  externals: {
    facilitator: killableFacilitator(facilitator),
    chain: killableChain(openChain({ urls: [rpcUrl], now, chainId: deployment.chainId })),
    payTo: receiver,
  },
  openLog: async (given) =>
    killableLog(await openConfiguredLog({ config: given, salesPerMinute: given.rateLimitPerMinute, report })),
  now,
  clock: () => performance.now(),
  random: Math.random,
  timer(callback, milliseconds) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
  report,
})
process.stdout.write(`ready ${service.baseUrl}\n`)
process.on('SIGTERM', () => void service.stop())
