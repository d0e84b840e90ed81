/** Order statistics of measured values, NaN for an empty list, and the bound of a failure rate. */

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Without a failure in n runs, 3/n bounds the failure rate at 95 % confidence. */
export function failureBound(runs: number): string {
  return `If no run failed, the failure rate is below ${((3 / runs) * 100).toFixed(2)} % at 95 % confidence.`
}
