/** Runs the checks of the table: once, for the command `check`, and again for a running service. */
import { withDeadline } from '../../../base/deadline.ts'
import type { Timer } from '../../../base/runtime.ts'
import { failed, labelOf, REQUEST_MS_MAX, type Finding, type Subject } from './subject.ts'
import { checkOf, checksWith, type CheckName, type Column, type Severity } from './table.ts'

/** One that throws has failed, with the first line of the message of its error. */
export async function measure(name: CheckName, subject: Subject, own = checkOf(name).measure): Promise<Finding[]> {
  try {
    return (await own?.(subject)) ?? []
  } catch (cause) {
    return failed(cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : 'the check did not finish')
  }
}

/** Longer than one request, which then ends first: the check names the facilitator that did not answer. */
const CHECK_MS_MAX = REQUEST_MS_MAX + 5_000
/** Shorter than the usual time limit of a scrape or a probe. */
const WAIT_MS_MAX = 2_000

interface RunnerOptions {
  /** A new one for each round, because checks of a round share what they observe. */
  open: () => Subject
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  timer: Timer
}

/** The checks of a running service. They are measured when `/readyz` or `/metrics` is read. */
export class CheckRunner {
  readonly #options: RunnerOptions
  /** `since`: when a label began to fail with a severity. */
  readonly #latest = new Map<CheckName, { findings: Finding[]; at: number; since: ReadonlyMap<string, number> }>()
  readonly #running = new Map<CheckName, Promise<void>>()

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /**
   * Whether each check that concerns this process alone passes. One that is still running has its last result, until
   * it fails by its time limit: attackers could otherwise make the load balancer remove a busy process.
   */
  async readiness(): Promise<Record<string, boolean>> {
    const names = measuredWith('unready')
    await this.#measure(names)
    const passes = (name: CheckName) => this.#latest.get(name)?.findings.every(({ kind }) => kind !== 'failed') === true
    return Object.fromEntries(names.map((name) => [name, passes(name)]))
  }

  /**
   * The checks that alert, by severity, with the seconds since they fail. Each is measured at most as often as the
   * table says. A check without a first result has no entry.
   */
  async alerts(): Promise<{ label: string; severity: Severity; isFailing: boolean; seconds: number }[]> {
    const { clock } = this.#options
    const names = [...new Set([...measuredWith('critical'), ...measuredWith('warning')])]
    const ageOf = (name: CheckName) => clock() - (this.#latest.get(name)?.at ?? -Infinity)
    await this.#measure(names.filter((name) => ageOf(name) >= (checkOf(name).everySeconds ?? 0) * 1_000))
    return names.flatMap((name) => {
      const { findings = [], since } = this.#latest.get(name) ?? {}
      return labelsOf(name, findings).map(({ label, severity, isFailing }) => {
        const seconds = isFailing ? (clock() - (since?.get(label + severity) ?? Infinity)) / 1_000 : 0
        return { label, severity, isFailing, seconds }
      })
    })
  }

  /** Waits for a short time. A check that is late goes on. */
  async #measure(names: readonly CheckName[]): Promise<void> {
    const { open, timer } = this.#options
    const subject = open()
    for (const name of names) if (!this.#running.has(name)) this.#running.set(name, this.#measureOne(name, subject))
    const running = names.flatMap((name) => this.#running.get(name) ?? [])
    await withDeadline({ timer, milliseconds: WAIT_MS_MAX }, () => Promise.all(running)).catch(() => undefined)
  }

  /** No finding means that it cannot be measured now, which another check tells. */
  async #measureOne(name: CheckName, subject: Subject): Promise<void> {
    const { clock, timer } = this.#options
    const at = clock()
    const deadline = { timer, milliseconds: CHECK_MS_MAX }
    const run = checkOf(name).measure
    const found = await measure(name, subject, () => withDeadline(deadline, async () => run?.(subject) ?? []))
    this.#running.delete(name)
    const former = this.#latest.get(name)
    const findings = found.length > 0 ? found : (former?.findings ?? [])
    const failing = labelsOf(name, findings).filter(({ isFailing }) => isFailing)
    const keys = failing.map(({ label, severity }) => label + severity)
    const since = new Map(keys.map((key) => [key, former?.since.get(key) ?? at]))
    this.#latest.set(name, { at, findings, since })
  }
}

/** A failure is critical, if the check has that column. */
function labelsOf(name: CheckName, findings: readonly Finding[]) {
  const { columns } = checkOf(name)
  const severities = (['critical', 'warning'] as const).filter((each) => columns.includes(each))
  const [highest] = severities
  return findings.flatMap((finding) => {
    const label = labelOf(name, finding)
    const actual = finding.kind === 'failed' ? highest : finding.kind
    return severities.map((severity) => ({ label, severity, isFailing: actual === severity }))
  })
}

const measuredWith = (column: Column): CheckName[] =>
  checksWith(column).filter((name) => checkOf(name).everySeconds !== undefined)
