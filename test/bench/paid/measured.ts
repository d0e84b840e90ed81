/** What the requests of a benchmark took, in milliseconds. */

export interface Measured {
  p50: number
  p99: number
  perSecond: number
  requests: number
}

/** What times in milliseconds come to that were taken within `elapsed` milliseconds. */
export function measured(times: number[], elapsed: number): Measured {
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), perSecond: (times.length / elapsed) * 1000, requests: times.length }
}
