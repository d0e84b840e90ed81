/** Progress bars on a terminal; nothing is written when the stream is a file or a pipe. */
import { Presets, SingleBar } from 'cli-progress'
import type { ImportProgress } from '../../store/import/build.ts'
import type { ListProgress } from '../reconcile/reconcile-file.ts'
import type { CliContext } from './context.ts'

/** Often enough to follow, at negligible cost. */
const RENDERINGS_PER_SECOND = 2

const MICRO_USDC_PER_USDC = 1_000_000
const USDC_DIGITS = 3

const STEP_NAMES: Record<ImportProgress['phase'], string> = {
  rows: 'reading, step 1 of 2',
  hash: 'hashing, step 2 of 2',
}

/** Held with `using`, because the timer of an active bar keeps the process alive. */
interface ProgressBar<Progress> extends Disposable {
  onProgress: (progress: Progress) => void
  /** Removes the bar from the terminal and prints a line. */
  print: (line: string) => void
}

type BarOutput = Pick<CliContext, 'stderr' | 'print'>

/** The progress of an import: the share of the archive that is read, then of the entries that are hashed. */
export function openImportBar(output: BarOutput): ProgressBar<ImportProgress> {
  const bar = createBar(output, '{step} {bar} {percentage}% | {rows} rows | {eta_formatted} left')
  let current: ImportProgress['phase'] | undefined
  const onProgress = ({ phase, rows, share }: ImportProgress) => {
    const payload = { step: STEP_NAMES[phase], rows }
    // The second step starts again at 0 %, so that the remaining time is estimated from its own speed.
    if (phase !== current) bar.start(1, 0, payload)
    current = phase
    bar.update(share, payload)
  }
  return { onProgress, ...stoppable(bar, output) }
}

/** The progress of a number of rows towards `total`. */
export function openRowsBar(output: BarOutput, total: number): ProgressBar<number> {
  const bar = createBar(output, 'writing {bar} {percentage}% | {value} of {total} rows | {eta_formatted} left')
  bar.start(total, 0)
  return { onProgress: (rows) => bar.update(rows), ...stoppable(bar, output) }
}

/** The progress of a list of which each row is bought. */
export function openListBar(output: BarOutput, total: number): ProgressBar<ListProgress> {
  const bar = createBar(output, '{bar} {value} of {total} rows | {spent} USDC spent | {eta_formatted} left')
  bar.start(total, 0, { spent: '0' })
  const onProgress = ({ rows, spent }: ListProgress) =>
    bar.update(rows, { spent: (spent / MICRO_USDC_PER_USDC).toFixed(USDC_DIGITS) })
  return { onProgress, ...stoppable(bar, output) }
}

function createBar({ stderr: stream }: BarOutput, format: string): SingleBar {
  const options = { stream, format, fps: RENDERINGS_PER_SECOND, clearOnComplete: true, hideCursor: true }
  return new SingleBar(options, Presets.shades_classic)
}

function stoppable(bar: SingleBar, { print }: BarOutput): Omit<ProgressBar<never>, 'onProgress'> {
  const stop = () => {
    if (bar.isActive) bar.stop()
  }
  return { print: (line) => (stop(), print(line)), [Symbol.dispose]: stop }
}
