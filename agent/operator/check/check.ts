/** Runs checks of a configuration. */

/** `failed`: a sale would fail. `warning`: sales work now, and something should be changed. */
export interface CheckResult {
  kind: 'passed' | 'warning' | 'failed'
  /** One line: what was found, and what to do. It may contain text of other parties. */
  detail: string
}

export interface Check {
  name: string
  run: () => Promise<CheckResult[]>
}

export const passed = (detail: string): CheckResult[] => [{ kind: 'passed', detail }]
export const warning = (detail: string): CheckResult[] => [{ kind: 'warning', detail }]
export const failed = (detail: string): CheckResult[] => [{ kind: 'failed', detail }]

/** Runs the checks in order. A check that throws has failed, with the first line of the message of its error. */
export async function* runChecks(checks: readonly Check[]): AsyncGenerator<CheckResult & { check: string }> {
  for (const { name: check, run } of checks) {
    const found = await run().catch((cause: unknown) =>
      failed(cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : 'the check did not finish'),
    )
    for (const result of found) yield { check, ...result }
  }
}
