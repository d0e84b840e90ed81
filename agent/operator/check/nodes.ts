/** Checks of the chain: every node, the local clock, the token, the receiver, and the gas of the relayer. */
import { openChain } from '../../settlement/chain/chain.ts'
import { CLOCK_DIFFERENCE_MS_MAX } from '../../settlement/chain/clock.ts'
import type { Observation } from '../../settlement/chain/observe.ts'
import { readToken } from '../../settlement/chain/token.ts'
import type { Config } from '../../service/config.ts'
import { readRelayerKey } from '../../service/externals.ts'
import { openInProcessFacilitator, SETTLEMENTS_LEFT_MIN } from '../../settlement/facilitator/in-process-facilitator.ts'
import { NODE_MS_MAX } from '../../settlement/rpc/time-limits.ts'
import { DEPLOYMENTS } from '../../payment/terms.ts'
import { isAnswering, openRpc, RpcError, WrongChain } from '../../settlement/rpc/json-rpc.ts'
import { failed, passed, warning, type Check, type CheckResult } from './check.ts'

type Node = PromiseSettledResult<Observation>

/** Every node is observed once. The checks share what it answered, so they run in this order. */
export function nodeChecks(config: Config, now: () => Date): Check[] {
  const { facilitator, mode } = config
  if (facilitator.kind === 'sandbox')
    return [{ name: 'nodes', run: async () => passed('the sandbox starts its own chain') }]
  const { rpcUrls } = facilitator
  const { chainId } = DEPLOYMENTS[mode]
  let nodes: Promise<Node[]> | undefined
  const observe = (url: string) => openChain({ urls: [url], chainId, now }).observe([], { withFinal: true })
  const observeAll = () => (nodes ??= Promise.allSettled(rpcUrls.map(observe)))
  const perNode = rpcUrls.map((url, index) => ({
    name: `node ${index + 1}`,
    run: async () => describeNode(await observeAll(), { index, chainId, url, now }),
  }))
  const working = async () => {
    const index = (await observeAll()).findIndex(({ status }) => status === 'fulfilled')
    return rpcUrls[index]
  }
  return [
    ...perNode,
    { name: 'clock', run: async () => checkClock(await observeAll(), now) },
    { name: 'token', run: async () => checkToken(await working(), facilitator.payTo, mode) },
    ...(facilitator.kind === 'self' ? [{ name: 'relayer', run: () => checkRelayer(config, facilitator, now) }] : []),
  ]
}

const lagSeconds = ({ time }: Observation, now: () => Date) => Math.round(now().getTime() / 1000 - Number(time))

/** Nodes are numbered in the order of RPC_URL, because a URL can hold a key. */
async function describeNode(
  nodes: readonly Node[],
  { index, chainId, url, now }: { index: number; chainId: number; url: string; now: () => Date },
): Promise<CheckResult[]> {
  const node = nodes[index]
  // A sale uses the next node if one fails or is behind.
  const isOtherFresh = nodes.some((other) => other !== node && isFresh(other, now))
  const unusable = isOtherFresh ? warning : failed
  if (node?.status === 'fulfilled') {
    const { number, final } = node.value
    const state = `chain ${chainId}, block ${number}, ${lagSeconds(node.value, now)} s old`
    if (!isFresh(node, now)) return unusable(`${state}: the node is behind, name another one in RPC_URL`)
    if (final === undefined) return warning(`${state}, but no final block: payments stay open, name another node`)
    return (await readsLogs(url, number))
      ? passed(state)
      : warning(`${state}, but eth_getLogs fails: unclear payments stay open, name another node`)
  }
  const cause: unknown = node?.reason
  if (cause instanceof WrongChain) return failed(`belongs to another chain: name a node of chain ${chainId} in RPC_URL`)
  if (cause instanceof RpcError && (await isAnswering(url)))
    return unusable('refuses the eth_call without a contract that every sale needs: name another node in RPC_URL')
  return unusable('does not answer, or refuses every call: check its URL and key in RPC_URL, or name another node')
}

const isFresh = (node: Node, now: () => Date) =>
  node.status === 'fulfilled' && lagSeconds(node.value, now) * 1_000 <= CLOCK_DIFFERENCE_MS_MAX

/** Any node serves the logs of one block. */
async function readsLogs(url: string, block: bigint): Promise<boolean> {
  const at = `0x${block.toString(16)}`
  const rpc = openRpc({ url })
  const topics = [`0x${'0'.repeat(64)}`]
  return rpc('eth_getLogs', [{ fromBlock: at, toBlock: at, topics }]).then(Array.isArray, () => false)
}

function checkClock(nodes: readonly Node[], now: () => Date): CheckResult[] {
  const lags = nodes.flatMap((node) => (node.status === 'fulfilled' ? [lagSeconds(node.value, now)] : []))
  if (lags.length === 0) return failed('no node shows the time of a block')
  const best = lags.reduce((one, other) => (Math.abs(other) < Math.abs(one) ? other : one))
  const difference = `${Math.abs(best)} s ${best < 0 ? 'behind' : 'after'} the newest block`
  return Math.abs(best) * 1_000 > CLOCK_DIFFERENCE_MS_MAX
    ? failed(`${difference}: set the clock of this machine`)
    : passed(difference)
}

async function checkToken(url: string | undefined, receiver: string, mode: Config['mode']): Promise<CheckResult[]> {
  if (url === undefined) return failed('no node answers')
  const { asset, chainId, domain } = DEPLOYMENTS[mode]
  const rpc = openRpc({ url })
  const token = await readToken(rpc, { asset, chainId, domain, receiver })
  const faults = [
    ...(token.isDomainEqual
      ? []
      : [`${asset} has not the EIP-712 domain "${domain.name}" "${domain.version}": no payment is valid there`]),
    ...(token.isPaused ? ['the token is paused: no payment can be settled until its issuer ends the pause'] : []),
    ...(token.isReceiverBlacklisted ? ['the token refuses PAY_TO: set it to another account'] : []),
  ]
  if (faults.length > 0) return faults.flatMap(failed)
  return passed(`${asset}, "${domain.name}" "${domain.version}", accepts transfers to PAY_TO`)
}

async function checkRelayer(
  { mode }: Config,
  { relayerKeyFile, rpcUrls }: Extract<Config['facilitator'], { kind: 'self' }>,
  now: () => Date,
): Promise<CheckResult[]> {
  const relayerKey = readRelayerKey(relayerKeyFile)
  const deployment = DEPLOYMENTS[mode]
  const facilitator = openInProcessFacilitator({
    deployment,
    rpcUrls,
    relayerKey,
    pollingMs: NODE_MS_MAX,
    now,
    report: () => undefined,
  })
  const funds = await facilitator.readFunds().catch(() => undefined)
  if (!funds) return failed('the node does not tell the balance of the relayer')
  const text = `gas for about ${funds.settlements} payments`
  if (funds.settlements === 0n) return failed(`${text}: send ether to the relayer`)
  return funds.settlements < SETTLEMENTS_LEFT_MIN ? warning(`${text}: send ether to the relayer`) : passed(text)
}
