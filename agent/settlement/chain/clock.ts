/**
 * Compares the local clock with the blocks, and has every tolerance of such a comparison. With a wrong clock payments
 * would be called late or early, so the service sells nothing until an observation agrees with the clock again.
 */

/** More than blocks and clocks of a working chain differ. */
const CLOCK_DIFFERENCE_MS_MAX = 60_000
/** By this much the local clock may have been wrong when a payment was accepted or a record was written. */
export const CLOCK_ERROR_SECONDS_MAX = 600
/** A block may be older than a reply by this much, and still show the state that the reply was about. */
const REPLY_TO_BLOCK_MS_MAX = 30_000

/** The time of a block, which is in seconds, as milliseconds. */
export function toMs(time: bigint): number {
  return Number(time) * 1000
}

/** Whether a block time in seconds agrees with the local clock. */
export function isNear(time: bigint, now: Date): boolean {
  return Math.abs(toMs(time) - now.getTime()) <= CLOCK_DIFFERENCE_MS_MAX
}

/** Whether a block is older than those of a working node. */
export function isOld(time: bigint, now: Date): boolean {
  return now.getTime() - toMs(time) > CLOCK_DIFFERENCE_MS_MAX
}

/** Whether a block shows what was true when a reply came, at `repliedAt` of the local clock. */
export function showsReply(time: bigint, repliedAt: Date): boolean {
  return toMs(time) >= repliedAt.getTime() - REPLY_TO_BLOCK_MS_MAX
}

/** Whether the clock is so wrong, or the chain stands so long, that the age of a record is not known. */
export function isFarOff(time: bigint, now: Date): boolean {
  return Math.abs(toMs(time) - now.getTime()) > 1000 * CLOCK_ERROR_SECONDS_MAX
}

interface ObservedBlock {
  number: bigint
  /** In seconds. */
  time: bigint
}

export class ClockCheck {
  readonly #now: () => Date
  readonly #onChange: (isWrong: boolean) => void
  /** The last block that differed, and the kind of its difference. */
  #earlier: { kind: 'ahead' | 'behind'; number: bigint } | undefined
  #isWrong = false

  constructor(now: () => Date, onChange: (isWrong: boolean) => void) {
    this.#now = now
    this.#onChange = onChange
  }

  /** Whether the clock is wrong by more than a minute, as far as the last observations show. */
  get isWrong(): boolean {
    return this.#isWrong
  }

  /** Whether a block is neither old nor ahead of the clock. */
  isFresh({ time }: Pick<ObservedBlock, 'time'>): boolean {
    return isNear(time, this.#now())
  }

  /** The one of two blocks whose time is nearer to the clock. */
  nearer<Block extends Pick<ObservedBlock, 'time'>>(one: Block, other: Block): Block {
    return Math.abs(this.#aheadMs(other.time)) < Math.abs(this.#aheadMs(one.time)) ? other : one
  }

  /** Notes the newest block of all nodes that were asked. */
  note(block: ObservedBlock): void {
    const aheadMs = this.#aheadMs(block.time)
    const kind = aheadMs > CLOCK_DIFFERENCE_MS_MAX ? 'ahead' : aheadMs < -CLOCK_DIFFERENCE_MS_MAX ? 'behind' : undefined
    const earlier = this.#earlier
    this.#earlier = kind && { kind, number: block.number }
    if (kind === undefined) this.#set(false)
    // One block ahead can be that of a faulty node. Old blocks that do not advance are an outage of the chain.
    else if (earlier?.kind === kind && (kind === 'ahead' || block.number > earlier.number)) this.#set(true)
  }

  #set(isWrong: boolean): void {
    if (isWrong === this.#isWrong) return
    this.#isWrong = isWrong
    this.#onChange(isWrong)
  }

  #aheadMs(time: bigint): number {
    return toMs(time) - this.#now().getTime()
  }
}
