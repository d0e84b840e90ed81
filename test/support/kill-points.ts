/** The points of a sale at which the kill program kills the service, in order, and what must be true at each. */
import type { RecordState } from '../../store/log/record.ts'

interface Point<Name extends string = string> {
  /** For the table of results. */
  at: string
  /** States that the record may have after the kill. */
  onDisk: readonly (RecordState | 'nothing')[]
  /** How many transfers the chain may have. */
  transfers: readonly number[]
  /** For points after a restart: one of these sequences of kill points comes first. */
  after?: readonly (readonly Name[])[]
}

/** The settlement has begun and the buyer has no response. */
const BEGUN = [['signed'], ['broadcast'], ['mined'], ['answered']] as const

const POINTS = {
  request: { at: 'the request has arrived', onDisk: ['nothing'], transfers: [0] },
  verifying: { at: 'the facilitator verifies', onDisk: ['nothing'], transfers: [0] },
  verified: { at: 'the payment is verified', onDisk: ['nothing'], transfers: [0] },
  claiming: {
    at: 'the write of `prepared` is issued, not acknowledged',
    onDisk: ['nothing', 'prepared'],
    transfers: [0],
  },
  claimed: { at: '`prepared` is on disk, nothing was sent', onDisk: ['prepared'], transfers: [0] },
  signed: { at: 'the transaction is signed, not broadcast', onDisk: ['prepared'], transfers: [0] },
  broadcast: { at: 'the transaction is broadcast, not mined', onDisk: ['prepared'], transfers: [0] },
  mined: { at: 'the transaction is mined, the facilitator has not responded', onDisk: ['prepared'], transfers: [1] },
  answered: { at: 'the facilitator has responded', onDisk: ['prepared'], transfers: [1] },
  receipted: { at: 'the receipt is signed, not yet written', onDisk: ['prepared'], transfers: [1] },
  looking: {
    at: 'the reply of the facilitator is lost, and the chain shows the transfer, not yet written',
    onDisk: ['prepared'],
    transfers: [1],
  },
  settling: {
    at: 'the write of `settled` is issued, not acknowledged',
    onDisk: ['prepared', 'settled'],
    transfers: [1],
  },
  settled: { at: '`settled` is on disk, no response was sent', onDisk: ['settled'], transfers: [1] },
  half: { at: 'half of the response is sent', onDisk: ['settled'], transfers: [1] },
  whole: { at: 'the whole response is sent', onDisk: ['settled'], transfers: [1] },
  reconciling: {
    at: 'the reconciler has observed the chain, not yet written',
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
    at: 'a retry has observed the chain, not yet written',
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
