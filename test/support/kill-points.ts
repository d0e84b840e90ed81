/** The points of a sale at which the kill programme kills the service, in order, and what must be true at each. */
import type { State } from '../../store/record.ts'

interface Point<Name extends string = string> {
  /** In words, for the table of results. */
  at: string
  /** What the response log may hold of the payment when the process is dead. */
  onDisk: readonly (State | 'nothing')[]
  /** How many transfers the chain may have made for it. */
  transfers: readonly number[]
  /** For the points of a later life: where those before it have ended, in one of these ways. */
  after?: readonly (readonly Name[])[]
}

/** A settlement was begun, and its buyer has no answer. */
const BEGUN = [['signed'], ['broadcast'], ['mined'], ['answered']] as const

const POINTS = {
  request: { at: 'the request has arrived', onDisk: ['nothing'], transfers: [0] },
  verifying: { at: 'the facilitator verifies', onDisk: ['nothing'], transfers: [0] },
  verified: { at: 'the payment is verified', onDisk: ['nothing'], transfers: [0] },
  claiming: {
    at: "the record's write is issued, not acknowledged",
    onDisk: ['nothing', 'prepared'],
    transfers: [0],
  },
  claimed: { at: 'the record is on disk, nothing was sent', onDisk: ['prepared'], transfers: [0] },
  signed: { at: 'the transaction is signed, not broadcast', onDisk: ['prepared'], transfers: [0] },
  broadcast: { at: 'it is broadcast, not mined', onDisk: ['prepared'], transfers: [0] },
  mined: { at: 'it is mined, the facilitator has not answered', onDisk: ['prepared'], transfers: [1] },
  answered: { at: 'the facilitator has answered', onDisk: ['prepared'], transfers: [1] },
  settling: {
    at: 'the write of `settled` is issued, not acknowledged',
    onDisk: ['prepared', 'settled'],
    transfers: [1],
  },
  settled: { at: '`settled` is on disk, no answer was sent', onDisk: ['settled'], transfers: [1] },
  half: { at: 'half of the answer is sent', onDisk: ['settled'], transfers: [1] },
  whole: { at: 'the whole answer is sent', onDisk: ['settled'], transfers: [1] },
  reconciling: {
    at: 'the reconciler has evidence, and has not written it down',
    onDisk: ['prepared'],
    transfers: [0, 1],
    after: BEGUN,
  },
  'settling again': {
    at: 'the reconciler settles again',
    onDisk: ['settling'],
    transfers: [0, 1],
    after: [
      ['claimed', 'retry'],
      ['signed', 'retry'],
    ],
  },
  retry: {
    at: 'a retry has evidence, and has not written it down',
    onDisk: ['unknown'],
    transfers: [0, 1],
    after: BEGUN,
  },
  'retry settling': {
    at: 'a retry settles again',
    onDisk: ['settling'],
    transfers: [0, 1],
    after: [['claimed'], ['signed']],
  },
  confirming: {
    at: 'the write of `confirmed` is issued, not acknowledged',
    onDisk: ['settled', 'confirmed'],
    transfers: [1],
    after: [['settled'], ['half'], ['whole']],
  },
  random: {
    at: 'a random moment of a sale',
    onDisk: ['nothing', 'prepared', 'settled'],
    transfers: [0, 1],
  },
} as const satisfies Record<string, Point>

export type KillPoint = keyof typeof POINTS

export const KILL_POINTS = Object.keys(POINTS) as KillPoint[]

export function pointOf(name: KillPoint): Point<KillPoint> {
  return POINTS[name]
}
