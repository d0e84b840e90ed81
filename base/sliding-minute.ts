/**
 * Units that were spent in the last minute, counted by second. A unit counts until a minute after the end of its
 * second, so for 60 to 61 seconds. For the limit of sales and the budget of an address.
 */

const MINUTE_SECONDS = 60
const SECOND_MS = 1_000

interface Second {
  /** Seconds since the origin of the clock. */
  at: number
  units: number
}

/** In the order of time. */
export type SlidingMinute = Second[]

/** Spent units, or the time until they could be spent. Nothing is spent then. */
type Spending = { kind: 'spent'; at: number } | { kind: 'full'; waitMs: number }

/**
 * Changes `minute`.
 * @param timeMs the current time, of one clock for all calls
 */
export function spend(
  minute: SlidingMinute,
  { units, max, timeMs }: { units: number; max: number; timeMs: number },
): Spending {
  const at = secondOf(timeMs)
  removeExpired(minute, at)
  let surplus = total(minute) + units - max
  if (surplus > 0) {
    // The last of the oldest seconds that must expire. Without one, `units` alone is more than `max`.
    const last = minute.find((second) => (surplus -= second.units) <= 0)?.at ?? at
    return { kind: 'full', waitMs: (last + MINUTE_SECONDS + 1) * SECOND_MS - timeMs }
  }
  const newest = minute.at(-1)
  if (newest && newest.at >= at) newest.units += units
  else minute.push({ at, units })
  return { kind: 'spent', at: minute.at(-1)?.at ?? at }
}

/** Changes `minute`. Units that have expired are not given back. */
export function giveBack(minute: SlidingMinute, { at, units }: Second): void {
  const second = minute.find((each) => each.at === at)
  if (second) second.units = Math.max(0, second.units - units)
}

export function count(minute: SlidingMinute, timeMs: number): number {
  removeExpired(minute, secondOf(timeMs))
  return total(minute)
}

function secondOf(timeMs: number): number {
  return Math.floor(timeMs / SECOND_MS)
}

function total(minute: SlidingMinute): number {
  return minute.reduce((sum, { units }) => sum + units, 0)
}

/** Seconds that are a minute ahead exist only after the clock was set back. They are removed too. */
function removeExpired(minute: SlidingMinute, now: number): void {
  while ((minute[0]?.at ?? now) < now - MINUTE_SECONDS) minute.shift()
  while ((minute.at(-1)?.at ?? now) > now + MINUTE_SECONDS) minute.pop()
}
