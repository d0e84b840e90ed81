/** A progress bar on a terminal; nothing is written when the stream is a file or a pipe. */
import { Presets, SingleBar } from 'cli-progress'
import type { ImportProgress } from '../../store/import/build.ts'
import type { CliContext } from './context.ts'

/** Often enough to follow, at negligible cost. */
const RENDERINGS_PER_SECOND = 2

/** Held with `using`, because the timer of an active bar keeps the process alive. */
export function openBar({ stderr: stream, print }: Pick<CliContext, 'stderr' | 'print'>) {
  const format = '{bar} {percentage}% | {text} | {eta_formatted} left'
  const options = { stream, format, fps: RENDERINGS_PER_SECOND, clearOnComplete: true, hideCursor: true }
  const bar = new SingleBar(options, Presets.shades_classic)
  const stop = () => {
    if (bar.isActive) bar.stop()
  }
  let current: string | undefined
  return {
    /** @param progress.share from 0 to 1 */
    onProgress({ step = '', share, text }: { step?: string; share: number; text: string }) {
      // Each step starts again at 0 %, so that the remaining time is estimated from its own speed.
      if (step !== current) bar.start(1, 0, { text })
      current = step
      bar.update(share, { text: `${step}${text}` })
    },
    /** Removes the bar from the terminal and prints a line. */
    print: (line: string) => (stop(), print(line)),
    [Symbol.dispose]: stop,
  }
}

const IMPORT_STEPS: Record<ImportProgress['phase'], string> = {
  rows: 'reading, step 1 of 2 | ',
  hash: 'hashing, step 2 of 2 | ',
}

/** The progress of an import: the share of the archive that is read, then of the entries that are hashed. */
export function openImportBar(output: Pick<CliContext, 'stderr' | 'print'>) {
  const bar = openBar(output)
  const onProgress = ({ phase, rows, share }: ImportProgress) =>
    bar.onProgress({ step: IMPORT_STEPS[phase], share, text: `${rows} rows` })
  return { ...bar, onProgress }
}
