/** Runs checks of a configuration one after the other and prints a line for each finding. */

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

const LABELS = { passed: 'ok     ', warning: 'WARNING', failed: 'FAILED ' } as const
const NAME_CHARACTERS = 14

/** An error that a check does not expect is a failure. Its first line names the cause. */
export async function findings({ run }: Check): Promise<CheckResult[]> {
  try {
    return await run()
  } catch (cause) {
    return failed(cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : 'the check did not finish')
  }
}

/** @returns whether no check has failed */
export async function runChecks(checks: readonly Check[], print: (line: string) => void): Promise<boolean> {
  let isReady = true
  for (const check of checks) {
    for (const { kind, detail } of await findings(check)) {
      print(`${LABELS[kind]} ${check.name.padEnd(NAME_CHARACTERS)} ${detail}`)
      if (kind === 'failed') isReady = false
    }
  }
  return isReady
}
