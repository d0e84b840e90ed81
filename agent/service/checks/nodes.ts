/** Checks of the chain: every node, the local clock, the token, the receiver, and the gas of the relayer. */
import { privateKeyToAddress } from 'viem/accounts'
import { domainSeparator, pad, toFunctionSelector, type Hex } from 'viem'
import { isNear } from '../../settlement/chain/clock.ts'
import type { Observation } from '../../settlement/chain/observe.ts'
import { observeEach } from '../../settlement/chain/reader.ts'
import { DEPLOYMENTS } from '../../payment/terms.ts'
import { isAnswering, isRevert, openRpc, RpcError } from '../../settlement/rpc/json-rpc.ts'
import { WrongChain } from '../../settlement/rpc/nodes.ts'
import { readRelayerKey } from '../externals.ts'
import { failed, numbered, passed, warning, type Finding, type Subject } from './subject.ts'

type Node = PromiseSettledResult<Observation>

const observed = new WeakMap<Subject, Promise<Node[]>>()

/** Every node is observed once for a subject. The checks share what it answered. */
function observeNodes(subject: Subject): Promise<Node[]> {
  const { chain } = subject
  const nodes = observed.get(subject) ?? (chain ? observeEach(chain, { withFinal: true }) : Promise.resolve([]))
  observed.set(subject, nodes)
  return nodes
}

/** Only for a sale: a refusal of the only node is one of the chain. */
export async function checkChain({ chain }: Subject): Promise<Finding[]> {
  await chain?.observe([])
  return passed('a node answers')
}

export async function checkNodes(subject: Subject): Promise<Finding[]> {
  const nodes = await observeNodes(subject)
  if (nodes.length === 0) return passed('the sandbox starts its own chain')
  const describe = async (node: Node, index: number) => {
    // A sale uses the next node if one fails or is behind.
    const unusable = nodes.some((other) => other !== node && isFresh(other, subject)) ? warning : failed
    return describeNode(node, subject, { url: subject.config.rpcUrls[index], unusable })
  }
  return numbered(await Promise.all(nodes.map(describe)))
}

async function describeNode(
  node: Node,
  subject: Subject,
  { url, unusable }: { url: string | undefined; unusable: typeof failed },
): Promise<Finding[]> {
  const { chainId } = DEPLOYMENTS[subject.config.mode]
  if (node.status === 'fulfilled') {
    const { number, final, time } = node.value
    const state = `chain ${chainId}, block ${number}, ${Math.round(subject.now().getTime() / 1000) - Number(time)} s old`
    if (!isFresh(node, subject)) return unusable(`${state}: the node is behind, name another one in RPC_URL`)
    if (final === undefined) return warning(`${state}, but no final block: payments stay open, name another node`)
    return url === undefined || (await readsLogs(url, number))
      ? passed(state)
      : warning(`${state}, but eth_getLogs fails: unclear payments stay open, name another node`)
  }
  const cause: unknown = node.reason
  if (cause instanceof WrongChain) return failed(`belongs to another chain: name a node of chain ${chainId} in RPC_URL`)
  if (url !== undefined && cause instanceof RpcError && (await isAnswering(url)))
    return unusable('refuses the eth_call without a contract that every sale needs: name another node in RPC_URL')
  return unusable('does not answer, or refuses every call: check its URL and key in RPC_URL, or name another node')
}

const isFresh = (node: Node, { now }: Subject) => node.status === 'fulfilled' && isNear(node.value.time, now())

/** Any node serves the logs of one block. */
async function readsLogs(url: string, block: bigint): Promise<boolean> {
  const at = `0x${block.toString(16)}`
  const rpc = openRpc({ url })
  const topics = [`0x${'0'.repeat(64)}`]
  return rpc('eth_getLogs', [{ fromBlock: at, toBlock: at, topics }]).then(Array.isArray, () => false)
}

/** A running service compares each block that it observes; the command only the newest one of each node. */
export async function checkClock(subject: Subject): Promise<Finding[]> {
  const { chain, running } = subject
  if (!chain) return []
  const isRight = running ? !chain.isClockWrong() : (await observeNodes(subject)).some((each) => isFresh(each, subject))
  return isRight
    ? passed('agrees with the newest block')
    : failed('no block of a node agrees with it: see node, or set the clock of this machine')
}

export async function checkToken(subject: Subject): Promise<Finding[]> {
  const { facilitator, mode, rpcUrls } = subject.config
  if (facilitator.kind === 'sandbox') return []
  const url = rpcUrls[(await observeNodes(subject)).findIndex(({ status }) => status === 'fulfilled')]
  if (url === undefined) return unanswered(subject, 'no node answers')
  const { asset, chainId, domain } = DEPLOYMENTS[mode]
  const call = (signature: string, argument = '') => callToken(url, asset, toFunctionSelector(signature) + argument)
  const separator = domainSeparator({ domain: { ...domain, chainId, verifyingContract: asset } })
  const receiver = pad(facilitator.payTo.toLowerCase() as Hex).slice(2)
  const calls = [call('DOMAIN_SEPARATOR()'), call('paused()'), call('isBlacklisted(address)', receiver)]
  const answers = await Promise.all(calls).catch(() => undefined)
  if (!answers) return unanswered(subject, 'the node does not answer calls of the token')
  const [found, isPaused, isRefused] = answers
  const faults: string[] = []
  if (found !== separator)
    faults.push(`${asset} has not the EIP-712 domain "${domain.name}" "${domain.version}": no payment is valid there`)
  if (isPaused === TRUE) faults.push('the token is paused: no payment can be settled until its issuer ends the pause')
  if (isRefused === TRUE) faults.push('the token refuses PAY_TO: set it to another account')
  if (faults.length > 0) return faults.flatMap(failed)
  return passed(`${asset}, "${domain.name}" "${domain.version}", accepts transfers to PAY_TO`)
}

const TRUE = `0x${'1'.padStart(64, '0')}`

/** Undefined if the contract lacks the function. A node can refuse calls for its own reasons, such as a limit. */
function callToken(url: string, asset: string, data: string): Promise<unknown> {
  return openRpc({ url })('eth_call', [{ to: asset, data }, 'latest']).catch((cause: unknown) => {
    if (cause instanceof RpcError && isRevert(cause)) return undefined
    throw cause
  })
}

/** A silent node has a check of its own, which alerts. */
const unanswered = ({ running }: Subject, detail: string) => (running ? [] : failed(detail))

/** The relayer gets a warning when it can pay for fewer settlements than this. */
const SETTLEMENTS_LEFT_MIN = 1_000n

export async function checkRelayer(subject: Subject): Promise<Finding[]> {
  if (!subject.settlementsLeft) return []
  const left = await subject.settlementsLeft().catch(() => undefined)
  if (left === undefined) return unanswered(subject, 'the node does not tell the balance of the relayer')
  const text = `gas for about ${left} payments`
  if (left >= SETTLEMENTS_LEFT_MIN) return passed(text)
  const { facilitator } = subject.config
  const relayer =
    facilitator.kind === 'self' ? privateKeyToAddress(readRelayerKey(facilitator.relayerKeyFile)) : 'the relayer'
  return (left === 0n ? failed : warning)(`${text}: send ether to ${relayer}`)
}
