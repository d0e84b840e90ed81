/**
 * Asks the chain, and compares what its nodes show. A caller says what an observation shows and who must agree with
 * that; only this file names a node.
 */
import type { Report } from '../../../base/runtime.ts'
import type { Chain } from './chain.ts'
import { isNear } from './clock.ts'
import type { Observation, ObserveOptions } from './observe.ts'
import type { ObservedPayment } from './view.ts'

export interface ChainReader {
  chain: Pick<Chain, 'observe' | 'nodeCount'>
  now: () => Date
  report: Report
}

/** An observation, and what it shows of the payments that are asked about. */
interface Shown<Verdict> {
  observation: Observation
  verdict: Verdict
}

/** Who must agree with a verdict: no other node, the next one that works, or each one that works. */
export type Need = 'single' | 'agreed' | 'agreed by all'

/** A node works if it has a block of the last minute, and a verdict. */
export type Answer<Verdict> =
  /** The chain cannot be read. The cause is reported. */
  | { kind: 'none' }
  /** One node shows it. No other one was needed, or none works. */
  | (Shown<Verdict> & { kind: 'single' })
  /** Another node shows it too. */
  | (Shown<Verdict> & { kind: 'agreed' })
  /** This is what another node shows in place of the first one. */
  | (Shown<Verdict> & { kind: 'contradicted'; first: Shown<Verdict> })

interface Question<Verdict> {
  payments: readonly ObservedPayment[]
  options?: Omit<ObserveOptions, 'node'>
  /** What one node has shown already. */
  first?: Shown<Verdict>
  /** The verdict on an observation. Undefined if it says nothing, so that its node does not count. */
  judge: (observation: Observation) => Verdict | undefined | Promise<Verdict | undefined>
  needs: (verdict: Verdict) => Need
  /** By default equal verdicts agree. */
  agrees?: (verdict: Verdict, other: Verdict) => boolean
}

export async function ask<Verdict>(reader: ChainReader, question: Question<Verdict>): Promise<Answer<Verdict>> {
  const { needs, agrees = (verdict, other) => verdict === other } = question
  const first = question.first ?? (await unlessUnreadable(reader, () => show(reader, question)))
  if (!first) return { kind: 'none' }
  const others = await readOthers(reader, question, { node: first.observation.node, need: needs(first.verdict) })
  const [other] = others
  if (!other) return { kind: 'single', ...first }
  const contrary = others.find(({ verdict }) => !agrees(first.verdict, verdict))
  return contrary ? { kind: 'contradicted', ...contrary, first } : { kind: 'agreed', ...other }
}

/** Of every node, in the order of the configuration. For the checks of the operator. */
export function observeEach(chain: ChainReader['chain'], options: { withFinal?: boolean } = {}) {
  return Promise.allSettled(
    Array.from({ length: chain.nodeCount }, async (_, node) => chain.observe([], { ...options, node })),
  )
}

/** Returns undefined if the chain cannot be read, and reports the cause. */
export async function unlessUnreadable<Result>(
  { report }: Pick<ChainReader, 'report'>,
  read: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await read()
  } catch (cause) {
    report('chain_unavailable', cause)
    return undefined
  }
}

/** Of all nodes, or of the one that is named. */
async function show<Verdict>(
  { chain }: ChainReader,
  { payments, options, judge }: Question<Verdict>,
  named?: { node: number },
): Promise<Shown<Verdict> | undefined> {
  const observation = await chain.observe(payments, { ...options, ...named })
  const verdict = await judge(observation)
  return verdict === undefined ? undefined : { observation, verdict }
}

/** What the other nodes show, as far as they work and the need asks for them. */
async function readOthers<Verdict>(
  reader: ChainReader,
  question: Question<Verdict>,
  { node: first, need }: { node: number; need: Need },
): Promise<Shown<Verdict>[]> {
  const { nodeCount } = reader.chain
  const nodes = Array.from({ length: nodeCount - 1 }, (_, index) => (first + 1 + index) % nodeCount)
  const read = async (node: number) => {
    // Nodes that fail for a minute are reported by their check.
    const shown = await show(reader, question, { node }).catch(() => undefined)
    return shown && isNear(shown.observation.time, reader.now()) ? [shown] : []
  }
  switch (need) {
    case 'single':
      return []
    case 'agreed':
      for (const node of nodes) {
        const shown = await read(node)
        if (shown.length > 0) return shown
      }
      return []
    case 'agreed by all':
      return (await Promise.all(nodes.map(read))).flat()
  }
}
