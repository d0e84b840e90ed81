/** The points of a sale at which the kill programme kills the service, in the order in which a sale passes them. */

export const KILL_POINTS = [
  /** `prepared` is on disk, and nothing else has happened. */
  'prepared',
  /** The transaction was sent; nobody has waited for its receipt. */
  'broadcast',
  /** The facilitator has answered, and its answer is not on disk. */
  'sent',
  /** `settled` is on disk, and not a byte of the answer was sent. */
  'settled',
] as const

export type KillPoint = (typeof KILL_POINTS)[number] | 'never'
