/**
 * Compares the local clock with the blocks. With a wrong clock the service would call payments late or early, so it
 * sells nothing until an observation agrees with the clock again.
 */

/** More than blocks and clocks of a working chain differ. */
const CLOCK_DIFFERENCE_MS_MAX = 60_000

/** Whether a block time in seconds agrees with the local clock. */
export function isNear(time: bigint, now: Date): boolean {
  return Math.abs(Number(time) * 1000 - now.getTime()) <= CLOCK_DIFFERENCE_MS_MAX
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
    return Number(time) * 1000 - this.#now().getTime()
  }
}
